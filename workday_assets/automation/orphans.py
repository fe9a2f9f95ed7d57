"""Runs whose worker is gone: Dagster's own monitoring does not see them under `dagster dev`.

Such a run would stay started for ever, hold one of the places for concurrent runs, and its days
would count as in flight.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg

from workday_assets.storage.event_log import WorkdayEventLogStorage

#: A run that has said something so recently is left alone.
GRACE = timedelta(seconds=60)


def fail_orphans(instance: dg.DagsterInstance, as_of: datetime) -> list[str]:
    """Report as failed every started run that no process executes; their ids.

    Only runs on this package's event log are known to be executed or not; elsewhere none is failed.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, WorkdayEventLogStorage):
        return []
    started = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING],
        created_before=as_of,
    )
    failed = []
    for record in instance.get_run_records(started):
        run = record.dagster_run
        if as_of - _last_event(instance, run.run_id) > GRACE and not storage.is_executing(
            run.run_id
        ):
            instance.report_run_failed(run, "The process that executed this run is gone.")
            failed.append(run.run_id)
    return failed


def _last_event(instance: dg.DagsterInstance, run_id: str) -> datetime:
    records = instance.get_records_for_run(run_id, limit=1, ascending=False).records
    return datetime.fromtimestamp(records[0].timestamp, UTC)
