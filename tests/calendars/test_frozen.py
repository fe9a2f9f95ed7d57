"""Frozen files, the catalog, freezing and diffs."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, time
from pathlib import Path

import pytest

from workday_assets import WorkdayCalendar
from workday_assets.calendars import catalog, freezing, tables
from workday_assets.calendars.recipes import RECIPES
from workday_assets.errors import (
    CalendarFileError,
    InvalidInputError,
    OutOfBoundsError,
    UnknownCalendarError,
)

BUILT = WorkdayCalendar.build(
    "TINY",
    "2024-07-01",
    "2024-07-14",
    weekend=[(None, (4, 5)), ("2024-07-08", (5, 6))],
    holidays={"2024-07-04": 'Independence Day, "the Fourth"'},
    closures={"2024-07-09": "storm"},
    extra_workdays={"2024-07-06": "for 9 July"},
    half_days={"2024-07-03": "13:00"},
    provenance="a test",
)
TEXT = f"""\
# workday calendar, format 1
# name: TINY
# provenance: a test
# first_date: 2024-07-01
# last_date: 2024-07-14
# weekend: 2024-07-01 4,5; 2024-07-08 5,6
# evidence: none
# fingerprint: {BUILT.fingerprint}
date,kind,closes,reason
2024-07-03,half,13:00,
2024-07-04,holiday,,"Independence Day, ""the Fourth\"""
2024-07-06,extra,,for 9 July
2024-07-09,closure,,storm
"""


def test_a_frozen_file_has_a_line_for_each_day_that_differs_from_the_weekend() -> None:
    """The text is the header with bounds and fingerprint, and one line a day with its reason."""
    assert tables.dumps(BUILT, "none") == TEXT


def test_a_frozen_file_gives_back_its_calendar() -> None:
    """Days, times, reasons, weekend rules and provenance survive the file."""
    assert tables.loads(TEXT, "TINY.csv").to_dict() == BUILT.to_dict()


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        pytest.param("2024-07-09,closure", "2024-07-10,closure", "fingerprint", id="day-moved"),
        pytest.param("2024-07-09,closure,,storm\n", "", "fingerprint", id="line-removed"),
        pytest.param("13:00", "12:00", "fingerprint", id="time-changed"),
        pytest.param("last_date: 2024-07-14", "last_date: 2024-07-15", "finger", id="bound-moved"),
        pytest.param("2024-07-09,cl", "2024-02-30,cl", "2024-02-30", id="no-such-day"),
        pytest.param("closure", "closed", "line 13: kind 'closed'", id="no-such-kind"),
        pytest.param("2024-07-09", "2024-07-04", "fingerprint", id="day-twice"),
        pytest.param(",,storm", ",storm", "line 13: 3 columns", id="column-missing"),
        pytest.param("# weekend: ", "# week: ", "'# weekend: …'", id="header-missing"),
        pytest.param("format 1", "format 2", "line 1", id="other-format"),
        pytest.param("date,kind", "day,kind", "line 9", id="other-columns"),
    ],
)
def test_a_frozen_file_changed_by_hand_is_refused(old: str, new: str, match: str) -> None:
    """A changed day, bound or time breaks the fingerprint; other faults name their line."""
    assert old in TEXT
    with pytest.raises(CalendarFileError, match=match):
        tables.loads(TEXT.replace(old, new), "TINY.csv")


def test_a_line_given_twice_is_refused() -> None:
    """The same day and kind twice is an error with its line."""
    with pytest.raises(CalendarFileError, match="line 14: a second line"):
        tables.loads(TEXT + "2024-07-09,closure,,storm\n", "TINY.csv")


def test_the_catalog_is_what_the_issue_names() -> None:
    """Eleven calendars ship, each from a recipe."""
    expected = [
        "CN",
        "DE",
        "GB-ENG",
        "US",
        "US-OPM",
        "XECB",
        "XFED",
        "XLON",
        "XNYS",
        "XSIF",
        "XTKS",
    ]
    assert list(catalog.names()) == sorted(RECIPES) == expected


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_shipped_file_is_its_recipe_frozen(name: str) -> None:
    """Bounds and evidence of the file are those of its recipe, and its header names a version."""
    text = (Path(tables.__file__).parent / "data" / f"{name}.csv").read_text("utf-8")
    calendar, recipe = WorkdayCalendar.named(name), RECIPES[name]
    assert (str(calendar.first_date), str(calendar.last_date)) == (recipe.first, recipe.last)
    assert f"# evidence: {recipe.evidence}\n" in text
    assert calendar.provenance.startswith("holidays 0.")
    assert tables.dumps(calendar, recipe.evidence) == text


def test_a_shipped_calendar_is_read_without_its_provider() -> None:
    """A name of the catalog loads neither holidays nor pandas nor Dagster."""
    code = (
        "import sys; from workday_assets import WorkdayCalendar; WorkdayCalendar.named('CN');"
        "print(sorted({'holidays', 'pandas', 'dagster'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_named_narrows_the_bounds() -> None:
    """`first` and `last` narrow a shipped calendar and cannot widen it."""
    calendar = WorkdayCalendar.named("XECB", "2024-01-01", "2024-12-31")
    assert (calendar.first_date, calendar.last_date) == (date(2024, 1, 1), date(2024, 12, 31))
    with pytest.raises(OutOfBoundsError):
        WorkdayCalendar.named("XECB", last="2036-01-01")


def test_an_unfrozen_code_works_with_a_warning_that_says_so() -> None:
    """A code that only the library knows gives its calendar, and says that it can move."""
    with pytest.warns(UserWarning, match=r"FR is not frozen.*workday-assets freeze FR"):
        calendar = WorkdayCalendar.named("FR", "2024-01-01", "2024-12-31")
    assert calendar.describe("2024-07-14") == "weekend"
    assert calendar.describe("2024-08-15") == "Assumption Day"
    assert calendar.provenance.startswith("holidays ")


@pytest.mark.parametrize("code", ["FR", "DE-BY", "XHKG"])
def test_an_unfrozen_code_needs_its_bounds(code: str) -> None:
    """How far the library's years are published is not known, so a bound is not defaulted."""
    with pytest.raises(InvalidInputError, match="give first and last"):
        WorkdayCalendar.named(code)


@pytest.mark.parametrize("code", ["ZZ", "DE-XX", "", "xecb"])
def test_an_unknown_code_is_refused(code: str) -> None:
    """A name that neither the catalog nor the library has is a LookupError that lists names."""
    with pytest.raises(UnknownCalendarError, match="XECB") as raised:
        WorkdayCalendar.named(code)
    assert isinstance(raised.value, LookupError)


def test_freezing_a_name_of_the_catalog_gives_the_file_that_ships() -> None:
    """Frozen again, the same years have the same days, and the recipe's evidence stands above."""
    text = freezing.freeze("US-OPM", "2001-01-01", "2025-12-31", frozen_on="2027-01-15")
    frozen = tables.loads(text, "US-OPM.csv")
    assert frozen == WorkdayCalendar.named("US-OPM", last="2025-12-31")
    assert frozen.name == "US-OPM"
    assert frozen.provenance.endswith("; frozen 2027-01-15")
    assert f"# evidence: {RECIPES['US-OPM'].evidence}\n" in text


def test_freezing_another_code_needs_its_bounds_and_gives_a_file_that_runs(tmp_path: Path) -> None:
    """A code outside the catalog is frozen between given bounds and read back without warning."""
    with pytest.raises(InvalidInputError, match="give first and last"):
        freezing.freeze("FR", frozen_on="2026-12-01")
    file = tmp_path / "FR.csv"
    file.write_text(
        freezing.freeze("FR", "2024-01-01", "2024-12-31", frozen_on="2026-12-01", evidence="law"),
        "utf-8",
    )
    calendar = WorkdayCalendar.from_file(file)
    assert (calendar.name, calendar.describe("2024-05-09")) == ("FR", "Ascension Day")
    assert "# evidence: law\n" in file.read_text("utf-8")


def test_a_diff_lists_what_was_added_removed_and_changed() -> None:
    """Opened days, closed days and changed closing times come with the reasons on both sides."""
    new = WorkdayCalendar.build(
        "TINY",
        "2024-07-01",
        "2024-07-14",
        weekend=[(None, (4, 5)), ("2024-07-08", (5, 6))],
        holidays={"2024-07-10": "parade"},
        closures={"2024-07-09": "storm"},
        extra_workdays={"2024-07-06": "for 9 July"},
        half_days={"2024-07-03": "12:00", "2024-07-11": "14:00"},
    )
    found = freezing.diff(BUILT, new, as_of="2024-07-08")
    change = freezing.DayChange
    opened = change(date(2024, 7, 4), "opened", 'Independence Day, "the Fourth"', "workday", True)
    closed = change(date(2024, 7, 10), "closed", "workday", "parade")
    earlier = change(
        date(2024, 7, 3), "half day", "half day, closes 13:00", "half day, closes 12:00"
    )
    half = change(date(2024, 7, 11), "half day", "workday", "half day, closes 14:00")
    assert (found.added, found.removed, found.changed) == ((opened,), (closed,), (earlier, half))
    assert found.days == (earlier, opened, closed, half)
    assert found.past_closures_removed == (opened,)
    assert bool(found)


@pytest.mark.parametrize(
    ("as_of", "called_out"),
    [("2024-07-04", 0), ("2024-07-05", 1), (None, 0)],
    ids=["that-day", "a-day-later", "no-day"],
)
def test_a_diff_calls_out_a_past_closure_that_is_gone(as_of: str | None, called_out: int) -> None:
    """Only a closure strictly before `as_of` is past."""
    new = BUILT.with_extra_workdays(["2024-07-04"])
    assert len(freezing.diff(BUILT, new, as_of=as_of).past_closures_removed) == called_out


def test_equal_calendars_do_not_differ_and_other_bounds_do() -> None:
    """A diff is false when nothing differs; a moved bound alone makes it true, without days."""
    assert not freezing.diff(BUILT, BUILT.between())
    shorter = freezing.diff(BUILT, BUILT.between(last="2024-07-12"))
    assert bool(shorter)
    assert shorter.days == ()
    assert shorter.new_bounds == (date(2024, 7, 1), date(2024, 7, 12))


def test_calendars_without_a_common_date_cannot_be_compared() -> None:
    """A diff over no common date is an error."""
    other = WorkdayCalendar.build("OTHER", "2025-01-01", "2025-12-31")
    with pytest.raises(InvalidInputError, match="share no date"):
        freezing.diff(BUILT, other)


def test_half_days_keep_their_time() -> None:
    """Closing times of a shipped calendar are local times of its market."""
    assert WorkdayCalendar.named("XLON").half_days[date(2024, 12, 24)] == time(12, 30)
