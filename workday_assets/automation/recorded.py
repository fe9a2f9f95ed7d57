"""What the instance has recorded of an asset's workdays; nothing is kept in memory or a cursor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import dagster as dg
import sqlalchemy
from dagster._core.storage.dagster_run import FINISHED_STATUSES
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.tags import RUN_KEY_TAG

from workday_assets.partitions import WorkdayPartitionsDefinition


@dataclass(frozen=True)
class Recorded:
    """The state of one asset.

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
    partitions_def: WorkdayPartitionsDefinition,
) -> Recorded:
    """Read the state of `asset_key`, whoever launched its runs."""
    storage = instance.event_log_storage
    event = dg.DagsterEventType
    made = storage.get_latest_storage_id_by_partition(asset_key, event.ASSET_MATERIALIZATION)
    planned = storage.get_latest_storage_id_by_partition(
        asset_key, event.ASSET_MATERIALIZATION_PLANNED
    )
    day = partitions_def.day
    materialized = {day(key): number for key, number in made.items()}
    planned_days = {day(key): number for key, number in planned.items()}
    replanned = {key: made[key] for key in made if planned.get(key, 0) > made[key]}
    planned_days |= {day(k): n for k, n in _planned_before(instance, asset_key, replanned).items()}
    if all(number < made.get(key, 0) for key, number in planned.items()):
        return Recorded(materialized, planned_days)
    attempts = storage.get_latest_asset_partition_materialization_attempts_without_materializations(
        asset_key
    )
    finished = _finished_runs(instance, {run_id for run_id, _ in attempts.values()})
    in_flight = {
        day(key): run_id
        for key, (run_id, _) in attempts.items()
        if run_id in finished and not finished[run_id]
    }
    ended = {key: made.get(key, 0) for key, (run, _) in attempts.items() if finished.get(run)}
    failed = {day(key): n for key, n in _attempts(instance, asset_key, ended).items()}
    return Recorded(materialized, planned_days, in_flight, failed)


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
    finished = _finished_runs(instance, set().union(*runs_of.values()))
    return {key: sum(finished.get(run, False) for run in runs) for key, runs in runs_of.items()}
