"""What the instance has recorded of an asset's workdays; nothing is kept in memory or a cursor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

import dagster as dg
from dagster._core.storage.dagster_run import FINISHED_STATUSES, RunRecord

from workday_assets.partitions import WorkdayPartitionsDefinition


@dataclass(frozen=True)
class Recorded:
    """The state of one asset.

    Attributes:
        done: days with a materialization.
        in_flight: days with a run that has not ended, and that run's id.
        failed: days whose newest run ended without materializing them, with the number of runs
            that did; cancelled runs count.
    """

    done: frozenset[date] = frozenset()
    in_flight: Mapping[date, str] = field(default_factory=dict)
    failed: Mapping[date, int] = field(default_factory=dict)


def read_recorded(
    instance: dg.DagsterInstance,
    asset_key: dg.AssetKey,
    partitions_def: WorkdayPartitionsDefinition,
) -> Recorded:
    """Read the state of `asset_key`, whoever launched its runs."""
    storage = instance.event_log_storage
    day = partitions_def.day
    attempts = storage.get_latest_asset_partition_materialization_attempts_without_materializations(
        asset_key
    )
    finished = _finished_runs(instance, {run_id for run_id, _ in attempts.values()})
    in_flight = {
        day(key): run_id
        for key, (run_id, _) in attempts.items()
        if run_id in finished and not finished[run_id]
    }
    ended = [key for key, (run_id, _) in attempts.items() if finished.get(run_id, False)]
    done = frozenset(day(key) for key in instance.get_materialized_partitions(asset_key))
    missing = [key for key in ended if day(key) not in done]
    failed = {day(key): count for key, count in _attempts(instance, asset_key, missing).items()}
    return Recorded(done, in_flight, failed)


def earlier_runs(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> int:
    """The number of runs, of any status, that carry all of `tags`."""
    return instance.get_runs_count(dg.RunsFilter(tags=dict(tags)))


def _finished_runs(instance: dg.DagsterInstance, run_ids: Iterable[str]) -> dict[str, bool]:
    """For every run that still exists, whether it has ended."""
    return {
        record.dagster_run.run_id: record.dagster_run.status in FINISHED_STATUSES
        for record in _run_records(instance, run_ids)
    }


def _attempts(
    instance: dg.DagsterInstance, asset_key: dg.AssetKey, keys: list[str]
) -> dict[str, int]:
    """For each of `keys`, how many runs planned it and ended in failure or were cancelled."""
    if not keys:
        return {}
    planned = instance.event_log_storage.get_event_records(
        dg.EventRecordsFilter(
            event_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
            asset_key=asset_key,
            asset_partitions=keys,
        )
    )
    runs_of: dict[str, set[str]] = defaultdict(set)
    for record in planned:
        if record.partition_key is not None:
            runs_of[record.partition_key].add(record.run_id)
    finished = _finished_runs(instance, set().union(*runs_of.values()))
    return {
        key: sum(finished.get(run_id, False) for run_id in run_ids)
        for key, run_ids in runs_of.items()
    }


def _run_records(instance: dg.DagsterInstance, run_ids: Iterable[str]) -> Iterable[RunRecord]:
    ids = sorted(run_ids)
    return instance.get_run_records(dg.RunsFilter(run_ids=ids)) if ids else []
