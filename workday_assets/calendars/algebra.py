"""Calendars made of two: open in both, open in either."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, time

import numpy as np

from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.errors import InvalidInputError


def open_in_both(left: WorkdayCalendar, right: WorkdayCalendar) -> WorkdayCalendar:
    """Open where both are; a day that is half in one closes at the earlier of their times."""

    def half(a: time | None, b: time | None, _: bool) -> time | None:
        return min((t for t in (a, b) if t is not None), default=None)

    return _combined(left, right, "&", np.logical_and, half)


def open_in_either(left: WorkdayCalendar, right: WorkdayCalendar) -> WorkdayCalendar:
    """Open where at least one is; half where no open one of them is whole."""

    def half(a: time | None, b: time | None, both_open: bool) -> time | None:
        times = [t for t in (a, b) if t is not None]
        return max(times) if len(times) == (2 if both_open else 1) else None

    return _combined(left, right, "|", np.logical_or, half)


def _combined(
    left: WorkdayCalendar,
    right: WorkdayCalendar,
    sign: str,
    combine: np.ufunc,
    half: Callable[[time | None, time | None, bool], time | None],
) -> WorkdayCalendar:
    first = max(left.first_date, right.first_date)
    last = min(left.last_date, right.last_date)
    if last < first:
        raise InvalidInputError(
            f"calendars {left.name} ({left.first_date} to {left.last_date}) and {right.name}"
            f" ({right.first_date} to {right.last_date}) share no date; widen one of them."
        )
    left, right = left.between(first, last), right.between(first, last)
    dates = np.arange(np.datetime64(first), np.datetime64(last) + 1)
    open_left, open_right = left.is_workday(dates), right.is_workday(dates)
    closed = {
        day: _reason(left, right, day) for day in dates[~combine(open_left, open_right)].tolist()
    }
    same_weekend = left.weekend_rules == right.weekend_rules
    halves = {}
    for day in {*left.half_days, *right.half_days}:
        both_open = left.is_workday(day) and right.is_workday(day)
        closes = half(left.half_days.get(day), right.half_days.get(day), both_open)
        if day not in closed and closes is not None:
            halves[day] = closes
    ad_hoc = {*left.closures, *right.closures}
    extra = {**right.extra_workdays, **left.extra_workdays}
    return WorkdayCalendar.build(
        f"{left.name} {sign} {right.name}",
        first,
        last,
        weekend=left.weekend_rules if same_weekend else (),
        holidays={d: r for d, r in closed.items() if d not in ad_hoc},
        closures={d: r for d, r in closed.items() if d in ad_hoc},
        extra_workdays={d: r for d, r in extra.items() if d not in closed},
        half_days=halves,
        provenance=f"{left.name}: {left.provenance} {sign} {right.name}: {right.provenance}",
    )


def _reason(left: WorkdayCalendar, right: WorkdayCalendar, day: date) -> str:
    """The reasons of those that are closed; one that is itself made of two names them already."""
    reasons = {
        calendar.name: calendar.describe(day)
        for calendar in (left, right)
        if not calendar.is_workday(day)
    }
    if len(set(reasons.values())) == 1 and len(reasons) == 2:
        return next(iter(reasons.values()))
    return "; ".join(
        reason if set(name) & set("&|") else f"{reason} in {name}"
        for name, reason in reasons.items()
    )
