"""Calendars by name: the frozen file first, the provider second."""

from __future__ import annotations

import warnings
from functools import lru_cache
from importlib.resources import files

from workday_assets.calendars import tables
from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.conventions import DateLike
from workday_assets.errors import InvalidInputError, UnknownCalendarError

_DATA = files("workday_assets.calendars") / "data"
_ENDING = ".csv"


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The names in the catalog, in alphabetical order."""
    found = (entry.name for entry in _DATA.iterdir() if entry.name.endswith(_ENDING))
    return tuple(sorted(name.removesuffix(_ENDING) for name in found))


@lru_cache
def load(name: str) -> WorkdayCalendar | None:
    """The frozen calendar of that name, or `None` where the catalog has none."""
    if name not in names():
        return None
    file = _DATA / f"{name}{_ENDING}"
    return tables.loads(file.read_text("utf-8"), file)


def unfrozen(code: str, first: DateLike | None, last: DateLike | None) -> WorkdayCalendar:
    """The calendar that the installed `holidays` has for `code`, with a warning.

    Raises:
        UnknownCalendarError: `holidays` is not installed, or does not know the code.
        InvalidInputError: a bound is missing.
    """
    from workday_assets.calendars import providers

    known = f"code={code!r} is not in the calendar catalog ({', '.join(names())})"
    if not providers.knows(code):
        raise UnknownCalendarError(
            f"{known}, nor a code of the holidays library, as far as that is installed; choose one"
            " of these, or make a calendar with WorkdayCalendar.build."
        )
    if first is None or last is None:
        raise InvalidInputError(
            f"{known}, and how far its years are published is not known; give first and last."
        )
    calendar = providers.from_holidays(code, first, last)
    warnings.warn(
        f"calendar {code} is not frozen: its days are those of {calendar.provenance} as installed"
        f" now, and an upgrade may move them; freeze it with workday-assets freeze {code}.",
        UserWarning,
        stacklevel=3,
    )
    return calendar
