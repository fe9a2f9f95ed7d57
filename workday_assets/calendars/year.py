"""One year of a calendar, day by day: what a rendering shows, and no rendering."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from itertools import groupby
from typing import Literal

from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.conventions import WeekendRules
from workday_assets.errors import OutOfBoundsError

State = Literal[
    "workday", "half day", "extra workday", "weekend", "holiday", "closure", "outside bounds"
]
OPEN_STATES: frozenset[State] = frozenset({"workday", "half day", "extra workday"})


@dataclass(frozen=True)
class YearDay:
    """One date of a year.

    Attributes:
        day: the date.
        state: what it is; an extra workday that closes early is an ``extra workday``, a closure
            both by rule and ad hoc a ``holiday``.
        reason: why it is closed or an extra workday; empty for other days.
        closes: local closing time, or `None` for a day that is closed or open to its end.
    """

    day: date
    state: State
    reason: str = ""
    closes: time | None = None


@dataclass(frozen=True)
class YearMonth:
    """One month of a year, with all its days, ascending.

    Attributes:
        days: its days, those outside the calendar's bounds among them.
    """

    days: tuple[YearDay, ...]

    @property
    def first(self) -> date:
        """The first day of the month."""
        return self.days[0].day

    @property
    def workdays(self) -> int | None:
        """How many days are known to be open; `None` where the bounds leave out the whole month."""
        known = [day for day in self.days if day.state != "outside bounds"]
        return sum(day.state in OPEN_STATES for day in known) if known else None

    @property
    def complete(self) -> bool:
        """Whether the calendar vouches for each of its days, so that `workdays` is exact."""
        return all(day.state != "outside bounds" for day in self.days)


@dataclass(frozen=True)
class CalendarYear:
    """A calendar year, January to December.

    Attributes:
        calendar: the calendar, with its own bounds.
        year: the year.
        months: the twelve months.
        weekend_rules: the weekend rules in force in the year, as `WorkdayCalendar.weekend_rules`.
    """

    calendar: WorkdayCalendar
    year: int
    months: tuple[YearMonth, ...]
    weekend_rules: WeekendRules

    @classmethod
    def of(cls, calendar: WorkdayCalendar, year: int) -> CalendarYear:
        """That year of `calendar`; days outside its bounds are ``outside bounds``.

        Raises:
            OutOfBoundsError: the whole year lies outside the bounds.
        """
        first, last = date(year, 1, 1), date(year, 12, 31)
        if last < calendar.first_date or first > calendar.last_date:
            raise OutOfBoundsError(
                "year", year, calendar.name, calendar.first_date, calendar.last_date
            )
        known = calendar.between(max(first, calendar.first_date), min(last, calendar.last_date))
        dates = map(date.fromordinal, range(first.toordinal(), last.toordinal() + 1))
        days = [_day(known, day) for day in dates]
        months = groupby(days, key=lambda day: day.day.month)
        whole = tuple(YearMonth(tuple(month)) for _, month in months)
        return cls(calendar, year, whole, known.weekend_rules)

    @property
    def days(self) -> list[YearDay]:
        """Every day of the year, ascending."""
        return [day for month in self.months for day in month.days]

    @property
    def workdays(self) -> int:
        """How many days of the year are known to be open."""
        return sum(month.workdays or 0 for month in self.months)

    @property
    def complete(self) -> bool:
        """Whether the calendar vouches for the whole year."""
        return all(month.complete for month in self.months)

    def having(self, state: State) -> list[YearDay]:
        """The days of that state, ascending."""
        return [day for day in self.days if day.state == state]

    @property
    def half_days(self) -> list[YearDay]:
        """The workdays that close early, extra workdays among them, ascending."""
        return [day for day in self.days if day.closes is not None]


def _day(calendar: WorkdayCalendar, day: date) -> YearDay:
    if not calendar.first_date <= day <= calendar.last_date:
        return YearDay(day, "outside bounds")
    if not calendar.is_workday(day):
        state: State = "weekend"
        if day in calendar.holidays:
            state = "holiday"
        elif day in calendar.closures:
            state = "closure"
        return YearDay(day, state, calendar.describe(day))
    closes = calendar.half_days.get(day)
    if day in calendar.extra_workdays:
        return YearDay(day, "extra workday", calendar.extra_workdays[day], closes)
    return YearDay(day, "workday" if closes is None else "half day", closes=closes)
