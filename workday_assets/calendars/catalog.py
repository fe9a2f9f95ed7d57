"""The calendars that ship, by name, as frozen files."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from workday_assets.calendars import tables
from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.errors import UnknownCalendarError

_DATA = files("workday_assets.calendars") / "data"
_ENDING = ".csv"


def names() -> list[str]:
    """The names in the catalog, in alphabetical order."""
    return sorted(
        entry.name.removesuffix(_ENDING)
        for entry in _DATA.iterdir()
        if entry.name.endswith(_ENDING)
    )


@lru_cache
def load(name: str) -> WorkdayCalendar:
    """The frozen calendar of that name.

    Raises:
        UnknownCalendarError: the catalog has none.
    """
    if name not in names():
        raise UnknownCalendarError(
            f"code={name!r} is not in the calendar catalog; choose from {', '.join(names())}, or"
            " make one with WorkdayCalendar.build."
        )
    file = _DATA / f"{name}{_ENDING}"
    return tables.loads(file.read_text("utf-8"), file)
