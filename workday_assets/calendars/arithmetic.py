"""Everything that follows from a calendar's sorted workdays: membership, steps, counts, ranges."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt
from numpy import ndarray

from workday_assets.calendars.conventions import ROLLS, DateLike, parse_date, parse_roll
from workday_assets.errors import ClosedDayError, InvalidInputError, OutOfBoundsError

Days = npt.NDArray[np.datetime64]
Counts = npt.NDArray[np.int64]


class Arithmetic:
    """The questions that bounds and open days alone can answer; `WorkdayCalendar` asks them.

    A date is anything `parse_date` reads. Where a method takes an array of `datetime64` days, it
    answers with an array of the same shape: bool, int64 or ``datetime64[D]``.

    Every method raises `OutOfBoundsError` where a date, asked for or answered, lies outside the
    calendar's bounds.
    """

    name: str
    first_date: date
    last_date: date

    def describe(self, day: DateLike) -> str:
        """Why `day` is closed, or what kind of workday it is."""
        raise NotImplementedError

    def _mask(self) -> npt.NDArray[np.bool_]:
        """For every date from the first to the last, whether it is open: the one primitive."""
        raise NotImplementedError

    @overload
    def is_workday(self, day: Days) -> npt.NDArray[np.bool_]: ...
    @overload
    def is_workday(self, day: DateLike) -> bool: ...
    def is_workday(self, day: DateLike | Days) -> bool | npt.NDArray[np.bool_]:
        """Whether `day` is open, whole or half."""
        if isinstance(day, ndarray):
            return self._open[self._indices(day)]
        return self._flags[self._index(day)] == 1

    @overload
    def next(self, day: Days) -> Days: ...
    @overload
    def next(self, day: DateLike) -> date: ...
    def next(self, day: DateLike | Days) -> date | Days:
        """The first workday strictly after `day`, which may be closed."""
        if isinstance(day, ndarray):
            return self._pick(self._counts[self._indices(day) + 1], "the workday after")
        at = self._before[self._index(day) + 1]
        if at == len(self._days):
            raise self._outside(f"the workday after {day}", "day")
        return self._days[at]

    @overload
    def previous(self, day: Days) -> Days: ...
    @overload
    def previous(self, day: DateLike) -> date: ...
    def previous(self, day: DateLike | Days) -> date | Days:
        """The last workday strictly before `day`, which may be closed."""
        if isinstance(day, ndarray):
            return self._pick(self._counts[self._indices(day)] - 1, "the workday before")
        at = self._before[self._index(day)]
        if at == 0:
            raise self._outside(f"the workday before {day}", "day")
        return self._days[at - 1]

    @overload
    def roll(self, day: Days, convention: str) -> Days: ...
    @overload
    def roll(self, day: DateLike, convention: str) -> date: ...
    def roll(self, day: DateLike | Days, convention: str) -> date | Days:
        """`day` itself when it is open, else the workday to which `convention` moves it.

        - ``following``, ``preceding``: the next workday, the one before.
        - ``modified following``, ``modified preceding``: the same, but turned round where that
          would leave the month.
        - ``half-month modified following``: turned round also where that would cross from the
          15th to the 16th.
        - ``nearest``: the nearer of the two, the following one when both are as near.
        - ``raise``: a closed day is an error.

        Raises:
            ClosedDayError: `day` is closed and the convention is ``raise``.
            OutOfBoundsError: the answer lies, or may lie, outside the calendar's bounds.
        """
        rule = parse_roll(convention)
        if isinstance(day, ndarray):
            return self._array[self._positions(day, rule)]
        return self._days[self._position(self._index(day), rule)]

    @overload
    def offset(self, day: Days, n: int, roll: str = "raise") -> Days: ...
    @overload
    def offset(self, day: DateLike, n: int, roll: str = "raise") -> date: ...
    def offset(self, day: DateLike | Days, n: int, roll: str = "raise") -> date | Days:
        """The `n`-th workday after `day` (before it, when `n` is negative).

        First `day` is rolled to a workday by `roll`, then workdays are counted from there, so that
        0 gives the rolled day.

        >>> from workday_assets import WorkdayCalendar
        >>> calendar = WorkdayCalendar.build("X", "2024-01-01", "2024-12-31")
        >>> str(calendar.offset("2024-03-02", 1, roll="following"))  # a Saturday: from Monday on
        '2024-03-05'

        Raises:
            ClosedDayError: `day` is closed and no roll is named.
        """
        rule = ROLLS.get(roll) or parse_roll(roll)
        if isinstance(day, ndarray):
            return self._pick(self._positions(day, rule) + n, f"offset by {n} of")
        index = self._index(day)
        at = self._before[index]
        if not self._flags[index] and (rule != "following" or at == len(self._days)):
            at = self._position(index, rule)
        at += n
        if 0 <= at < len(self._days):
            return self._days[at]
        raise self._outside(f"{day} offset by {n} workdays", "day")

    def count(self, start: DateLike, end: DateLike) -> int:
        """How many workdays there are in ``start <= day < end``.

        >>> from workday_assets import WorkdayCalendar
        >>> WorkdayCalendar.named("XECB").count("2024-01-01", "2025-01-01")
        256

        Raises:
            InvalidInputError: `end` is before `start`.
        """
        low, high = self._slice(start, end)
        return high - low

    def workdays(self, start: DateLike, end: DateLike) -> list[date]:
        """The workdays in ``start <= day < end``, ascending.

        Raises:
            InvalidInputError: `end` is before `start`.
        """
        low, high = self._slice(start, end)
        return self._days[low:high]

    def workdays_array(self, start: DateLike, end: DateLike) -> Days:
        """As `workdays`, as a read-only array of ``datetime64[D]``."""
        low, high = self._slice(start, end)
        return self._array[low:high]

    def closed_days(self, start: DateLike, end: DateLike) -> dict[date, str]:
        """The closed dates in ``start <= day < end`` with their reasons, ascending."""
        first, past = self._range(start, end)
        return {day: self.describe(day) for day in _dates(first, past) if not self.is_workday(day)}

    def nth_workday(self, year: int, month: int, n: int) -> date:
        """The `n`-th workday of a month, from 1, or from the end with -1 for the last.

        >>> from workday_assets import WorkdayCalendar
        >>> str(WorkdayCalendar.named("XECB").nth_workday(2024, 3, -1))  # before Good Friday
        '2024-03-28'

        Raises:
            InvalidInputError: `n` is 0, or the month has not so many workdays.
            OutOfBoundsError: the month is not whole inside the calendar's bounds.
        """
        if month not in range(1, 13):
            raise InvalidInputError(f"month={month!r} is not one of 1 to 12.")
        return self._nth(year, month, 1, n)

    def nth_workday_of_quarter(self, year: int, quarter: int, n: int) -> date:
        """As `nth_workday`, of a quarter from 1 to 4."""
        if quarter not in range(1, 5):
            raise InvalidInputError(f"quarter={quarter!r} is not one of 1, 2, 3 and 4.")
        return self._nth(year, 3 * quarter - 2, 3, n)

    def nth_workday_of_year(self, year: int, n: int) -> date:
        """As `nth_workday`, of a year."""
        return self._nth(year, 1, 12, n)

    @cached_property
    def _open(self) -> npt.NDArray[np.bool_]:
        return self._mask()

    @cached_property
    def _flags(self) -> bytes:
        return self._open.tobytes()

    @cached_property
    def _counts(self) -> Counts:
        """For every date, and the one after the last, how many workdays lie before it."""
        return np.concatenate(([0], np.cumsum(self._open, dtype=np.int64)))

    @cached_property
    def _before(self) -> list[int]:
        before: list[int] = self._counts.tolist()
        return before

    @cached_property
    def _array(self) -> Days:
        array = np.datetime64(self.first_date, "D") + np.flatnonzero(self._open)
        array.flags.writeable = False
        return array

    @cached_property
    def _days(self) -> list[date]:
        days: list[date] = self._array.tolist()
        return days

    @cached_property
    def _first_ordinal(self) -> int:
        return self.first_date.toordinal()

    @cached_property
    def _size(self) -> int:
        return len(self._flags)

    def _index(self, day: DateLike, parameter: str = "day") -> int:
        """How many dates `day` lies after the first."""
        parsed = day if type(day) is date else parse_date(day, parameter)
        index = parsed.toordinal() - self._first_ordinal
        if 0 <= index < self._size:
            return index
        raise self._outside(parsed, parameter)

    def _indices(self, days: Days) -> Counts:
        if days.dtype.kind != "M" or (days.astype("datetime64[D]") != days).any():
            raise InvalidInputError(
                f"day has dtype {days.dtype}, times of day or missing values; give an array of"
                " whole days, datetime64[D]."
            )
        whole = days.astype("datetime64[D]")
        if whole.size:
            self._index(whole.min().item())
            self._index(whole.max().item())
        return (whole - np.datetime64(self.first_date, "D")).astype(np.int64)

    def _pick(self, at: Counts, what: str) -> Days:
        if at.size and (at.min() < 0 or at.max() >= len(self._array)):
            raise self._outside(f"{what} one of {at.size} dates", "day")
        return self._array[at]

    def _outside(self, day: object, parameter: str) -> OutOfBoundsError:
        return OutOfBoundsError(parameter, day, self.name, self.first_date, self.last_date)

    def _range(self, start: DateLike, end: DateLike) -> tuple[date, date]:
        first, past = parse_date(start, "start"), parse_date(end, "end")
        if past < first:
            raise InvalidInputError(f"end={past} is before start={first}; give the earlier first.")
        if past > first:
            self._index(first, "start")
            if past.toordinal() > self.last_date.toordinal() + 1:
                raise self._outside(past, "end")
        return first, past

    def _slice(self, start: DateLike, end: DateLike) -> tuple[int, int]:
        first, past = self._range(start, end)
        if first == past:
            return 0, 0
        origin = self._first_ordinal
        return self._before[first.toordinal() - origin], self._before[past.toordinal() - origin]

    def _nth(self, year: int, month: int, months: int, n: int) -> date:
        first = date(year, month, 1)
        past = date(year + (month + months - 1) // 12, (month + months - 1) % 12 + 1, 1)
        days = self.workdays(first, past)
        if n == 0 or not -len(days) <= n <= len(days):
            raise InvalidInputError(
                f"n={n}: {first} to {past - timedelta(days=1)} has {len(days)} workdays in"
                f" {self.name}; count from 1, or from the end with -1."
            )
        return days[n - 1 if n > 0 else n]

    def _positions(self, days: Days, rule: str) -> Counts:
        indices = self._indices(days)
        at = self._counts[indices]
        for closed in zip(*np.nonzero(~self._open[indices]), strict=True):
            at[closed] = self._position(int(indices[closed]), rule)
        return at

    def _position(self, index: int, rule: str) -> int:
        """Where the date at `index`, rolled, stands in the sorted workdays."""
        at = self._before[index]
        if self._flags[index]:
            return at
        if rule != "following" and not (rule != "preceding" and self._forward(index, rule)):
            at -= 1
        if 0 <= at < len(self._days):
            return at
        day = date.fromordinal(self._first_ordinal + index)
        raise self._outside(f"the workday to which {day} rolls", "day")

    def _forward(self, index: int, rule: str) -> bool:
        """Whether `rule` moves the closed date at `index` forward.

        A workday beyond the bounds is unknown, but no nearer than the bound: that can be enough.
        """
        day = date.fromordinal(self._first_ordinal + index)
        if rule == "raise":
            raise self._closed(day, index)
        before, after = self._neighbours(index)
        behind = (day - (before or self.first_date - timedelta(days=1))).days
        ahead = ((after or self.last_date + timedelta(days=1)) - day).days
        if rule == "nearest":
            return ahead <= behind
        if rule == "modified preceding":
            return behind > day.day - 1
        half = rule == "half-month modified following" and day.day <= 15
        return ahead <= (15 if half else _month_length(day)) - day.day

    def _neighbours(self, index: int) -> tuple[date | None, date | None]:
        """The workdays around the closed date at `index`, `None` where the bounds end first."""
        at = self._before[index]
        return (
            self._days[at - 1] if at else None,
            self._days[at] if at < len(self._days) else None,
        )

    def _closed(self, day: date, index: int) -> ClosedDayError:
        before, after = self._neighbours(index)
        return ClosedDayError("day", day, self.name, self.describe(day), before, after)


def _month_length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def _dates(first: date, past: date) -> Iterator[date]:
    return map(date.fromordinal, range(first.toordinal(), past.toordinal()))
