"""The calendar: a frozen value made of three layers of days, with a reason for each closed one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from workday_assets.calendars.arithmetic import Arithmetic
from workday_assets.calendars.conventions import (
    DateLike,
    Weekend,
    WeekendRules,
    parse_date,
    parse_reasons,
    parse_times,
    parse_weekend,
)
from workday_assets.calendars.fingerprint import fingerprint
from workday_assets.errors import InvalidInputError

if TYPE_CHECKING:
    from pandas.tseries.holiday import AbstractHolidayCalendar

Reasons = Mapping[Any, str] | Iterable[DateLike]
_LAYERS = ("holidays", "closures", "extra_workdays", "half_days")


@dataclass(frozen=True, eq=False)
class WorkdayCalendar(Arithmetic):
    """Which dates are workdays, why the others are closed, and for which dates that is known.

    Three layers make a day, the later one winning: weekend rules, then closures (holidays and ad
    hoc), then extra workdays. Two calendars are equal when their bounds, workdays and half days
    are; names, reasons and provenance do not count. Use `named` or `build`, not the constructor.

    Is Christmas Eve a TARGET day, and when is the spot date of a trade on 3 July 2024?

    >>> ecb, fed = WorkdayCalendar.named("XECB"), WorkdayCalendar.named("XFED")
    >>> ecb.is_workday("2024-12-24"), ecb.describe("2024-12-26")
    (True, 'Christmas Holiday')
    >>> both = ecb & fed
    >>> str(both.roll(ecb.offset("2024-07-03", 2), "following")), both.describe("2024-07-04")
    ('2024-07-05', 'Independence Day in XFED')

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

    def __post_init__(self) -> None:
        for layer in _LAYERS:
            object.__setattr__(self, layer, MappingProxyType(dict(getattr(self, layer))))

    @classmethod
    def named(
        cls, code: str, first: DateLike | None = None, last: DateLike | None = None
    ) -> WorkdayCalendar:
        """The calendar of that name: frozen where the catalog has it, else from `holidays`.

        A calendar that is not frozen moves with the installed library, which a `UserWarning`
        says, and needs `first` and `last`: how far the library's years are published is not known.

        Args:
            code: a name of the catalog (`catalog.names()`), or a code of `holidays`: a country
                (``FR``), a country and a subdivision (``DE-BY``), or a market (``XHKG``).
            first: narrows the first date, included.
            last: narrows the last date, included.

        Raises:
            UnknownCalendarError: neither knows the name.
            OutOfBoundsError: `first` or `last` lies outside the frozen calendar's bounds.
            InvalidInputError: the calendar is not frozen, and `first` or `last` is missing.
        """
        from workday_assets.calendars.catalog import load, unfrozen

        frozen = load(code)
        return unfrozen(code, first, last) if frozen is None else frozen.between(first, last)

    @classmethod
    def build(
        cls,
        name: str,
        first: DateLike,
        last: DateLike,
        *,
        weekend: Weekend = (5, 6),
        holidays: Reasons = (),
        closures: Reasons = (),
        extra_workdays: Reasons = (),
        half_days: Mapping[Any, time | str] | None = None,
        provenance: str = "built by hand",
    ) -> Self:
        """A calendar from its layers, in any order and with repetitions.

        Entries outside the bounds, closures on the weekend and half days on closed days mean
        nothing and are left out.

        Args:
            name: what errors and pages call it.
            first: first date it vouches for, included.
            last: last date it vouches for, included.
            weekend: closed weekdays (0 is Monday), or dated rules ``[(None, (4, 5)),
                ("2026-01-05", (5, 6))]``.
            holidays: dates closed by a rule, with or without reasons.
            closures: dates closed by no rule.
            extra_workdays: dates open whatever the other layers say.
            half_days: closing times, local and without a zone.
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
        return calendar._normalized()._not_empty()

    @classmethod
    def from_holidays(
        cls,
        code: str,
        first: DateLike | None = None,
        last: DateLike | None = None,
        *,
        subdivision: str | None = None,
        categories: Iterable[str] | None = None,
        half_day_closes: time | str | None = None,
        name: str | None = None,
    ) -> WorkdayCalendar:
        """A calendar from the installed `holidays` library; see `providers.from_holidays`."""
        from workday_assets.calendars.providers import from_holidays

        return from_holidays(code, first, last, subdivision, categories, half_day_closes, name)

    @classmethod
    def from_pandas(
        cls,
        rules: AbstractHolidayCalendar | type[AbstractHolidayCalendar],
        first: DateLike,
        last: DateLike,
        *,
        weekend: Weekend = (5, 6),
        name: str | None = None,
    ) -> WorkdayCalendar:
        """A calendar from pandas' holiday rules; see `providers.from_pandas`."""
        from workday_assets.calendars.providers import from_pandas

        return from_pandas(rules, first, last, weekend, name)

    @classmethod
    def from_exchange(
        cls,
        code: str,
        first: DateLike | None = None,
        last: DateLike | None = None,
        *,
        name: str | None = None,
    ) -> WorkdayCalendar:
        """A calendar from `exchange_calendars`; see `exchanges.from_exchange`."""
        from workday_assets.calendars.exchanges import from_exchange

        return from_exchange(code, first, last, name)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        first: DateLike | None = None,
        last: DateLike | None = None,
        *,
        weekend: Weekend = (5, 6),
        name: str | None = None,
    ) -> WorkdayCalendar:
        """A calendar from a frozen, CSV, ICS or TOML file; see `files.from_file`."""
        from workday_assets.calendars.files import from_file

        return from_file(path, first, last, weekend, name)

    def with_closures(self, closures: Reasons) -> Self:
        """A copy in which these dates are closed as well, extra workdays among them."""
        added = self._inside(parse_reasons(closures, "closures", "ad hoc closure"), "closures")
        extra = {d: r for d, r in self.extra_workdays.items() if d not in added}
        return self._overlaid("closures", added, extra_workdays=extra)

    def with_extra_workdays(self, extra_workdays: Reasons) -> Self:
        """A copy in which these dates are open, whatever closed them."""
        parsed = parse_reasons(extra_workdays, "extra_workdays", "extra workday")
        return self._overlaid("extra_workdays", self._inside(parsed, "extra_workdays"))

    def with_half_days(self, half_days: Mapping[Any, time | str]) -> Self:
        """A copy in which these workdays close at these local times.

        Raises:
            ClosedDayError: one of them is closed.
        """
        added = self._inside(parse_times(half_days, "half_days"), "half_days")
        for day in added:
            self.roll(day, "raise")
        return self._overlaid("half_days", added)

    def between(self, first: DateLike | None = None, last: DateLike | None = None) -> Self:
        """A copy that vouches only for `first` to `last`, both included.

        It may have no workday: a single closed day can be asked about.

        Raises:
            OutOfBoundsError: they lie outside this calendar's bounds.
        """
        if first is None and last is None:
            return self
        start = self.first_date if first is None else parse_date(first, "first")
        end = self.last_date if last is None else parse_date(last, "last")
        self._index(start, "first")
        self._index(end, "last")
        if end < start:
            raise InvalidInputError(f"last={end} is before first={start} in calendar {self.name}.")
        rules = tuple(rule for rule in parse_weekend(self.weekend_rules, start) if rule[0] <= end)
        narrowed = replace(self, first_date=start, last_date=end, weekend_rules=rules)
        return narrowed._normalized()

    def describe(self, day: DateLike) -> str:
        """Why `day` is closed, or what kind of workday it is.

        A closed day gives its reasons, ``weekend`` among them; an open one gives ``workday``, the
        reason of an extra workday, or the closing time of a half day.
        """
        parsed = parse_date(day, "day")
        if not self.is_workday(parsed):
            reasons = (self.holidays.get(parsed), self.closures.get(parsed))
            return "; ".join(reason for reason in reasons if reason) or "weekend"
        if parsed in self.half_days:
            return f"half day, closes {self.half_days[parsed]:%H:%M}"
        return self.extra_workdays.get(parsed, "workday")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of bounds, workdays and half-day times; not of names or reasons."""
        return fingerprint(self.first_date, self.last_date, self._array, self.half_days)

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
            layers = {layer: data[layer] for layer in _LAYERS}
            return cls.build(
                data["name"],
                data["first_date"],
                data["last_date"],
                weekend=data["weekend_rules"],
                provenance=data["provenance"],
                **layers,
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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def _weekdays(self) -> npt.NDArray[np.bool_]:
        """For every date, whether the weekend rules leave it open."""
        first, last = self.first_date.toordinal(), self.last_date.toordinal()
        weekday = (np.arange(first, last + 1) - 1) % 7  # 0001-01-01, ordinal 1, was a Monday
        mask = np.ones(len(weekday), dtype=bool)
        for since, closed in self.weekend_rules:  # a later rule overwrites the rest
            start = since.toordinal() - first
            mask[start:] = ~np.isin(weekday[start:], closed)
        return mask

    def _mask(self) -> npt.NDArray[np.bool_]:
        mask = self._weekdays()
        first = self.first_date.toordinal()
        layers = ((self.holidays, False), (self.closures, False), (self.extra_workdays, True))
        for layer, is_open in layers:
            mask[[day.toordinal() - first for day in layer]] = is_open
        return mask

    def _normalized(self) -> Self:
        """Without entries outside the bounds, and without those that change nothing."""
        first, last = self.first_date, self.last_date
        weekdays, origin = self._weekdays().tobytes(), first.toordinal()

        def inside(layer: Mapping[date, Any]) -> dict[date, Any]:
            return {d: v for d, v in layer.items() if first <= d <= last}

        def on_weekdays(layer: Mapping[date, Any]) -> dict[date, Any]:
            return {d: v for d, v in inside(layer).items() if weekdays[d.toordinal() - origin]}

        holidays, closures = on_weekdays(self.holidays), on_weekdays(self.closures)
        extra = {
            d: v
            for d, v in inside(self.extra_workdays).items()
            if d in holidays or d in closures or not weekdays[d.toordinal() - origin]
        }
        whole = replace(
            self, holidays=holidays, closures=closures, extra_workdays=extra, half_days={}
        )
        half = {d: t for d, t in inside(self.half_days).items() if whole.is_workday(d)}
        return replace(whole, half_days=half) if half else whole

    def _overlaid(self, layer: str, added: dict[date, Any], **changed: dict[date, str]) -> Self:
        days = ", ".join(f"{day} ({value})" for day, value in added.items())
        layers: dict[str, Any] = {
            **changed,
            layer: dict(sorted({**getattr(self, layer), **added}.items())),
            "provenance": f"{self.provenance}; overlay of {layer}: {days}",
        }
        return replace(self, **layers)._normalized()._not_empty()

    def _not_empty(self) -> Self:
        if not self._open.any():
            raise InvalidInputError(
                f"calendar {self.name} has no workday from {self.first_date} to {self.last_date};"
                " leave at least one day open."
            )
        return self

    def _inside(self, layer: dict[date, Any], parameter: str) -> dict[date, Any]:
        for day in layer:
            self._index(day, parameter)
        return layer
