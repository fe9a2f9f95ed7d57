"""What the text and the page of a calendar year say alike: marks, labels, lists and notes."""

from __future__ import annotations

import calendar
from dataclasses import dataclass

from workday_assets.calendars.year import CalendarYear, State, YearDay, YearMonth

MARKS: dict[State, str] = {
    "workday": " ",
    "holiday": "#",
    "closure": "!",
    "weekend": ".",
    "extra workday": "+",
    "half day": "-",
    "outside bounds": "?",
}
LABELS: dict[State, str] = {
    "workday": "workday",
    "holiday": "holiday (closed)",
    "closure": "ad hoc closure",
    "weekend": "weekend",
    "extra workday": "extra workday",
    "half day": "half day",
    "outside bounds": "unknown",
}
WEEKDAYS = tuple(name[:2] for name in calendar.day_name)


@dataclass(frozen=True)
class Section:
    """A list below the months.

    Attributes:
        title: what the days have in common.
        state: the mark in front of the title.
        days: the days, ascending.
    """

    title: str
    state: State
    days: list[YearDay]


def sections(year: CalendarYear) -> list[Section]:
    """The lists of a year, those without a day left out."""
    found = (
        Section("Holidays (closed)", "holiday", year.having("holiday")),
        Section("Ad hoc closures", "closure", year.having("closure")),
        Section("Extra workdays", "extra workday", year.having("extra workday")),
        Section("Half days", "half day", year.half_days),
    )
    return [section for section in found if section.days]


def remark(day: YearDay, section: Section) -> str:
    """What a list says of a day, apart from its date."""
    if section.state == "half day":
        return _closes(day)
    return f"{day.reason}, {_closes(day)}" if day.closes else day.reason


def sentence(day: YearDay) -> str:
    """A day as one line, for example ``Friday 3 April 2026: holiday (closed), Good Friday``."""
    said = [LABELS[day.state]]
    if day.reason and day.reason != day.state:
        said.append(day.reason)
    if day.closes:
        said.append(_closes(day))
    return f"{day.day:%A} {day.day.day} {day.day:%B %Y}: {', '.join(said)}"


def count(month: YearMonth) -> str:
    """The workdays of a month: ``20 workdays``, ``7+ workdays`` in a part of it, or ``unknown``."""
    if month.workdays is None:
        return "unknown"
    return _number(month.workdays, "workday") if month.complete else f"{month.workdays}+ workdays"


def totals(year: CalendarYear) -> str:
    """The days of the year by what they are, workdays first."""
    weekend, outside = len(year.having("weekend")), len(year.having("outside bounds"))
    closed = len(year.having("holiday")) + len(year.having("closure"))
    parts = [
        f"{'' if year.complete else 'at least '}{_number(year.workdays, 'workday')}",
        _number(closed, "closure"),
        _number(weekend, "weekend day"),
    ]
    return ", ".join(parts + ([_number(outside, "unknown day")] if outside else []))


def legend(year: CalendarYear) -> list[State]:
    """The states that occur in the year and have a mark, in a fixed order."""
    present = {day.state for day in year.days}
    return [state for state in MARKS if state in present and state != "workday"]


def bounds_note(year: CalendarYear) -> str:
    """For a year only partly inside the bounds, what that means; else empty."""
    if year.complete:
        return ""
    first, last = year.calendar.first_date, year.calendar.last_date
    sides = [f"before {first}"] if first.year == year.year else []
    sides += [f"after {last}"] if last.year == year.year else []
    return (
        f"Calendar {year.calendar.name} does not vouch for the days {' and '.join(sides)}: whether"
        " they are open is unknown."
    )


def facts(year: CalendarYear) -> list[tuple[str, str]]:
    """The calendar's name, bounds, weekend in that year, provenance and short fingerprint."""
    source = year.calendar
    return [
        ("Calendar", source.name),
        ("Bounds", f"{source.first_date} to {source.last_date}, both included"),
        ("Weekend", _weekend(year)),
        ("Provenance", source.provenance),
        ("Fingerprint", source.fingerprint[:12]),
    ]


def _closes(day: YearDay) -> str:
    return f"closes {day.closes:%H:%M}"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _weekend(year: CalendarYear) -> str:
    rules = [
        (since, ", ".join(calendar.day_name[day] for day in days) or "none")
        for since, days in year.weekend_rules
    ]
    first, *later = rules
    return "; ".join([first[1], *(f"from {since} on {days}" for since, days in later)])
