"""`workday-assets calendar`: the data of a year, its text, its page and its JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import date, time
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from workday_assets import WorkdayCalendar
from workday_assets.calendars.year import CalendarYear, YearDay
from workday_assets.cli import main, year_html, year_text
from workday_assets.cli.calendar import to_data
from workday_assets.errors import OutOfBoundsError

NASTY = """<script>alert('1')</script>" onclick="x [bold]& co[/bold]"""


def shop(**changes: Any) -> WorkdayCalendar:
    """A calendar of 18 days, Wednesday 24 June to Saturday 11 July 2026, with every layer."""
    layers: dict[str, Any] = {
        "holidays": {"2026-06-25": "Founder's Day"},
        "closures": {"2026-07-01": "storm"},
        "extra_workdays": {"2026-07-04": "stocktaking"},
        "half_days": {"2026-06-30": "13:00", "2026-07-04": "12:30"},
        **changes,
    }
    return WorkdayCalendar.build("SHOP", "2026-06-24", "2026-07-11", **layers)


def printed(calendar: WorkdayCalendar, year: int, width: int) -> str:
    """The year as a terminal of that width shows it without colour."""
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(year_text.render(CalendarYear.of(calendar, year), width))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def invoke(*words: str) -> Result:
    """The command as its user runs it, with a terminal of 80 columns."""
    return CliRunner().invoke(main, ["calendar", *words], env={"COLUMNS": "80"})


class Page(HTMLParser):
    """What a browser would see: elements, classes of the days, tooltips, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps the element."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keeps the text."""
        self.words.append(data.strip())

    def tooltips(self, kind: str) -> list[str | None]:
        """The tooltips of the days of one class."""
        return [
            attrs.get("title")
            for tag, attrs in self.tags
            if tag == "td" and attrs.get("class") == kind
        ]


def page(calendar: WorkdayCalendar, year: int) -> Page:
    """The page of that year, parsed."""
    return Page(year_html.render(CalendarYear.of(calendar, year)))


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        pytest.param("2026-06-23", ("outside bounds", "", None), id="day-before-the-bounds"),
        pytest.param("2026-06-24", ("workday", "", None), id="first-day"),
        pytest.param("2026-06-25", ("holiday", "Founder's Day", None), id="holiday"),
        pytest.param("2026-06-27", ("weekend", "weekend", None), id="weekend"),
        pytest.param("2026-06-30", ("half day", "", time(13)), id="half-day"),
        pytest.param("2026-07-01", ("closure", "storm", None), id="ad-hoc-closure"),
        pytest.param(
            "2026-07-04", ("extra workday", "stocktaking", time(12, 30)), id="extra-half-day"
        ),
        pytest.param("2026-07-11", ("weekend", "weekend", None), id="last-day"),
        pytest.param("2026-07-12", ("outside bounds", "", None), id="day-after-the-bounds"),
    ],
)
def test_day_of_a_year(day: str, expected: tuple[str, str, time | None]) -> None:
    """Each day of a year has its state, reason and closing time."""
    when = date.fromisoformat(day)
    found = [found for found in CalendarYear.of(shop(), 2026).days if found.day == when]
    assert found == [YearDay(when, *expected)]  # type: ignore[arg-type]


def test_year_has_every_day_once() -> None:
    """A leap year has its 366 days in order, in months of the right length."""
    year = CalendarYear.of(WorkdayCalendar.build("ALL", "2024-01-01", "2024-12-31"), 2024)
    assert [len(month.days) for month in year.months] == [
        *(31, 29, 31, 30, 31, 30),
        *(31, 31, 30, 31, 30, 31),
    ]
    assert [found.day.toordinal() for found in year.days] == list(range(738886, 738886 + 366))


def test_counts_of_a_year_partly_inside_the_bounds() -> None:
    """Months count their known workdays, and say whether that is all of them."""
    year = CalendarYear.of(shop(), 2026)
    counts = [(month.workdays, month.complete) for month in year.months]
    none = (None, False)
    assert counts == [*[none] * 5, (4, False), (8, False), *[none] * 5]
    assert (year.workdays, year.complete) == (12, False)


def test_holiday_that_is_also_an_ad_hoc_closure() -> None:
    """A day closed twice is one holiday with both reasons."""
    year = CalendarYear.of(shop(closures={"2026-06-25": "storm"}), 2026)
    assert year.having("holiday") == [YearDay(date(2026, 6, 25), "holiday", "Founder's Day; storm")]
    assert year.having("closure") == []


def test_closure_that_an_extra_workday_opens_is_listed_once() -> None:
    """An extra workday on a holiday is no holiday any more."""
    year = CalendarYear.of(shop(extra_workdays={"2026-06-25": "open after all"}), 2026)
    assert year.having("holiday") == []
    assert [found.reason for found in year.having("extra workday")] == ["open after all"]


@pytest.mark.parametrize("year", [2025, 2027], ids=["before", "after"])
def test_year_wholly_outside_the_bounds(year: int) -> None:
    """A year of which nothing is known is refused, with the bounds."""
    with pytest.raises(OutOfBoundsError, match=f"year={year} .* 2026-06-24 to 2026-07-11"):
        CalendarYear.of(shop(), year)


def test_data_of_a_year() -> None:
    """The JSON data hold the whole year, and leave out the days outside the bounds."""
    calendar = WorkdayCalendar.build(
        "SHOP",
        "2026-06-29",
        "2026-07-05",
        holidays={"2026-07-02": "Founder's Day"},
        closures={"2026-07-01": "storm"},
        extra_workdays={"2026-07-04": "stocktaking"},
        half_days={"2026-06-30": "13:00"},
    )
    none = {"workdays": None, "complete": False}
    months: list[dict[str, Any]] = [{"month": f"2026-{month:02}", **none} for month in range(1, 13)]
    months[5]["workdays"] = 2
    months[6]["workdays"] = 2
    assert to_data(CalendarYear.of(calendar, 2026)) == {
        "calendar": "SHOP",
        "year": 2026,
        "first_date": "2026-06-29",
        "last_date": "2026-07-05",
        "provenance": "built by hand",
        "fingerprint": calendar.fingerprint,
        "weekend_rules": [["2026-06-29", [5, 6]]],
        "workdays": 4,
        "complete": False,
        "months": months,
        "holidays": [{"date": "2026-07-02", "weekday": "Thursday", "reason": "Founder's Day"}],
        "closures": [{"date": "2026-07-01", "weekday": "Wednesday", "reason": "storm"}],
        "extra_workdays": [{"date": "2026-07-04", "weekday": "Saturday", "reason": "stocktaking"}],
        "half_days": [{"date": "2026-06-30", "weekday": "Tuesday", "closes": "13:00"}],
        "days": {
            "2026-06-29": "workday",
            "2026-06-30": "half day",
            "2026-07-01": "closure",
            "2026-07-02": "holiday",
            "2026-07-03": "workday",
            "2026-07-04": "extra workday",
            "2026-07-05": "weekend",
        },
    }


def test_text_marks_every_state_without_colour() -> None:
    """Plain text tells the states of days apart by a mark behind the date."""
    lines = [line.rstrip() for line in printed(shop(), 2026, 30).splitlines()]
    start = lines.index("June      4+ workdays")
    assert lines[start : start + 17] == [
        "June      4+ workdays",
        "Mo Tu We Th Fr Sa Su",
        " 1? 2? 3? 4? 5? 6? 7?",
        " 8? 9?10?11?12?13?14?",
        "15?16?17?18?19?20?21?",
        "22?23?24 25#26 27.28.",
        "29 30-",
        "",
        "July      8+ workdays",
        "Mo Tu We Th Fr Sa Su",
        "       1! 2  3  4+ 5.",
        " 6  7  8  9 10 11.12?",
        "13?14?15?16?17?18?19?",
        "20?21?22?23?24?25?26?",
        "27?28?29?30?31?",
        "",
        "August        unknown",
    ]


def test_text_below_the_months() -> None:
    """Below the months stand the marks, the days by kind with reasons, and the calendar's facts."""
    text = printed(shop(), 2026, 120)
    assert [" ".join(line.split()) for line in text.partition("\n # ")[2].splitlines()] == [
        "holiday (closed) ! ad hoc closure . weekend + extra workday - half day ? unknown",
        "",
        "Holidays (closed): 1",
        "# Thu 2026-06-25 Founder's Day",
        "",
        "Ad hoc closures: 1",
        "! Wed 2026-07-01 storm",
        "",
        "Extra workdays: 1",
        "+ Sat 2026-07-04 stocktaking, closes 12:30",
        "",
        "Half days: 2",
        "- Tue 2026-06-30 closes 13:00",
        "- Sat 2026-07-04 closes 12:30",
        "",
        "Calendar SHOP",
        "Bounds 2026-06-24 to 2026-07-11, both included",
        "Weekend Saturday, Sunday",
        "Provenance built by hand",
        f"Fingerprint {shop().fingerprint[:12]}",
    ]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        pytest.param(30, ["January"], id="30-one"),
        pytest.param(60, ["January", "February"], id="60-two"),
        pytest.param(80, ["January", "February", "March"], id="80-three"),
        pytest.param(120, ["January", "February", "March", "April"], id="120-four"),
        pytest.param(300, ["January", "February", "March", "April"], id="300-four"),
    ],
)
def test_text_fits_its_width(width: int, expected: list[str]) -> None:
    """As many months stand side by side as fit, and no line is wider than the terminal."""
    lines = printed(shop(holidays={"2026-06-25": "long " * 40}), 2026, width).splitlines()
    assert max(map(len, lines)) <= width
    title = next(line for line in lines if line.startswith("January"))
    assert re.findall("[A-Z][a-z]+", title) == expected


def test_text_says_which_days_are_unknown() -> None:
    """A year partly outside the bounds says so in words, with the dates."""
    assert printed(shop(), 2026, 200).splitlines()[:2] == [
        "SHOP 2026: at least 12 workdays, 2 closures, 4 weekend days, 347 unknown days",
        "Calendar SHOP does not vouch for the days before 2026-06-24 and after 2026-07-11: whether"
        " they are open is unknown.",
    ]


def test_text_names_a_weekend_that_changes() -> None:
    """A weekend that changes during the year is shown with the date of the change."""
    calendar = shop(weekend=[(None, (4, 5)), ("2026-07-06", (5, 6))])
    assert "Friday, Saturday; from 2026-07-06 on Saturday, Sunday" in printed(calendar, 2026, 120)


def test_reasons_are_text_and_no_markup() -> None:
    """A reason with brackets or tags is shown as it is, in the terminal and on the page."""
    calendar = shop(closures={"2026-07-01": NASTY})
    assert NASTY in printed(calendar, 2026, 120)
    found = page(calendar, 2026)
    assert found.tooltips("closure") == [f"Wednesday 1 July 2026: ad hoc closure, {NASTY}"]
    assert NASTY in found.words
    assert "script" not in {tag for tag, _ in found.tags}


def test_name_and_provenance_are_escaped_on_the_page() -> None:
    """No text of a calendar becomes an element of its page."""
    calendar = WorkdayCalendar.build(
        "<i>A&B</i>", "2026-01-01", "2026-12-31", provenance="<img src=x>"
    )
    found = page(calendar, 2026)
    assert not {"i", "img"} & {tag for tag, _ in found.tags}
    assert {"<i>A&B</i> 2026", "<img src=x>"} <= set(found.words)


def test_page_refers_to_nothing_outside_itself() -> None:
    """The page has no address, no script, and forbids the browser to load anything."""
    text = year_html.render(CalendarYear.of(shop(), 2026))
    found = Page(text)
    assert not {"script", "link", "img", "iframe", "a"} & {tag for tag, _ in found.tags}
    assert not [attrs for _, attrs in found.tags if {"src", "href", "style"} & set(attrs)]
    assert not re.search(r"https?:|//|url\(|@import", text)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    assert ("Content-Security-Policy", policy) in [
        (attrs.get("http-equiv"), attrs.get("content")) for _, attrs in found.tags
    ]


def test_page_explains_every_special_day() -> None:
    """Each special day has its own class and a tooltip, and the months have their counts."""
    found = page(shop(), 2026)
    assert found.tooltips("holiday") == [
        "Thursday 25 June 2026: holiday (closed), Founder's Day",
    ]
    assert found.tooltips("extra-workday") == [
        "Saturday 4 July 2026: extra workday, stocktaking, closes 12:30",
    ]
    assert found.tooltips("half-day") == ["Tuesday 30 June 2026: half day, closes 13:00"]
    assert found.tooltips("weekend")[0] == "Saturday 27 June 2026: weekend"
    assert len(found.tooltips("outside-bounds")) == 347
    assert {"4+ workdays", "8+ workdays", "unknown"} <= set(found.words)
    assert "before 2026-06-24 and after 2026-07-11" in " ".join(found.words)


def test_command_prints_a_year() -> None:
    """The ECB's year 2026 is shown with its five closures on weekdays and their reasons."""
    result = invoke("XECB", "2026")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert lines[0] == "XECB 2026: 256 workdays, 5 closures, 104 weekend days"
    assert [line for line in lines if line.startswith("#")] == [
        "# holiday (closed) . weekend",
        "# Thu 2026-01-01 New Year's Day",
        "# Fri 2026-04-03 Good Friday",
        "# Mon 2026-04-06 Easter Monday",
        "# Fri 2026-05-01 Labour Day",
        "# Fri 2026-12-25 Christmas Day",
    ]


def test_command_prints_data() -> None:
    """`--json` prints nothing but the data."""
    found = json.loads(invoke("XECB", "2026", "--json").output)
    assert [month["workdays"] for month in found["months"]] == [
        *(21, 20, 22, 20, 20, 22),
        *(23, 21, 22, 22, 21, 22),
    ]
    assert (found["calendar"], found["workdays"], found["complete"]) == ("XECB", 256, True)


def test_command_writes_a_page(tmp_path: Path) -> None:
    """`--html` writes the page and says where, instead of printing the year."""
    file = tmp_path / "year.html"
    result = invoke("XECB", "2026", "--html", str(file))
    assert (result.exit_code, result.output) == (0, f"Wrote XECB 2026 to {file}\n")
    assert "Friday 3 April 2026: holiday (closed), Good Friday" in Page(
        file.read_text("utf-8")
    ).tooltips("holiday")


def test_command_writes_a_page_beside_data(tmp_path: Path) -> None:
    """`--html` with `--json` does both, and standard output stays JSON."""
    file = tmp_path / "year.html"
    result = invoke("XECB", "2026", "--html", str(file), "--json")
    assert json.loads(result.output)["year"] == 2026
    assert file.exists()


def test_command_shows_a_calendar_that_is_not_frozen() -> None:
    """A code of the holidays library is shown for the year, with a warning on standard error."""
    result = invoke("NZ", "2026")
    assert result.exit_code == 0
    assert "Fri 2026-02-06  Waitangi Day" in result.stdout
    assert result.stderr.startswith("Warning: calendar NZ is not frozen: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["NOWHERE", "2026"], "code='NOWHERE' is not in the .*XECB", id="unknown-name"),
        pytest.param(["XECB", "2200"], "year=2200 is outside calendar XECB", id="outside-bounds"),
        pytest.param(["XECB", "26"], "26 is not in the range", id="two-digit-year"),
        pytest.param(["XECB", "2026", "--html", "none/x.html"], "none/x.html", id="no-folder"),
    ],
)
def test_command_refuses_with_one_sentence(words: list[str], message: str) -> None:
    """What cannot be shown is refused with exit code 2 and the reason, and nothing else."""
    result = invoke(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(message, result.stderr)


def test_command_loads_neither_dagster_nor_pandas() -> None:
    """A year is shown without the start-up cost of Dagster and pandas."""
    code = (
        "import sys; from workday_assets.cli import main\n"
        "main(['calendar', 'XECB', '2026', '--json'], standalone_mode=False)\n"
        "print(sorted({'dagster', 'pandas'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"
