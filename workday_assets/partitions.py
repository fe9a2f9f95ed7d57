"""A partitions definition whose keys are the workdays of a calendar.

The webserver and the daemon rebuild it as Dagster's plain `TimeWindowPartitionsDefinition` from
cron, start, end, timezone, format and exclusions, so all that decides a key or a window is there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.subset import PartitionsSubset, TimeWindowPartitionsSubset
from dagster._core.definitions.partitions.utils.time_window import PersistedTimeWindow
from dagster._core.definitions.timestamp import TimestampWithTimezone

from workday_assets.calendars import WorkdayCalendar
from workday_assets.calendars.conventions import parse_date
from workday_assets.errors import InvalidInputError, OutOfBoundsError
from workday_assets.exclusions import exclusions, timestamp
from workday_assets.timetable import require_existing_days, require_zone
from workday_assets.windows import DailyWindows
from workday_assets.zones import warn_of_other_zone_files

if TYPE_CHECKING:
    from dagster._core.instance import DynamicPartitionsStore

_DAILY = "0 0 * * *"


class WorkdayPartitionsDefinition(dg.TimeWindowPartitionsDefinition):
    """One partition per workday, from midnight to midnight of its local date.

    Args:
        calendar: the workdays; past its `last_date` there are no partitions.
        timezone: IANA name of the zone of the dates; there is no default.
        start: first date that can be a partition, included; by default the calendar's first date.
        end: the date before which partitions end, excluded; by default the day after the
            calendar's last date.
        fmt: `strftime` format of the keys; it must tell any two dates apart.

    Raises:
        InvalidInputError: a missing or unknown timezone, an `end` not after `start`, a `fmt` from
            which the date cannot be read back.
        OutOfBoundsError: `start` or `end` is outside the calendar's bounds.
    """

    calendar: WorkdayCalendar

    def __new__(  # noqa: D102 - the class says it
        cls,
        calendar: WorkdayCalendar,
        timezone: str,
        start: date | str | None = None,
        end: date | str | None = None,
        fmt: str = "%Y-%m-%d",
    ) -> Self:
        require_zone(timezone)
        require_existing_days(calendar, timezone)
        first = calendar.first_date if start is None else parse_date(start, "start")
        past = calendar.last_date + timedelta(days=1) if end is None else parse_date(end, "end")
        _check_range(calendar, first, past)
        warn_of_other_zone_files(timezone, first, past)
        _check_format(fmt)
        self = super().__new__(
            cls,
            start=timestamp(first, timezone),
            end=timestamp(past, timezone),
            timezone=timezone,
            fmt=fmt,
            cron_schedule=_DAILY,
            exclusions=exclusions(calendar, timezone, first, past) or None,
        )
        self.calendar = calendar
        return self  # type: ignore[no-any-return]  # Dagster's record types are dynamic

    def __reduce__(self) -> tuple[Any, ...]:
        past = self.last_date + timedelta(days=1)
        return type(self), (self.calendar, self.timezone, self.first_date, past, self.fmt)

    @property
    def first_date(self) -> date:
        """The first date that can be a partition, included."""
        return self.start.date()

    @property
    def last_date(self) -> date:
        """The last date that can be a partition, included."""
        assert self.end is not None  # noqa: S101 - the constructor always sets it
        return (self.end - timedelta(days=1)).date()

    def days_around(self, day: date, start_offset: int, end_offset: int) -> list[date]:
        """The partitions' dates from `start_offset` to `end_offset` workdays after `day`.

        Both ends are included; negative offsets are workdays before it. Days that are no partitions
        are left out; a closed `day` has none around it.
        """
        index = bisect_left(self._days, day)
        if index == len(self._days) or self._days[index] != day:
            return []
        return self._days[max(index + start_offset, 0) : max(index + end_offset + 1, 0)]

    def day(self, partition_key: str) -> date:
        """The local date that a key names.

        Raises:
            ValueError: the key is not in the definition's format.
        """
        index = self._index_of.get(partition_key)
        if index is not None:
            return self._days[index]
        return datetime.strptime(partition_key, self.fmt).date()  # noqa: DTZ007 - a local date

    @property
    def first_workday(self) -> date:
        """The first partition's date."""
        return self._days[0]

    # What follows is the base class's answer, faster, but for closed days: those are refused.

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return int(super().__hash__())  # type: ignore[no-untyped-call]

    @cached_property
    def _days(self) -> list[date]:
        return list(self.calendar.workdays(self.first_date, self.last_date + timedelta(days=1)))

    @cached_property
    def _keys(self) -> list[str]:
        return [day.strftime(self.fmt) for day in self._days]

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {key: index for index, key in enumerate(self._keys)}

    @cached_property
    def _windows(self) -> DailyWindows:
        return DailyWindows(self._days, self.timezone)

    def _count(self) -> int:
        """How many partitions have ended "now"."""
        return bisect_right(self._windows.ends, self._get_current_timestamp())

    def get_partition_keys(
        self,
        current_time: datetime | None = None,
        dynamic_partitions_store: DynamicPartitionsStore | None = None,
    ) -> list[str]:
        """The keys of the workdays that have ended, oldest first.

        Args:
            current_time: "now"; by default the clock's.
            dynamic_partitions_store: not used.
        """
        with partition_loading_context(current_time, dynamic_partitions_store):
            return self._keys[: self._count()]

    def has_partition_key(self, partition_key: str) -> bool:
        """Whether a key is that of a workday that has ended."""
        index = self._index_of.get(partition_key)
        return index is not None and index < self._count()

    def get_partition_keys_in_time_window(  # type: ignore[override]  # the base's is cached
        self, time_window: dg.TimeWindow
    ) -> Sequence[str]:
        """The keys of the workdays that begin in a window, start included, end excluded."""
        start, end = time_window.start.timestamp(), time_window.end.timestamp()
        starts = self._windows.starts
        if self.start_timestamp <= start and end <= self._windows.ends[-1]:
            return self._keys[bisect_left(starts, start) : bisect_left(starts, end)]
        keys: Sequence[str] = super().get_partition_keys_in_time_window(time_window)
        return keys

    def _iterate_time_windows(
        self, start_timestamp: float, ignore_exclusions: bool = False
    ) -> Iterator[dg.TimeWindow]:
        if ignore_exclusions or start_timestamp < self.start_timestamp:
            yield from super()._iterate_time_windows(start_timestamp, ignore_exclusions)
            return
        yield from self._windows.starting_from(start_timestamp)
        past = max(start_timestamp, self.end_ts.timestamp if self.end_ts else start_timestamp)
        yield from super()._iterate_time_windows(past)

    def _reverse_iterate_time_windows(
        self, end_timestamp: float, ignore_exclusions: bool = False
    ) -> Iterator[dg.TimeWindow]:
        if ignore_exclusions or (self.end_ts and end_timestamp > self.end_ts.timestamp):
            yield from super()._reverse_iterate_time_windows(end_timestamp, ignore_exclusions)
            return
        yield from self._windows.ended_by(end_timestamp)
        yield from super()._reverse_iterate_time_windows(min(end_timestamp, self.start_timestamp))

    def is_window_start_excluded(self, window_start: datetime) -> bool:
        """Whether `window_start`, midnight of a local date, begins a closed day."""
        day = window_start.astimezone(require_zone(self.timezone)).date()
        if self.calendar.first_date <= day <= self.calendar.last_date:
            return not self.calendar.is_workday(day)
        return bool(super().is_window_start_excluded(window_start))

    def start_time_for_partition_key(self, partition_key: str) -> datetime:
        """The first instant of a key's date.

        Raises:
            ClosedDayError: the key is a closed day; the base class answers for another day.
        """
        self._require_open(partition_key)
        return super().start_time_for_partition_key(partition_key)

    def time_window_for_partition_key(  # type: ignore[override]  # the base's is cached
        self, partition_key: str
    ) -> dg.TimeWindow:
        """The window of a key, start included, end excluded.

        Raises:
            ClosedDayError: the key is a closed day; the base class answers for another day.
        """
        index = self._index_of.get(partition_key)
        if index is not None:
            return self._windows[index]
        self._require_open(partition_key)
        return super().time_window_for_partition_key(partition_key)

    def time_windows_for_partition_keys(  # type: ignore[override]  # the base's is cached
        self, partition_keys: frozenset[str], validate: bool = True
    ) -> Sequence[dg.TimeWindow]:
        """The windows of keys, of which subsets are made.

        Raises:
            ClosedDayError: a key is a closed day; the base class answers for another day.
        """
        known = [self._index_of[key] for key in partition_keys if key in self._index_of]
        count = self._count() if validate else len(self._days)
        if len(known) == len(partition_keys) and count > 0:
            return [self._windows[index] for index in sorted(known) if index < count]
        for partition_key in partition_keys:
            self._require_open(partition_key)
        windows: Sequence[dg.TimeWindow] = super().time_windows_for_partition_keys(
            partition_keys, validate
        )
        return windows

    def subset_with_partition_keys(self, partition_keys: Iterable[str]) -> PartitionsSubset:
        """The keys of workdays that have ended, as one window for each run of workdays.

        Raises:
            ClosedDayError: a key is a closed day; the base class answers for another day.
        """
        keys, count = frozenset(partition_keys), self._count()
        known = sorted(self._index_of[key] for key in keys if key in self._index_of)
        if len(known) < len(keys) or count == 0:
            return super().subset_with_partition_keys(keys)
        ended = known[: bisect_left(known, count)]
        inner = {index for index, after in pairwise(ended) if after == index + 1}
        lasts = [index for index in ended if index not in inner]
        firsts = [index for index in ended if index - 1 not in inner]
        windows = [
            PersistedTimeWindow(
                TimestampWithTimezone(self._windows.starts[first], self.timezone),
                TimestampWithTimezone(self._windows.ends[last], self.timezone),
            )
            for first, last in zip(firsts, lasts, strict=True)
        ]
        return TimeWindowPartitionsSubset(self, len(ended), windows)

    def get_partition_keys_in_range(self, partition_key_range: dg.PartitionKeyRange) -> list[str]:
        """The keys from start to end, both included; ends that are closed days are cut off.

        Raises:
            ClosedDayError: there is no workday in the range. A run of it would otherwise be of no
                partition, and Dagster would record that as a materialization of the whole asset.
            InvalidInputError: the range is reversed or not inside the definition.
        """
        first = self.day(partition_key_range.start)
        last = self.day(partition_key_range.end)
        if first < self.first_date or last > self.last_date or last < first:
            raise InvalidInputError(
                f"partition_key_range={partition_key_range.start}..{partition_key_range.end} is"
                f" reversed or outside {self.first_date} to {self.last_date}; give a range inside."
            )
        keys = self._keys[bisect_left(self._days, first) : bisect_right(self._days, last)]
        if not keys:
            self._require_open(partition_key_range.start)
        return keys

    def get_partition_key_for_timestamp(self, timestamp: float, end_closed: bool = False) -> str:
        """The key at an instant: on a closed day the next one, or the one before for an end.

        The base class answers with the workday before for both, so that a month that begins on a
        closed day would also be fed by the last workday of the month before. Roll-ups are exact
        with this one; the host, which has the base class, keeps its answer. After the last workday
        the next one is a date that is no partition: a period there is not fed by the last workday.

        Args:
            timestamp: seconds since the epoch.
            end_closed: whether the instant ends a window: midnight then belongs to the day before.
        """
        if end_closed:
            index = bisect_left(self._windows.starts, timestamp) - 1
        elif timestamp >= self._windows.ends[-1]:
            local = datetime.fromtimestamp(timestamp, require_zone(self.timezone))
            midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
            following = next(iter(super()._iterate_time_windows(midnight.timestamp())))
            return following.start.strftime(self.fmt)
        else:
            index = bisect_right(self._windows.ends, timestamp)
        inside = self.start_timestamp <= timestamp <= self._windows.ends[-1]
        if inside and 0 <= index < len(self._keys):
            return self._keys[index]
        return str(super().get_partition_key_for_timestamp(timestamp, end_closed))

    def _require_open(self, partition_key: str) -> None:
        day = self.day(partition_key)
        if self.first_date <= day <= self.last_date and not self.calendar.is_workday(day):
            self.calendar.roll(day, "raise")


def _check_range(calendar: WorkdayCalendar, first: date, past: date) -> None:
    last = past - timedelta(days=1)
    for parameter, day in (("start", first), ("end", last)):
        if not calendar.first_date <= day <= calendar.last_date:
            raise OutOfBoundsError(
                parameter, day, calendar.name, calendar.first_date, calendar.last_date
            )
    if last < first or calendar.count(first, past) == 0:
        raise InvalidInputError(
            f"start={first} and end={past} (excluded) hold no workday of {calendar.name}; give a"
            " range with at least one."
        )


def _check_format(fmt: str) -> None:
    day = date(2023, 11, 29)  # month, day and year cannot be taken for one another
    try:
        parsed = datetime.strptime(day.strftime(fmt), fmt).date()  # noqa: DTZ007 - a local date
    except ValueError:
        parsed = None
    if parsed != day:
        raise InvalidInputError(
            f"fmt={fmt!r} does not tell one date from another; use year, month and day, for"
            " example '%Y-%m-%d'."
        )
