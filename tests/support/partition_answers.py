"""Definitions of many calendars and zones, and what every public method of one answers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import dagster as dg
import pendulum
from dagster._core.definitions.partitions.snap import TimeWindowPartitionsSnap
from dagster._core.definitions.partitions.subset import TimeWindowPartitionsSubset
from dagster._serdes import deserialize_value, serialize_value

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition

XMAS = WorkdayCalendar.build(
    "XMAS",
    "2024-12-01",
    "2025-01-31",
    holidays={"2024-12-25": "Christmas Day", "2025-01-01": "New Year's Day"},
)
SATURDAYS = WorkdayCalendar.build(
    "SATURDAYS",
    "2024-01-01",
    "2024-12-31",
    holidays={"2024-01-22": "Ram Mandir", "2024-12-25": "Christmas"},
    extra_workdays={"2024-01-20": "make-up day", "2024-05-18": "special session"},
)
XECB = WorkdayCalendar.named("XECB")
XTAE = WorkdayCalendar.build(
    "XTAE",
    "2025-12-01",
    "2026-01-31",
    weekend=[(None, (4, 5)), ("2026-01-05", (5, 6))],
)
EVERY = WorkdayCalendar.build("EVERY", "2018-01-01", "2024-12-31", weekend=())
SUNDAYS_OFF = WorkdayCalendar.build(
    "SUNDAYS_OFF", "2018-01-01", "2024-12-31", weekend=(6,), holidays={"2018-11-15": "Republic"}
)


def host(definition: WorkdayPartitionsDefinition) -> dg.TimeWindowPartitionsDefinition:
    """What the webserver and the daemon rebuild, through the snapshot's JSON."""
    snap = deserialize_value(
        serialize_value(TimeWindowPartitionsSnap.from_def(definition)), TimeWindowPartitionsSnap
    )
    rebuilt = snap.get_partitions_definition()
    assert type(rebuilt) is dg.TimeWindowPartitionsDefinition
    return rebuilt


DEFINITIONS = {
    "xmas-new-york": WorkdayPartitionsDefinition(XMAS, "America/New_York"),
    "saturdays-kolkata": WorkdayPartitionsDefinition(SATURDAYS, "Asia/Kolkata"),
    "xecb-berlin": WorkdayPartitionsDefinition(XECB, "Europe/Berlin", start="2022-01-01"),
    "xtae-jerusalem": WorkdayPartitionsDefinition(XTAE, "Asia/Jerusalem"),
    "every-cairo": WorkdayPartitionsDefinition(EVERY, "Africa/Cairo", start="2023-01-01"),
    "every-havana": WorkdayPartitionsDefinition(EVERY, "America/Havana", start="2023-06-01"),
    "sundays-sao-paulo": WorkdayPartitionsDefinition(
        SUNDAYS_OFF, "America/Sao_Paulo", start="2018-06-01", end="2019-06-01"
    ),
    "format": WorkdayPartitionsDefinition(XMAS, "UTC", fmt="%Y%m%d"),
}


def instants(definition: WorkdayPartitionsDefinition) -> list[datetime]:
    """Nows around the definition: before, at edges of days, inside, and after its end."""
    first, last = definition.first_date, definition.last_date
    step = max((last - first).days // 9, 1)
    days = [first + timedelta(days=n) for n in range(-3, (last - first).days + 6, step)]
    zone = definition.timezone
    return [
        pendulum.datetime(day.year, day.month, day.day, hour, minute, tz=zone)
        for day in days
        for hour, minute in ((0, 0), (0, 1), (12, 0))
    ]


def window(found: dg.TimeWindow | None) -> tuple[float, float] | None:
    """A window as timestamps: a wall time in a gap can be written in two ways."""
    return None if found is None else (found.start.timestamp(), found.end.timestamp())


#: A holiday, no date, dates before and after every definition, and a workday written otherwise.
ODD_KEYS = (
    "2024-12-25",
    "x",
    "",
    "1970-01-01",
    "2031-01-02",
    "2024-12-2",
    "20241202",
    "2024-12-02",
)


def keys_and_windows(definition: dg.TimeWindowPartitionsDefinition) -> list[Any]:
    """What every public method without arguments answers, keys in full."""
    keys = list(definition.get_partition_keys())
    some = keys[:: max(len(keys) // 12, 1)]
    subset = definition.subset_with_partition_keys(some)
    return [
        keys,
        definition.get_first_partition_key(),
        definition.get_last_partition_key(),
        definition.get_num_partitions(),
        window(definition.get_first_partition_window()),
        window(definition.get_last_partition_window()),
        [window(definition.time_window_for_partition_key(key)) for key in some],
        [definition.start_time_for_partition_key(key).timestamp() for key in some],
        [definition.end_time_for_partition_key(key).timestamp() for key in some],
        [definition.get_next_partition_key(key) for key in some],
        [definition.has_partition_key(key) for key in (*some, *ODD_KEYS)],
        [
            definition.get_partition_key_for_timestamp(
                definition.start_time_for_partition_key(key).timestamp()
            )
            for key in some
        ],
        list(definition.get_partition_keys_in_range(dg.PartitionKeyRange(some[0], some[-1])))
        if some
        else [],
        sorted(subset.get_partition_keys()),
        [windows_of(definition, chosen) for chosen in (some, keys, keys[1:9] + keys[10:12], ["x"])],
        sorted(definition.subset_with_all_partitions().get_partition_keys()),
        sorted(definition.filter_valid_partition_keys({*some, "2024-12-28"})),
        definition.get_partition_keys_between_indexes(1, 4),
        [_around(definition, key) for key in some],
    ]


def windows_of(definition: dg.TimeWindowPartitionsDefinition, keys: list[str]) -> Any:
    """The windows and the count of a subset of keys, in any order and twice; or the error."""
    try:
        subset = definition.subset_with_partition_keys(iter([*reversed(keys), *keys]))
    except ValueError:
        return ValueError
    assert isinstance(subset, TimeWindowPartitionsSubset)
    return subset.num_partitions, subset.included_time_windows


def _around(definition: dg.TimeWindowPartitionsDefinition, key: str) -> list[Any]:
    """What the methods about instants answer near a key: its start, noon, the weekend after it."""
    start = definition.start_time_for_partition_key(key)
    week = dg.TimeWindow(start, start + timedelta(days=7))
    wide = dg.TimeWindow(start - timedelta(days=40), start + timedelta(days=40))
    answers: list[Any] = [
        list(definition.get_partition_keys_in_time_window(wide)),
        definition.has_any_partitions_in_window(dg.TimeWindow(start, start)),
        definition.has_any_partitions_in_window(dg.TimeWindow(week.end, week.start)),
        definition.has_any_partitions_in_window(
            dg.TimeWindow(start + timedelta(hours=1), start + timedelta(hours=71))
        ),
        list(definition.get_partition_keys_in_time_window(dg.TimeWindow(week.end, week.start))),
        definition.get_num_partitions_in_window(week),
        definition.has_any_partitions_in_window(week),
        list(definition.get_partition_keys_in_time_window(week)),
        sorted(definition.get_partition_subset_in_time_window(week).get_partition_keys()),
    ]
    noon, end = start + timedelta(hours=12), definition.end_time_for_partition_key(key)
    answers += [  # of open instants; closed ones are rounded otherwise here, see below
        definition.get_partition_key_for_timestamp(start.timestamp()),
        definition.get_partition_key_for_timestamp(noon.timestamp()),
        definition.get_partition_key_for_timestamp(noon.timestamp(), end_closed=True),
        definition.get_partition_key_for_timestamp(end.timestamp(), end_closed=True),
    ]
    for hours in (0, 12, 24, 60, 75):
        instant = start + timedelta(hours=hours)
        answers += [
            window(definition.get_prev_partition_window(instant)),
            window(definition.get_next_partition_window(instant)),
        ]
    return answers
