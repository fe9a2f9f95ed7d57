"""Calendars from CSV, ICS and TOML files."""

from __future__ import annotations

from datetime import date, time
from pathlib import Path
from textwrap import dedent

import pytest

from workday_assets import WorkdayCalendar
from workday_assets.calendars import tables
from workday_assets.errors import CalendarFileError, InvalidInputError

BOUNDS = ("2024-07-01", "2024-07-14")
EXPECTED = WorkdayCalendar.build(
    "expected",
    *BOUNDS,
    holidays=["2024-07-04", "2024-07-05"],
    closures=["2024-07-09"],
    extra_workdays=["2024-07-06"],
    half_days={"2024-07-03": "13:00"},
)
CSV = """\
date,kind,closes,reason
2024-07-09,closure,,storm
2024-07-04,,,Independence Day
2024-07-05,holiday,,bridge day
2024-07-05,holiday,,bridge day
2024-07-07,holiday,,a Sunday
2024-07-06,extra,,for 5 July
2024-07-03,half,13:00,
"""
TOML = """\
name = "TINY"
first = 2024-07-01
last = "2024-07-14"
closures = [2024-07-09]

[holidays]
2024-07-04 = "Independence Day"
2024-07-05 = "bridge day"

[extra_workdays]
2024-07-06 = "for 5 July"

[half_days]
2024-07-03 = 13:00:00
"""
ICS = """\
BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
DTSTART;VALUE=DATE:20240704
DTEND;VALUE=DATE:20240706
SUMMARY:Independence Day\\, and a very
  long bridge
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20240709
SUMMARY:storm
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20240710
STATUS:CANCELLED
SUMMARY:called off
END:VEVENT
END:VCALENDAR
"""


def write(folder: Path, name: str, text: str) -> Path:
    """A file with that text."""
    file = folder / name
    file.write_text(dedent(text), "utf-8")
    return file


def test_csv(tmp_path: Path) -> None:
    """Columns may be empty, rows unordered, repeated or on a weekend; reasons are kept."""
    calendar = WorkdayCalendar.from_file(write(tmp_path, "tiny.csv", CSV), *BOUNDS)
    assert calendar == EXPECTED
    assert calendar.describe("2024-07-04") == "Independence Day"
    assert (calendar.name, calendar.provenance) == ("tiny", "file tiny.csv")


def test_csv_with_dates_only(tmp_path: Path) -> None:
    """A plain column of dates, also with a byte order mark, is a list of holidays."""
    file = write(tmp_path, "x.csv", "\ufeffdate\n2024-07-04\n")
    calendar = WorkdayCalendar.from_file(file, *BOUNDS, weekend=(4, 5), name="X")
    assert calendar == WorkdayCalendar.build("X", *BOUNDS, weekend=(4, 5), holidays=["2024-07-04"])


def test_frozen_csv(tmp_path: Path) -> None:
    """A frozen file states its own name, bounds and weekend, and can be narrowed."""
    file = write(tmp_path, "any.csv", tables.dumps(EXPECTED))
    assert WorkdayCalendar.from_file(file) == EXPECTED
    narrow = WorkdayCalendar.from_file(file, last="2024-07-10")
    assert (narrow.name, narrow.last_date) == ("expected", date(2024, 7, 10))


def test_toml(tmp_path: Path) -> None:
    """The keys are the arguments of `build`; TOML's own dates and times are read."""
    calendar = WorkdayCalendar.from_file(write(tmp_path, "tiny.toml", TOML))
    assert calendar == EXPECTED
    assert (calendar.name, calendar.describe("2024-07-05")) == ("TINY", "bridge day")
    assert calendar.half_days == {date(2024, 7, 3): time(13)}
    narrow = WorkdayCalendar.from_file(
        tmp_path / "tiny.toml", "2024-07-02", "2024-07-13", name="NARROW"
    )
    assert (narrow.name, narrow.first_date, narrow.last_date) == (
        "NARROW",
        date(2024, 7, 2),
        date(2024, 7, 13),
    )


def test_toml_with_a_dated_weekend(tmp_path: Path) -> None:
    """Weekend rules may be dated, and the name defaults to the file's."""
    text = """\
    first = "2025-12-28"
    last = "2026-01-12"
    weekend = [["2020-01-01", [4, 5]], ["2026-01-05", [5, 6]]]
    """
    calendar = WorkdayCalendar.from_file(write(tmp_path, "XTAE.toml", text))
    assert calendar.name == "XTAE"
    assert [calendar.is_workday(day) for day in ("2026-01-02", "2026-01-04", "2026-01-11")] == [
        False,
        True,
        False,
    ]


def test_ics(tmp_path: Path) -> None:
    """All-day events close each of their days, the end excluded; folded lines are joined."""
    calendar = WorkdayCalendar.from_file(write(tmp_path, "office.ics", ICS), *BOUNDS)
    reason = "Independence Day, and a very long bridge"
    assert calendar.holidays == {
        date(2024, 7, 4): reason,
        date(2024, 7, 5): reason,
        date(2024, 7, 9): "storm",
    }


def test_ics_with_line_ends_of_the_standard(tmp_path: Path) -> None:
    """Carriage returns, as RFC 5545 asks for, change nothing."""
    file = tmp_path / "office.ics"
    file.write_bytes(ICS.replace("\n", "\r\n").encode())
    assert len(WorkdayCalendar.from_file(file, *BOUNDS).holidays) == 3


EVENT = "BEGIN:VCALENDAR\nBEGIN:VEVENT\n{}\nEND:VEVENT\nEND:VCALENDAR\n"


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        pytest.param("x.csv", "day\n2024-07-04\n", r"x\.csv, line 1: .*'date'", id="no-column"),
        pytest.param("x.csv", "", "line 1: .*'date'", id="empty"),
        pytest.param("x.csv", "date\n2024-07-04\n2024-02-30\n", "line 3: .*02-30", id="no-day"),
        pytest.param("x.csv", "date\n04.07.2024\n", "line 2: .*YYYY-MM-DD", id="other-date"),
        pytest.param("x.csv", "date,kind\n2024-07-04,shut\n", "line 2: kind 'shut'", id="kind"),
        pytest.param("x.ics", "date\n", "line 1: .*VCALENDAR", id="no-ics"),
        pytest.param("x.ics", EVENT.format("DTSTART:20240704T090000Z"), "line 2: .*whole", id="at"),
        pytest.param("x.ics", EVENT.format("SUMMARY:x"), "line 2: DTSTART", id="no-start"),
        pytest.param(
            "x.ics",
            EVENT.format("DTSTART;VALUE=DATE:20240704\nRRULE:FREQ=YEARLY"),
            "line 2: RRULE",
            id="rule",
        ),
        pytest.param("x.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "line 2: .*end", id="cut-off"),
        pytest.param("x.toml", "first = ", "not TOML", id="no-toml"),
        pytest.param("x.toml", "holiday = []", "'holiday' is none of", id="unknown-key"),
        pytest.param("x.toml", "holidays = [2024-07-04T09:30:00]", "instant", id="toml-time"),
        pytest.param("x.txt", "2024-07-04", "none of .csv, .ics and .toml", id="other-ending"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(
    tmp_path: Path, name: str, text: str, match: str
) -> None:
    """The error names the file, the line where there is one, and what is wrong."""
    file = write(tmp_path, name, text)
    with pytest.raises(CalendarFileError, match=match):
        WorkdayCalendar.from_file(file, *BOUNDS)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that is not there is a typed error with its path."""
    with pytest.raises(CalendarFileError, match="nowhere"):
        WorkdayCalendar.from_file(tmp_path / "nowhere.csv", *BOUNDS)


@pytest.mark.parametrize("name", ["x.csv", "x.ics", "x.toml"])
def test_a_list_of_days_needs_bounds(tmp_path: Path, name: str) -> None:
    """A file without bounds of its own does not say what it vouches for."""
    texts = {"x.csv": CSV, "x.ics": ICS, "x.toml": "name = 'X'"}
    with pytest.raises(InvalidInputError, match="last=None"):
        WorkdayCalendar.from_file(write(tmp_path, name, texts[name]), "2024-07-01")
