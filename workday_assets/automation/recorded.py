"""What the instance has recorded of an asset; nothing is kept in memory or a cursor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol, TypeVar

import dagster as dg
import sqlalchemy
from dagster._core.storage.dagster_run import FINISHED_STATUSES
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
    RUN_KEY_TAG,
)

#: A run that was failed because it was never launched carries this tag: nothing was tried.
NEVER_LAUNCHED_TAG = "workday/never_launched"
#: A run that left out days whose inputs were not there carries this tag: if it succeeded, nothing
#: was tried of them.
NOT_READY_TAG = "workday/not_ready"
V = TypeVar("V")


class DatedKeys(Protocol):
    """Partitions that are known by a date: workdays, or periods by their first date."""

    def day(self, partition_key: str) -> date:
        """The date that a key names; ValueError for a key of another format."""

    def get_partition_keys_in_range(self, partition_key_range: dg.PartitionKeyRange) -> list[str]:
        """The keys from start to end, both included."""


@dataclass(frozen=True)
class Recorded:
    """The state of one asset; a day is a workday, or the first date of a period.

    Attributes:
        materialized: by day, the number of its newest materialization in the event log; later
            ones have higher numbers, across all assets.
        planned: by materialized day, the number of the event that planned that materialization.
        in_flight: days with a run that has not ended, and that run's id.
        failed: days whose newest run ended without materializing them, with the number of runs
            that did so since the last materialization; cancelled runs count.
    """

    materialized: Mapping[date, int] = field(default_factory=dict)
    planned: Mapping[date, int] = field(default_factory=dict)
    in_flight: Mapping[date, str] = field(default_factory=dict)
    failed: Mapping[date, int] = field(default_factory=dict)


def read_recorded(
    instance: dg.DagsterInstance,
    asset_key: dg.AssetKey,
    dates: DatedKeys,
    unfinished: Sequence[dg.DagsterRun] = (),
) -> Recorded:
    """Read the state of `asset_key`, whoever launched its runs.

    Args:
        instance: where it is recorded.
        asset_key: the asset.
        dates: its partitions.
        unfinished: all runs that have not ended, see `unfinished_runs`: the events tell only the
            newest run of a day, and nothing of the runs of an asset that was wiped.
    """
    storage = instance.event_log_storage
    event = dg.DagsterEventType
    newest = storage.get_latest_storage_id_by_partition
    made = _dated(newest(asset_key, event.ASSET_MATERIALIZATION), dates)
    planned = _dated(newest(asset_key, event.ASSET_MATERIALIZATION_PLANNED), dates)
    day = dates.day
    in_flight = _days_of(unfinished, asset_key, dates)
    materialized = {day(key): number for key, number in made.items()}
    planned_days = {day(key): number for key, number in planned.items()}
    replanned = {key: made[key] for key in made if planned.get(key, 0) > made[key]}
    planned_days |= {day(k): n for k, n in _planned_before(instance, asset_key, replanned).items()}
    if all(number < made.get(key, 0) for key, number in planned.items()):
        return Recorded(materialized, planned_days, in_flight)
    tried = storage.get_latest_asset_partition_materialization_attempts_without_materializations
    attempts = _dated(tried(asset_key), dates)
    finished = _finished_runs(instance, {run_id for run_id, _ in attempts.values()})
    in_flight |= {
        day(key): run_id
        for key, (run_id, _) in attempts.items()
        if run_id in finished and not finished[run_id]
    }
    ended = {key: made.get(key, 0) for key, (run, _) in attempts.items() if finished.get(run)}
    failed = {day(key): n for key, n in _attempts(instance, asset_key, ended).items()}
    return Recorded(materialized, planned_days, in_flight, failed)


def _dated(found: Mapping[str, V], dates: DatedKeys) -> dict[str, V]:
    """Without the keys that name no date: anybody can record a materialization of any key."""
    dated = {}
    for key, value in found.items():
        with suppress(ValueError):
            dates.day(key)
            dated[key] = value
    return dated


def unfinished_runs(instance: dg.DagsterInstance) -> Sequence[dg.DagsterRun]:
    """The runs that have not ended."""
    statuses = [status for status in dg.DagsterRunStatus if status not in FINISHED_STATUSES]
    return instance.get_runs(dg.RunsFilter(statuses=statuses))


def _days_of(
    runs: Sequence[dg.DagsterRun],
    asset_key: dg.AssetKey,
    dates: DatedKeys,
) -> dict[date, str]:
    """By day, the run of `runs` that will make it; runs of whole jobs are known by events alone."""
    found: dict[date, str] = {}
    for run in runs:
        first = run.tags.get(ASSET_PARTITION_RANGE_START_TAG, run.tags.get(PARTITION_NAME_TAG))
        last = run.tags.get(ASSET_PARTITION_RANGE_END_TAG, first)
        if first is None or last is None or asset_key not in (run.asset_selection or ()):
            continue
        with suppress(ValueError):  # a key of another format is not one of our days
            keys = dates.get_partition_keys_in_range(dg.PartitionKeyRange(first, last))
            found |= {dates.day(key): run.run_id for key in keys}
    return found


def next_run_number(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> int:
    """A number above that of every run, of any status, that carries all of `tags`.

    It is their count, or more where runs were deleted: it never names a run key that is taken.
    """
    records = instance.get_run_records(dg.RunsFilter(tags=dict(tags)))
    keys = [record.dagster_run.tags.get(RUN_KEY_TAG, "") for record in records]
    numbers = [int(key.rpartition("#")[2]) for key in keys if key.rpartition("#")[2].isdigit()]
    return max(len(records), *(number + 1 for number in numbers), 0)


def _planned_before(
    instance: dg.DagsterInstance, asset_key: dg.AssetKey, made: Mapping[str, int]
) -> dict[str, int]:
    """For each key of `made`, the newest planned event before its materialization."""
    found: dict[str, int] = {}
    if made:
        events = SqlEventLogStorageTable.c
        planned = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
        for number, key in _rows(instance, asset_key, planned, 0, events.partition):
            if number < made.get(key, 0):
                found[key] = max(number, found.get(key, 0))
    return found


def runs_of_materializations(
    instance: dg.DagsterInstance, asset_key: dg.AssetKey, since: int
) -> dict[int, str]:
    """By number in the event log, the run of each materialization from number `since` on."""
    made = dg.DagsterEventType.ASSET_MATERIALIZATION
    return dict(_rows(instance, asset_key, made, since, SqlEventLogStorageTable.c.run_id))


def _rows(
    instance: dg.DagsterInstance,
    asset_key: dg.AssetKey,
    event: dg.DagsterEventType,
    since: int,
    column: sqlalchemy.Column[Any],
) -> list[tuple[int, str]]:
    """(number, `column`) of an asset's events from `since` on, read from an SQL event log.

    Dagster's own reader parses every event, which takes a second for a long history.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        return []
    events = SqlEventLogStorageTable.c
    query = sqlalchemy.select(events.id, column).where(
        events.asset_key == asset_key.to_string(),
        events.dagster_event_type == event.value,
        events.id >= since,
    )
    with storage.index_connection() as connection:
        return [(int(number), str(value)) for number, value in connection.execute(query)]


def _finished_runs(instance: dg.DagsterInstance, run_ids: Iterable[str]) -> dict[str, bool]:
    """For every run that still exists, whether it has ended."""
    ids = sorted(run_ids)
    records = instance.get_run_records(dg.RunsFilter(run_ids=ids)) if ids else []
    return {r.dagster_run.run_id: r.dagster_run.status in FINISHED_STATUSES for r in records}


def _attempts(
    instance: dg.DagsterInstance, asset_key: dg.AssetKey, since: Mapping[str, int]
) -> dict[str, int]:
    """For each key of `since`, how many runs planned it after that event and have ended."""
    if not since:
        return {}
    planned = instance.event_log_storage.get_event_records(
        dg.EventRecordsFilter(
            event_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
            asset_key=asset_key,
            asset_partitions=list(since),
        )
    )
    runs_of: dict[str, set[str]] = defaultdict(set)
    for record in planned:
        key = record.partition_key
        if key is not None and record.storage_id > since[key]:
            runs_of[key].add(record.run_id)
    run_ids = sorted(set().union(*runs_of.values()))
    runs = instance.get_runs(dg.RunsFilter(run_ids=run_ids)) if run_ids else []
    tried = {run.run_id for run in runs if _has_tried(run)}
    # A day of which nothing was tried is not failed: it is asked for again.
    counts = {key: len(found & tried) for key, found in runs_of.items()}
    return {key: count for key, count in counts.items() if count}


def _has_tried(run: dg.DagsterRun) -> bool:
    """Whether a run has ended and tried to make the partitions that it did not materialize."""
    left_out = run.status == dg.DagsterRunStatus.SUCCESS and NOT_READY_TAG in run.tags
    return run.status in FINISHED_STATUSES and NEVER_LAUNCHED_TAG not in run.tags and not left_out
