"""The calendar: a frozen value made of its sorted workdays; everything else derives from them."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from workday_assets.calendars.conventions import (
    DateLike,
    RollConvention,
    Weekend,
    WeekendRules,
    parse_date,
    parse_reasons,
    parse_roll,
    parse_times,
    parse_weekend,
)
from workday_assets.errors import ClosedDayError, InvalidInputError, OutOfBoundsError

Days = npt.NDArray[np.datetime64]


@dataclass(frozen=True, eq=False)
class WorkdayCalendar:
    """Which dates are workdays, why the others are closed, and for which dates that is known.

    Three layers make a day, the later one winning: weekend rules, then closures (holidays and ad
    hoc), then extra workdays. Two calendars are equal when their bounds, workdays and half days
    are; names, reasons and provenance do not count. Use `named` or `build`, not the constructor.

    Attributes:
        name: MIC, ISO code or any other name.
        first_date: first date for which the calendar vouches, included.
        last_date: last date for which it vouches, included.
        weekend_rules: (from date, closed weekdays with 0 for Monday), ascending.
        holidays: closures by a rule, with their reason; none on a day of the weekend.
        closures: ad hoc closures, with their reason.
        extra_workdays: open days that the layers below would close, with their reason.
        half_days: workdays that close early, with their local closing time.
        provenance: where the days come from.
    """

    name: str
    first_date: date
    last_date: date
    weekend_rules: WeekendRules
    holidays: Mapping[date, str] = field(repr=False)
    closures: Mapping[date, str] = field(repr=False)
    extra_workdays: Mapping[date, str] = field(repr=False)
    half_days: Mapping[date, time] = field(repr=False)
    provenance: str = field(repr=False)

    @classmethod
    def named(
        cls, code: str, first: DateLike | None = None, last: DateLike | None = None
    ) -> WorkdayCalendar:
        """The calendar of the catalog with that name, its bounds narrowed where asked.

        Raises:
            UnknownCalendarError: the catalog has none of that name.
            OutOfBoundsError: `first` or `last` lies outside its bounds.
        """
        from workday_assets.calendars.catalog import load

        return load(code).between(first, last)

    @classmethod
    def build(
        cls,
        name: str,
        first: DateLike,
        last: DateLike,
        *,
        weekend: Weekend = (5, 6),
        holidays: Mapping[Any, str] | Iterable[DateLike] = (),
        closures: Mapping[Any, str] | Iterable[DateLike] = (),
        extra_workdays: Mapping[Any, str] | Iterable[DateLike] = (),
        half_days: Mapping[Any, time | str] | None = None,
        provenance: str = "built by hand",
    ) -> Self:
        """A calendar from its layers, in any order and with repetitions.

        Args:
            name: what errors and pages call it.
            first: first date it vouches for, included.
            last: last date it vouches for, included.
            weekend: closed weekdays (0 is Monday), or dated rules ``[(None, (4, 5)),
                ("2026-01-05", (5, 6))]``.
            holidays: dates closed by a rule, with or without reasons.
            closures: dates closed by no rule.
            extra_workdays: dates open whatever the other layers say.
            half_days: closing times; on closed days they mean nothing and are dropped.
            provenance: where the days come from.

        Raises:
            InvalidInputError: a date cannot be read, `last` is before `first`, the weekend is
                impossible, or no day is left open.
        """
        start, end = parse_date(first, "first"), parse_date(last, "last")
        if end < start:
            raise InvalidInputError(f"last={end} is before first={start} in calendar {name}.")
        calendar = cls(
            name,
            start,
            end,
            tuple(rule for rule in parse_weekend(weekend, start) if rule[0] <= end),
            parse_reasons(holidays, "holidays", "holiday"),
            parse_reasons(closures, "closures", "ad hoc closure"),
            parse_reasons(extra_workdays, "extra_workdays", "extra workday"),
            parse_times(half_days or {}, "half_days"),
            provenance,
        )
        return calendar._normalized()

    def with_closures(self, closures: Mapping[Any, str] | Iterable[DateLike]) -> Self:
        """A copy in which these dates are closed as well, extra workdays among them."""
        added = self._inside(parse_reasons(closures, "closures", "ad hoc closure"), "closures")
        extra = {d: r for d, r in self.extra_workdays.items() if d not in added}
        return self._overlaid(closures={**self.closures, **added}, extra_workdays=extra)

    def with_extra_workdays(self, extra_workdays: Mapping[Any, str] | Iterable[DateLike]) -> Self:
        """A copy in which these dates are open, whatever closed them."""
        parsed = parse_reasons(extra_workdays, "extra_workdays", "extra workday")
        added = self._inside(parsed, "extra_workdays")
        return self._overlaid(extra_workdays={**self.extra_workdays, **added})

    def with_half_days(self, half_days: Mapping[Any, time | str]) -> Self:
        """A copy in which these workdays close at these local times.

        Raises:
            ClosedDayError: one of them is closed.
        """
        added = self._inside(parse_times(half_days, "half_days"), "half_days")
        for day in added:
            self.roll(day, "raise")
        return self._overlaid(half_days={**self.half_days, **added})

    def between(self, first: DateLike | None = None, last: DateLike | None = None) -> Self:
        """A copy that vouches only for `first` to `last`, both included.

        Raises:
            OutOfBoundsError: they lie outside this calendar's bounds.
        """
        if first is None and last is None:
            return self
        start = self.first_date if first is None else self._bounded(first, "first")
        end = self.last_date if last is None else self._bounded(last, "last")
        return self.build(
            self.name,
            start,
            end,
            weekend=self.weekend_rules,
            holidays=self.holidays,
            closures=self.closures,
            extra_workdays=self.extra_workdays,
            half_days=self.half_days,
            provenance=self.provenance,
        )

    def is_workday(self, day: DateLike | Days) -> Any:
        """Whether `day` is open; an array of `datetime64` is answered by an array of bool."""
        if isinstance(day, np.ndarray):
            return self._open[self._offsets_of(day)]
        return self._bounded(day) in self._members

    def roll(self, day: DateLike, convention: str) -> date:
        """`day` itself when it is open, else the workday to which `convention` moves it.

        "nearest" prefers the following of two equally near workdays; the modified conventions
        turn round at the end of the month (half-month: also between the 15th and the 16th).

        Raises:
            ClosedDayError: `day` is closed and the convention is "raise".
            OutOfBoundsError: the workday would lie outside the calendar's bounds.
        """
        parsed = self._bounded(day)
        if parsed in self._members:
            return parsed
        return self._rolled(parsed, parse_roll(convention))

    def offset(self, day: DateLike, n: int, roll: str = "raise") -> date:
        """The `n`-th workday after `day` (before it, when negative).

        First `day` is rolled to a workday by `roll`, then workdays are counted from there, so that
        0 gives the rolled day.

        Raises:
            ClosedDayError: `day` is closed and no roll is named.
            OutOfBoundsError: the answer lies outside the calendar's bounds.
        """
        start = self.roll(day, roll)
        index = bisect_left(self._days, start) + n
        if not 0 <= index < len(self._days):
            raise self._outside(f"{start} offset by {n} workdays", "day")
        return self._days[index]

    def next(self, day: DateLike) -> date:
        """The first workday strictly after `day`, which may be closed.

        Raises:
            OutOfBoundsError: it lies outside the calendar's bounds.
        """
        parsed = self._bounded(day)
        index = bisect_right(self._days, parsed)
        if index == len(self._days):
            raise self._outside(f"the workday after {parsed}", "day")
        return self._days[index]

    def previous(self, day: DateLike) -> date:
        """The last workday strictly before `day`, which may be closed.

        Raises:
            OutOfBoundsError: it lies outside the calendar's bounds.
        """
        parsed = self._bounded(day)
        index = bisect_left(self._days, parsed)
        if index == 0:
            raise self._outside(f"the workday before {parsed}", "day")
        return self._days[index - 1]

    def count(self, start: DateLike, end: DateLike) -> int:
        """How many workdays there are in ``start <= day < end``."""
        low, high = self._slice(start, end)
        return high - low

    def workdays(self, start: DateLike, end: DateLike) -> list[date]:
        """The workdays in ``start <= day < end``, ascending.

        Raises:
            InvalidInputError: `end` is before `start`.
            OutOfBoundsError: a date of the range lies outside the calendar's bounds.
        """
        low, high = self._slice(start, end)
        return self._days[low:high]

    def closed_days(self, start: DateLike, end: DateLike) -> dict[date, str]:
        """The closed dates in ``start <= day < end`` with their reasons, ascending."""
        first, past = self._range(start, end)
        days = map(date.fromordinal, range(first.toordinal(), past.toordinal()))
        return {day: self.describe(day) for day in days if day not in self._members}

    def nth_workday(self, year: int, month: int, n: int) -> date:
        """The `n`-th workday of a month, from 1, or from the end with -1 for the last.

        Raises:
            InvalidInputError: `n` is 0, or the month has not so many workdays.
            OutOfBoundsError: the month is not whole inside the calendar's bounds.
        """
        return self._nth(_month(year, month), _month(year, month + 1), n)

    def nth_workday_of_quarter(self, year: int, quarter: int, n: int) -> date:
        """As `nth_workday`, of a quarter from 1 to 4."""
        if quarter not in (1, 2, 3, 4):
            raise InvalidInputError(f"quarter={quarter!r} is not one of 1, 2, 3 and 4.")
        return self._nth(_month(year, 3 * quarter - 2), _month(year, 3 * quarter + 1), n)

    def nth_workday_of_year(self, year: int, n: int) -> date:
        """As `nth_workday`, of a year."""
        return self._nth(_month(year, 1), _month(year + 1, 1), n)

    def describe(self, day: DateLike) -> str:
        """Why `day` is closed, or what kind of workday it is."""
        parsed = self._bounded(day)
        if parsed not in self._members:
            reasons = (self.holidays.get(parsed), self.closures.get(parsed))
            return "; ".join(reason for reason in reasons if reason) or "weekend"
        if parsed in self.half_days:
            return f"half day, closes {self.half_days[parsed]:%H:%M}"
        return self.extra_workdays.get(parsed, "workday")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of bounds, workdays and half-day times; not of names or reasons.

        The text that is hashed: both bounds, then every workday, a line each as YYYY-MM-DD, a
        half day followed by a space and HH:MM:SS.
        """
        digest = hashlib.sha256(f"{self.first_date}\n{self.last_date}\n".encode())
        lines = np.datetime_as_string(self._array).tolist()
        if self.half_days:
            for day, closes in self.half_days.items():
                index = bisect_left(self._days, day)
                lines[index] += f" {closes.isoformat('seconds')}"
        digest.update("\n".join(lines).encode())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values from which `from_dict` rebuilds the calendar, reasons included."""
        return {
            "name": self.name,
            "first_date": str(self.first_date),
            "last_date": str(self.last_date),
            "weekend_rules": [[str(since), list(days)] for since, days in self.weekend_rules],
            "holidays": {str(day): reason for day, reason in self.holidays.items()},
            "closures": {str(day): reason for day, reason in self.closures.items()},
            "extra_workdays": {str(day): reason for day, reason in self.extra_workdays.items()},
            "half_days": {str(day): closes.isoformat() for day, closes in self.half_days.items()},
            "provenance": self.provenance,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The calendar that `to_dict` described.

        Raises:
            InvalidInputError: a field is missing, or cannot be read.
        """
        try:
            return cls.build(
                data["name"],
                data["first_date"],
                data["last_date"],
                weekend=data["weekend_rules"],
                holidays=data["holidays"],
                closures=data["closures"],
                extra_workdays=data["extra_workdays"],
                half_days=data["half_days"],
                provenance=data["provenance"],
            )
        except KeyError as error:
            raise InvalidInputError(
                f"data={sorted(data)} has no {error}; give what WorkdayCalendar.to_dict returned."
            ) from error

    def __and__(self, other: WorkdayCalendar) -> WorkdayCalendar:
        """Open where both are open, for the dates for which both vouch."""
        from workday_assets.calendars.algebra import open_in_both

        return open_in_both(self, other)

    def __or__(self, other: WorkdayCalendar) -> WorkdayCalendar:
        """Open where either is open, for the dates for which both vouch."""
        from workday_assets.calendars.algebra import open_in_either

        return open_in_either(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkdayCalendar):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def _open(self) -> npt.NDArray[np.bool_]:
        """For every date inside the bounds, whether it is open."""
        ordinals = np.arange(self.first_date.toordinal(), self.last_date.toordinal() + 1)
        weekday = (ordinals - 1) % 7  # 0001-01-01, ordinal 1, was a Monday
        mask = np.ones(len(ordinals), dtype=bool)
        for index, (since, closed) in enumerate(self.weekend_rules):
            start = since.toordinal() - self.first_date.toordinal()
            later = self.weekend_rules[index + 1 :]
            stop = later[0][0].toordinal() - self.first_date.toordinal() if later else None
            mask[start:stop] = ~np.isin(weekday[start:stop], closed)
        for layer, value in (
            (self.holidays, False),
            (self.closures, False),
            (self.extra_workdays, True),
        ):
            if layer:
                days = np.array([day.toordinal() for day in layer])
                mask[days - self.first_date.toordinal()] = value
        return mask

    @cached_property
    def _array(self) -> Days:
        first = np.datetime64(self.first_date, "D")
        return first + np.flatnonzero(self._open)

    @cached_property
    def _days(self) -> list[date]:
        days: list[date] = self._array.tolist()
        return days

    @cached_property
    def _members(self) -> frozenset[date]:
        return frozenset(self._days)

    def _normalized(self) -> Self:
        """Without entries outside the bounds, on the weekend, or overruled by a later layer."""

        def inside(layer: Mapping[date, Any]) -> dict[date, Any]:
            return {d: v for d, v in layer.items() if self.first_date <= d <= self.last_date}

        extra = inside(self.extra_workdays)
        bare = replace(self, holidays={}, closures={}, extra_workdays={}, half_days={})
        weekdays = bare._members
        trimmed = replace(
            self,
            holidays={d: r for d, r in inside(self.holidays).items() if d in weekdays},
            closures={d: r for d, r in inside(self.closures).items() if d in weekdays},
            extra_workdays=extra,
            half_days={},
        )
        if not trimmed._days:
            raise InvalidInputError(
                f"calendar {self.name} has no workday from {self.first_date} to {self.last_date};"
                " leave at least one day open."
            )
        half = {d: t for d, t in inside(self.half_days).items() if d in trimmed._members}
        return replace(trimmed, half_days=half)

    def _overlaid(self, **layers: Mapping[date, Any]) -> Self:
        names = ", ".join(sorted(layers))
        provenance = f"{self.provenance}; {names} changed by an overlay"
        return replace(self, **layers, provenance=provenance)._normalized()  # type: ignore[arg-type]

    def _inside(self, layer: dict[date, Any], parameter: str) -> dict[date, Any]:
        for day in layer:
            self._bounded(day, parameter)
        return layer

    def _bounded(self, day: DateLike, parameter: str = "day") -> date:
        parsed = day if type(day) is date else parse_date(day, parameter)
        if not self.first_date <= parsed <= self.last_date:
            raise self._outside(parsed, parameter)
        return parsed

    def _outside(self, day: object, parameter: str) -> OutOfBoundsError:
        return OutOfBoundsError(parameter, day, self.name, self.first_date, self.last_date)

    def _range(self, start: DateLike, end: DateLike) -> tuple[date, date]:
        first, past = parse_date(start, "start"), parse_date(end, "end")
        if past < first:
            raise InvalidInputError(f"end={past} is before start={first}; give the earlier first.")
        if past > first:
            self._bounded(first, "start")
            if past > self.last_date + timedelta(days=1):
                raise self._outside(past, "end")
        return first, past

    def _slice(self, start: DateLike, end: DateLike) -> tuple[int, int]:
        first, past = self._range(start, end)
        return bisect_left(self._days, first), bisect_left(self._days, past)

    def _offsets_of(self, days: Days) -> npt.NDArray[np.int64]:
        whole = days.astype("datetime64[D]")
        if days.dtype.kind != "M" or (whole != days).any():
            raise InvalidInputError(
                f"day has dtype {days.dtype} or times of day; give an array of datetime64[D]."
            )
        if whole.size:
            self._bounded(whole.min().item())
            self._bounded(whole.max().item())
        return (whole - np.datetime64(self.first_date, "D")).astype(np.int64)

    def _nth(self, first: date, past: date, n: int) -> date:
        days = self.workdays(first, past)
        if n == 0 or not -len(days) <= n <= len(days):
            raise InvalidInputError(
                f"n={n}: {first} to {past - timedelta(days=1)} has {len(days)} workdays in"
                f" {self.name}; count from 1, or from the end with -1."
            )
        return days[n - 1 if n > 0 else n]

    def _rolled(self, day: date, convention: RollConvention) -> date:
        if convention == "following":
            return self.next(day)
        if convention == "preceding":
            return self.previous(day)
        if convention == "nearest":
            return self._nearest(day)
        if convention == "modified preceding":
            before = self._neighbour(day, self.previous)
            return before if before and before.month == day.month else self.next(day)
        if convention == "raise":
            raise ClosedDayError(
                "day",
                day,
                self.name,
                self.describe(day),
                self._neighbour(day, self.previous),
                self._neighbour(day, self.next),
            )
        after = self._neighbour(day, self.next)
        turns = after is None or after.month != day.month
        if convention == "half-month modified following" and after is not None:
            turns = turns or (day.day <= 15 < after.day)
        return self.previous(day) if turns or after is None else after

    def _nearest(self, day: date) -> date:
        before = self._neighbour(day, self.previous)
        after = self._neighbour(day, self.next)
        if after is None or (before is not None and day - before < after - day):
            return self.previous(day)
        return after

    def _neighbour(self, day: date, step: Callable[[date], date]) -> date | None:
        try:
            return step(day)
        except OutOfBoundsError:
            return None


def _month(year: int, month: int) -> date:
    """The first day of a month; the 13th is January of the next year."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
