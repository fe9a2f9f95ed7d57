"""Dagster's own class as fast as ours, in the web server and the daemon, where it stands for ours.

They rebuild a `WorkdayPartitionsDefinition` as a plain `TimeWindowPartitionsDefinition`, which
hashes the text of all its exclusions in every cached call and goes through all of them in every
question. With the 1,900 dates of a calendar with make-up workdays the first page of an asset's
partitions takes a minute. `speed_up` gives four methods of the plain class the same answers from a
table that is made once; everything else of it is built on these. See
``docs/upstream/exclusions.md``.

It leaves other definitions alone, does nothing in another release of Dagster than the one that it
was compared with, and nothing at all where the variable `WORKDAY_ASSETS_HOST_SPEED` is 0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import dagster as dg
from dagster._core.definitions.timestamp import TimestampWithTimezone

from workday_assets.timetable import first_instant
from workday_assets.windows import DailyWindows

SWITCH = "WORKDAY_ASSETS_HOST_SPEED"
#: Another release is left as it is until the tests have compared every answer with its own.
_COMPARED_WITH = "1.13.27"
_CRON = re.compile(r"0 0 \* (\*|[\d,]+) ([\d,]+)")
_TABLE, _HASH = "_workday_assets_table", "_workday_assets_hash"

_Base = dg.TimeWindowPartitionsDefinition
#: Dagster's own methods, by name.
ORIGINALS: dict[str, Callable[..., Any]] = {
    name: getattr(_Base, name)
    for name in (
        "__hash__",
        "_iterate_time_windows",
        "_reverse_iterate_time_windows",
        "is_window_start_excluded",
    )
}


def speed_up() -> None:
    """Replace the four methods in this process; again does nothing more."""
    if os.environ.get(SWITCH) != "0" and dg.__version__ == _COMPARED_WITH:
        for name, function in FASTER.items():
            setattr(_Base, name, function)


class _Table:
    """The windows of a definition, and the starts of those that it excludes."""

    def __init__(self, windows: DailyWindows, excluded: frozenset[float]) -> None:
        self.windows = windows
        self.excluded = excluded


def _table(definition: _Base) -> _Table | None:
    """The table of a daily definition of workdays; `None` for any other."""
    if type(definition) is not _Base:  # a subclass has methods of its own
        return None
    if _TABLE not in definition.__dict__:
        definition.__dict__[_TABLE] = _make_table(definition)
    found: _Table | None = definition.__dict__[_TABLE]
    return found


@lru_cache(maxsize=128)  # the web server rebuilds its definitions, equal ones, for every request
def _make_table(definition: _Base) -> _Table | None:
    start, end, zone = definition.start, definition.end, definition.timezone
    exclusions = definition.exclusions or ()
    crons = [_CRON.fullmatch(each) for each in exclusions if isinstance(each, str)]
    daily = definition.cron_schedule == "0 0 * * *" and definition.end_offset == 0
    if not (exclusions and daily and end and all(crons)):
        return None
    dates = [start.date() + timedelta(days=n) for n in range((end.date() - start.date()).days + 1)]
    instants = [first_instant(day, zone).timestamp() for day in dates]
    whole = (instants[0], instants[-1]) == (start.timestamp(), end.timestamp())
    if not whole or len(set(instants)) < len(instants):  # a zone can skip a date
        return None
    stamps = {each.timestamp for each in exclusions if isinstance(each, TimestampWithTimezone)}
    pairs = {pair for cron in crons if cron for pair in _pairs(cron)}
    days, excluded = [], set()
    for day, instant in zip(dates[:-1], instants, strict=False):
        if instant in stamps or (day.month, day.isoweekday() % 7) in pairs:
            excluded.add(instant)
        else:
            days.append(day)
    return _Table(DailyWindows(days, zone), frozenset(excluded))


def _pairs(cron: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The (month, weekday) pairs that a cron string names; weekdays count from Sunday."""
    months = range(1, 13) if cron[1] == "*" else map(int, cron[1].split(","))
    weekdays = [int(weekday) % 7 for weekday in cron[2].split(",")]
    yield from ((month, weekday) for month in months for weekday in weekdays)


def _hash(self: _Base) -> int:
    if type(self) is not _Base:
        return int(ORIGINALS["__hash__"](self))
    if _HASH not in self.__dict__:
        self.__dict__[_HASH] = ORIGINALS["__hash__"](self)
    return int(self.__dict__[_HASH])


def _iterate(
    self: _Base, start_timestamp: float, ignore_exclusions: bool = False
) -> Iterator[dg.TimeWindow]:
    original, table = ORIGINALS["_iterate_time_windows"], _table(self)
    if table is None or ignore_exclusions or start_timestamp < self.start_timestamp:
        yield from original(self, start_timestamp, ignore_exclusions)
        return
    yield from table.windows.starting_from(start_timestamp)
    yield from original(self, max(start_timestamp, self.end_timestamp or start_timestamp))


def _reverse_iterate(
    self: _Base, end_timestamp: float, ignore_exclusions: bool = False
) -> Iterator[dg.TimeWindow]:
    original, table = ORIGINALS["_reverse_iterate_time_windows"], _table(self)
    if table is None or ignore_exclusions or end_timestamp > (self.end_timestamp or 0):
        yield from original(self, end_timestamp, ignore_exclusions)
        return
    yield from table.windows.ended_by(end_timestamp)
    yield from original(self, min(end_timestamp, self.start_timestamp))


def _is_excluded(self: _Base, window_start: datetime) -> bool:
    table, timestamp = _table(self), window_start.timestamp()
    if table is None or not self.start_timestamp <= timestamp < (self.end_timestamp or 0):
        return bool(ORIGINALS["is_window_start_excluded"](self, window_start))
    return timestamp in table.excluded


#: What `speed_up` puts in their place.
FASTER: dict[str, Callable[..., Any]] = {
    "__hash__": _hash,
    "_iterate_time_windows": _iterate,
    "_reverse_iterate_time_windows": _reverse_iterate,
    "is_window_start_excluded": _is_excluded,
}
