"""Dates, weekend rules and roll conventions as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final, Literal, get_args

import numpy as np

from workday_assets.errors import InvalidInputError

DateLike = date | str | np.datetime64
WeekendRules = tuple[tuple[date, tuple[int, ...]], ...]
Weekend = Iterable[int] | Sequence[tuple[DateLike | None, Iterable[int]]]
RollConvention = Literal[
    "raise",
    "following",
    "preceding",
    "modified following",
    "modified preceding",
    "half-month modified following",
    "nearest",
]
ROLL_CONVENTIONS: tuple[RollConvention, ...] = get_args(RollConvention)


def parse_date(value: DateLike, parameter: str) -> date:
    """The local date that `value` writes.

    A `date`, an ISO string, a whole-day `datetime64`, and a naive midnight `pandas.Timestamp` are
    dates. Any other `datetime` is an instant, whose date depends on a zone, and is refused.

    Raises:
        InvalidInputError: `value` is none of these.
    """
    if type(value) is date:
        return value
    if isinstance(value, str):
        return _from_iso(value, parameter)
    if isinstance(value, np.datetime64):
        return _from_datetime64(value, parameter)
    if isinstance(value, datetime):
        if type(value).__name__ != "NaTType":  # pandas is not imported to recognize its types
            if not _is_whole_timestamp(value):
                raise _instant(value, parameter)
            return value.date()
    elif isinstance(value, date):
        return date(value.year, value.month, value.day)
    raise InvalidInputError(
        f"{parameter}={value!r} is not a date; give a datetime.date or 'YYYY-MM-DD'."
    )


def parse_reasons(
    value: Mapping[DateLike, str] | Iterable[DateLike], parameter: str, default: str
) -> dict[date, str]:
    """Dates with a reason each, ascending; a plain list of dates gets the `default` reason."""
    items = value.items() if isinstance(value, Mapping) else ((day, default) for day in value)
    return dict(sorted((parse_date(day, parameter), str(reason)) for day, reason in items))


def parse_times(value: Mapping[DateLike, time | str], parameter: str) -> dict[date, time]:
    """Dates with a local closing time each, ascending.

    Raises:
        InvalidInputError: a time cannot be read, or has a zone.
    """
    found = {}
    for day, closes in value.items():
        try:
            at = time.fromisoformat(closes) if isinstance(closes, str) else closes
        except ValueError:
            at = None
        if not isinstance(at, time) or at.tzinfo is not None or at == time(0):
            raise InvalidInputError(
                f"{parameter}[{day}]={closes!r} is not a closing time; give a local time without a"
                " zone, for example '13:00'."
            )
        found[parse_date(day, parameter)] = at
    return dict(sorted(found.items()))


def parse_weekend(value: Weekend, first: date) -> WeekendRules:
    """Weekend rules as (from date, closed weekdays), ascending, the first from `first` on.

    Args:
        value: weekdays (0 is Monday), or dated rules, where `None` means from the beginning.
        first: the calendar's first date; rules that end before it are left out.

    Raises:
        InvalidInputError: a weekday is not 0 to 6, all seven are closed, or two rules share a date.
    """
    rules = list(value)
    if not rules or all(isinstance(day, int | np.integer) for day in rules):
        return ((first, _weekdays(rules)),)
    dated: dict[date, tuple[int, ...]] = {}
    for rule in rules:
        since, weekdays = _pair(rule)
        day = date.min if since is None else parse_date(since, "weekend")
        if day in dated:
            raise InvalidInputError(f"weekend has two rules from {day} on; keep one of them.")
        dated[day] = _weekdays(weekdays)
    begun = [day for day in sorted(dated) if day <= first]
    if not begun:
        raise InvalidInputError(
            f"weekend has no rule for {first}, the calendar's first date; give the oldest rule the"
            " date None."
        )
    later = [(day, dated[day]) for day in sorted(dated) if day > first]
    return ((first, dated[begun[-1]]), *later)


def parse_roll(value: str) -> RollConvention:
    """The roll convention of that name, in any case; spaces, hyphens and underscores are alike.

    Raises:
        InvalidInputError: there is none.
    """
    if value in ROLLS:
        return ROLLS[value]
    found = ROLLS.get(_squeezed(value)) if isinstance(value, str) else None
    if found is None:
        raise InvalidInputError(
            f"roll={value!r} is not a convention; choose from {', '.join(ROLL_CONVENTIONS)}."
        )
    return found


def _squeezed(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")


ROLLS: Final = {key: name for name in ROLL_CONVENTIONS for key in (name, _squeezed(name))}


def _pair(rule: Any) -> tuple[DateLike | None, Iterable[int]]:
    try:
        since, weekdays = rule
    except (TypeError, ValueError):
        raise _bad_weekend(rule) from None
    return since, weekdays


def _weekdays(value: Iterable[Any]) -> tuple[int, ...]:
    try:
        days = sorted({int(day) for day in value})
    except (TypeError, ValueError):
        raise _bad_weekend(value) from None
    if days and not 0 <= days[0] <= days[-1] <= 6:
        raise _bad_weekend(value)
    if len(days) == 7:
        raise InvalidInputError("weekend closes all seven weekdays; leave at least one open.")
    return tuple(days)


def _bad_weekend(value: object) -> InvalidInputError:
    return InvalidInputError(
        f"weekend={value!r} is not made of weekdays; give numbers from 0 (Monday) to 6 (Sunday)."
    )


def _from_iso(value: str, parameter: str) -> date:
    try:
        if len(value) != 10:
            raise ValueError("it is not ten characters long")
        return date.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(
            f"{parameter}={value!r} is not a date ({error}); write YYYY-MM-DD."
        ) from None


def _from_datetime64(value: np.datetime64, parameter: str) -> date:
    day = value.astype("datetime64[D]")
    if np.isnat(value) or day != value:
        raise InvalidInputError(
            f"{parameter}={value!r} is not a whole day; give numpy.datetime64('YYYY-MM-DD')."
        )
    found: date = day.item()
    return found


def _is_whole_timestamp(value: Any) -> bool:
    """Whether it is a naive midnight `pandas.Timestamp`."""
    pandas = type(value).__module__.partition(".")[0] == "pandas"
    return pandas and value.tzinfo is None and value.time() == time(0) and value.nanosecond == 0


def _instant(value: datetime, parameter: str) -> InvalidInputError:
    return InvalidInputError(
        f"{parameter}={value!r} is an instant, and its date depends on a zone; convert it to the"
        " calendar's zone yourself and pass .date()."
    )
