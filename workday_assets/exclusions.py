"""The closed days of a calendar in the form in which Dagster's definitions exclude windows."""

from __future__ import annotations

from collections import Counter
from datetime import date

from dagster._core.definitions.timestamp import TimestampWithTimezone

from workday_assets.calendars import WorkdayCalendar
from workday_assets.timetable import first_instant


def exclusions(
    calendar: WorkdayCalendar, timezone: str, first: date, past: date
) -> list[str | TimestampWithTimezone]:
    """The closed days of ``first <= day < past`` in the canonical, most compact exact form.

    Where every day of a (month, weekday) pair is closed, a cron string excludes the pair; weekdays
    closed in the same months share one string. Every other closed day is a timestamp. The result
    depends on the closed days alone: cron strings by weekday, then timestamps ascending.
    """
    closed = list(calendar.closed_days(first, past))
    days = map(date.fromordinal, range(first.toordinal(), past.toordinal()))
    total = Counter((day.month, day.weekday()) for day in days)
    shut = Counter((day.month, day.weekday()) for day in closed)
    whole = {pair for pair, count in shut.items() if count == total[pair]}
    dates = [day for day in closed if (day.month, day.weekday()) not in whole]
    return [*_cron_strings(whole), *(timestamp(day, timezone) for day in dates)]


def _cron_strings(pairs: set[tuple[int, int]]) -> list[str]:
    """Cron strings that together match midnight of the (month, weekday) `pairs` and no other."""
    weekdays_of: dict[tuple[int, ...], list[int]] = {}
    for cron_weekday in range(7):  # cron counts from Sunday, Python from Monday
        months = tuple(sorted(m for m, weekday in pairs if (weekday + 1) % 7 == cron_weekday))
        if months:
            weekdays_of.setdefault(months, []).append(cron_weekday)
    return [
        f"0 0 * {'*' if len(months) == 12 else ','.join(map(str, months))}"
        f" {','.join(map(str, weekdays))}"
        for months, weekdays in weekdays_of.items()
    ]


def timestamp(day: date, timezone: str) -> TimestampWithTimezone:
    """The first instant of a local date, as Dagster's definitions hold it."""
    return TimestampWithTimezone(first_instant(day, timezone).timestamp(), timezone)
