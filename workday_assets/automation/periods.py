"""Dagster's own weeks, months, quarters and years, each known by its first date."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.partitions import WorkdayPartitionsDefinition


@dataclass(frozen=True, slots=True)
class Period:
    """One partition: the dates ``first <= date < past``."""

    key: str
    first: date
    past: date


class Periods:
    """The partitions of a time window definition that exist at an instant, oldest first.

    It answers for periods what `WorkdayPartitionsDefinition` answers for workdays, so that a graph
    can hold both: a partition is known by its first date.

    Args:
        definition: its windows begin and end with dates, see `has_whole_dates`.
        as_of: "now", aware.
    """

    def __init__(self, definition: dg.TimeWindowPartitionsDefinition, as_of: datetime) -> None:
        self.definition = definition
        with partition_loading_context(as_of):
            keys = definition.get_partition_keys()
            windows = [definition.time_window_for_partition_key(key) for key in keys]
        self.all = [
            Period(key, window.start.date(), window.end.date())
            for key, window in zip(keys, windows, strict=True)
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Periods) and other.definition == self.definition

    def __hash__(self) -> int:
        return hash(self.definition)

    @property
    def timezone(self) -> str:
        """The zone of the dates."""
        return str(self.definition.timezone)

    @property
    def fmt(self) -> str:
        """`strftime` format of the keys."""
        return str(self.definition.fmt)

    @cached_property
    def _firsts(self) -> list[date]:
        return [period.first for period in self.all]

    @cached_property
    def _first_of(self) -> dict[str, date]:
        return {period.key: period.first for period in self.all}

    def day(self, partition_key: str) -> date:
        """The first date of the period that a key names.

        Raises:
            ValueError: the key is not in the definition's format.
        """
        known = self._first_of.get(partition_key)
        if known is not None:
            return known
        return datetime.strptime(partition_key, self.fmt).date()  # noqa: DTZ007 - a local date

    def starting(self, day: date) -> Period | None:
        """The period whose first date is `day`."""
        index = bisect_left(self._firsts, day)
        found = self.all[index] if index < len(self.all) else None
        return found if found is not None and found.first == day else None

    def index(self, day: date) -> int:
        """The place, from 0, of the period that starts with `day`."""
        return bisect_left(self._firsts, day)

    def get_partition_keys_in_range(self, partition_key_range: dg.PartitionKeyRange) -> list[str]:
        """The keys from start to end, both included."""
        first, last = self.day(partition_key_range.start), self.day(partition_key_range.end)
        return [period.key for period in self.all if first <= period.first <= last]

    def days_around(self, day: date, start_offset: int, end_offset: int) -> list[date]:
        """The first dates from `start_offset` to `end_offset` periods after that of `day`."""
        index = bisect_left(self._firsts, day)
        if self.starting(day) is None:
            return []
        return self._firsts[max(index + start_offset, 0) : max(index + end_offset + 1, 0)]

    def workdays(self, day: date, upstream: WorkdayPartitionsDefinition) -> list[date] | None:
        """The partitions of `upstream` inside the period that starts with `day`, by bisection.

        `None` where the two have different zones, so that dates alone do not tell.
        """
        period = self.starting(day)
        if upstream.timezone != self.timezone or period is None:
            return None
        first = max(period.first, upstream.first_date)
        past = min(period.past, upstream.end.date() if upstream.end else period.past)
        return list(upstream.calendar.workdays(first, past)) if first < past else []


def has_whole_dates(definition: dg.PartitionsDefinition | None) -> bool:
    """Whether every partition is a window from the start of one local date to that of another."""
    if not isinstance(definition, dg.TimeWindowPartitionsDefinition):
        return False
    cron = definition.cron_schedule
    return cron.startswith(("0 0 ", "@")) and cron != "@hourly"
