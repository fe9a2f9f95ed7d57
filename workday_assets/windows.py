"""Midnight-to-midnight windows of dates in a zone, found by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

import dagster as dg

from workday_assets.timetable import first_instant, require_zone


class DailyWindows:
    """One window per date, from its first instant to that of the next date, oldest first.

    Args:
        days: dates, ascending.
        timezone: IANA name of their zone.

    Attributes:
        starts: first instants as seconds since the epoch.
        ends: ends, excluded, likewise.
    """

    def __init__(self, days: Sequence[date], timezone: str) -> None:
        self._zone = require_zone(timezone)
        self._made: dict[int, dg.TimeWindow] = {}
        self.starts = [first_instant(day, timezone).timestamp() for day in days]
        after = (day + timedelta(days=1) for day in days)
        self.ends = [first_instant(day, timezone).timestamp() for day in after]

    def __getitem__(self, index: int) -> dg.TimeWindow:
        window = self._made.get(index)
        if window is None:
            start = datetime.fromtimestamp(self.starts[index], self._zone)
            window = dg.TimeWindow(start, datetime.fromtimestamp(self.ends[index], self._zone))
            self._made[index] = window
        return window

    def starting_from(self, timestamp: float) -> Iterator[dg.TimeWindow]:
        """Those that start at an instant or later, oldest first."""
        for index in range(bisect_left(self.starts, timestamp), len(self.starts)):
            yield self[index]

    def ended_by(self, timestamp: float) -> Iterator[dg.TimeWindow]:
        """Those that end at an instant or before, newest first."""
        for index in reversed(range(bisect_right(self.ends, timestamp))):
            yield self[index]
