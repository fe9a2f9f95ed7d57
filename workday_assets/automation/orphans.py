"""Runs whose worker is gone: Dagster's own monitoring does not see them under `dagster dev`.

Such a run would stay started for ever, hold one of the places for concurrent runs, and its days
would count as in flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from workday_assets.automation.recorded import NEVER_LAUNCHED_TAG
from workday_assets.automation.requests import BACKFILL_TRIGGER, TRIGGER_TAG
from workday_assets.storage.event_log import WorkdayEventLogStorage

#: A run that has said something so recently is left alone.
GRACE = timedelta(seconds=60)
#: Dagster's daemon resumes an interrupted tick, and launches its runs, for a day.
RESUMED_WITHIN = timedelta(days=1, hours=1)


def fail_orphans(
    instance: dg.DagsterInstance,
    as_of: datetime,
    *,
    silence: timedelta = GRACE,
    uptime: timedelta = GRACE,
) -> list[str]:
    """Report as failed every run that nobody executes and nobody will; their ids.

    These are started runs without a process, on this package's event log, which alone knows; runs
    that `workday-assets backfill` created and did not live to start; and runs of this package's
    triggers that the daemon created and, killed and away for a day, will not launch any more.

    Args:
        instance: where the runs are recorded.
        as_of: "now", aware.
        silence: a run that has said something so recently is left alone.
        uptime: so are started ones while the database server has not been up for so long: its
            restart took all locks, and living processes take them again.
    """
    status = dg.DagsterRunStatus
    created = [
        run
        for run in instance.get_runs(dg.RunsFilter(statuses=[status.NOT_STARTED]))
        if TRIGGER_TAG in run.tags
    ]
    silent = {run.run_id: as_of - _last_event(instance, run) for run in created}
    failed = [run for run in created if silent[run.run_id] > RESUMED_WITHIN]
    storage = instance.event_log_storage
    if isinstance(storage, WorkdayEventLogStorage):
        failed += _without_process(instance, storage, created, as_of, silence, uptime)
    for run in {run.run_id: run for run in failed}.values():
        if run.status == status.NOT_STARTED:
            instance.add_run_tags(run.run_id, {NEVER_LAUNCHED_TAG: "true"})
        instance.report_run_failed(run, "No process executes this run, and none will.")
    return sorted({run.run_id for run in failed})


def _without_process(
    instance: dg.DagsterInstance,
    storage: WorkdayEventLogStorage,
    created: Sequence[dg.DagsterRun],
    as_of: datetime,
    silence: timedelta,
    uptime: timedelta,
) -> list[dg.DagsterRun]:
    """Started runs, and `created` ones of the command line, that no process executes."""
    status = dg.DagsterRunStatus
    suspects = [
        *instance.get_runs(dg.RunsFilter(statuses=[status.STARTED, status.CANCELING])),
        *(run for run in created if run.tags[TRIGGER_TAG] == BACKFILL_TRIGGER),
    ]
    if not suspects or storage.server_age() < uptime:
        return []
    return [
        run
        for run in suspects
        if as_of - _last_event(instance, run) > silence and not storage.is_executing(run.run_id)
    ]


def _last_event(instance: dg.DagsterInstance, run: dg.DagsterRun) -> datetime:
    records = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
    if records:
        return datetime.fromtimestamp(records[0].timestamp, UTC)
    record = instance.get_run_record_by_id(run.run_id)
    assert record is not None  # noqa: S101 - it was listed a moment ago
    return record.create_timestamp.replace(tzinfo=UTC)
