"""Runs whose worker is gone: Dagster's own monitoring does not see them under `dagster dev`.

Such a run would stay started for ever, hold one of the places for concurrent runs, and its days
would count as in flight.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg

from workday_assets.automation.requests import BACKFILL_TRIGGER, TRIGGER_TAG
from workday_assets.storage.event_log import WorkdayEventLogStorage

#: A run that has said something so recently is left alone.
GRACE = timedelta(seconds=60)


def fail_orphans(
    instance: dg.DagsterInstance, as_of: datetime, grace: timedelta = GRACE
) -> list[str]:
    """Report as failed every started run that no process executes; their ids.

    So are runs that `workday-assets backfill` created and did not live to start. Only runs on this
    package's event log are known to be executed or not; elsewhere none is failed.

    Args:
        instance: where the runs are recorded.
        as_of: "now", aware.
        grace: a run that has said something so recently is left alone, and so are all while the
            database server has not been up for so long.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, WorkdayEventLogStorage):
        return []
    status = dg.DagsterRunStatus
    started = dg.RunsFilter(statuses=[status.STARTED, status.CANCELING])
    created = dg.RunsFilter(statuses=[status.NOT_STARTED], tags={TRIGGER_TAG: BACKFILL_TRIGGER})
    runs = [*instance.get_runs(started), *instance.get_runs(created)]
    if not runs or storage.server_age() < grace:
        return []
    failed = []
    for run in runs:
        silent = as_of - _last_event(instance, run) > grace
        if silent and not storage.is_executing(run.run_id):
            instance.report_run_failed(run, "The process that executed this run is gone.")
            failed.append(run.run_id)
    return failed


def _last_event(instance: dg.DagsterInstance, run: dg.DagsterRun) -> datetime:
    records = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
    if records:
        return datetime.fromtimestamp(records[0].timestamp, UTC)
    record = instance.get_run_record_by_id(run.run_id)
    assert record is not None  # noqa: S101 - it was listed a moment ago
    return record.create_timestamp.replace(tzinfo=UTC)
