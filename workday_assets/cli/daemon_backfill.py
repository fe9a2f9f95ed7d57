"""Hands a backfill to the running daemon, so that the web server shows it, and waits for it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.execution.backfill import (
    BULK_ACTION_TERMINAL_STATUSES,
    BulkActionsFilter,
    BulkActionStatus,
    PartitionBackfill,
)
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    BACKFILL_ID_TAG,
    PARTITION_NAME_TAG,
)
from dagster._core.utils import make_new_backfill_id
from dagster._daemon.daemon import BackfillDaemon
from rich.console import Console

from workday_assets.automation.requests import TRIGGER_TAG
from workday_assets.cli.backfill_outcome import Outcome
from workday_assets.cli.backfill_plan import BackfillPlan, Made
from workday_assets.cli.execution import is_made_by, sentence
from workday_assets.cli.progress import partitions_bar
from workday_assets.cli.project import Project
from workday_assets.errors import InstanceError
from workday_assets.storage.event_log import WorkdayEventLogStorage

#: A living daemon says so every 30 seconds. After this silence none counts as up,
_ALIVE_SECONDS = 60
#: a backfill that it has not taken up is withdrawn,
_NEVER_SECONDS = 75
#: and one that it has is given up: its runs may leave it little time.
_GONE_SECONDS = 300
_POLL_SECONDS = 1
_COUNT_EVERY = 5
#: Not the trigger of runs in this process: those, created and not started, are nobody's.
_TRIGGER = "workday-assets backfill (daemon)"


def daemon_is_up(instance: dg.DagsterInstance) -> bool:
    """Whether a daemon that launches backfills was heard of a moment ago.

    Heartbeats outlive the daemon; `wait` finds out. They do not outlive the embedded database,
    which is stopped after its last user.
    """
    silence = time.time() - _last_heard(instance)
    if silence > _ALIVE_SECONDS:
        return False
    storage = instance.event_log_storage
    if isinstance(storage, WorkdayEventLogStorage):
        return storage.server_age().total_seconds() > silence
    return True


def launch(project: Project, plan: BackfillPlan) -> str:
    """Ask the daemon for exactly the partitions of the plan; the backfill's id."""
    graph, instance = project.repository.asset_graph, project.instance
    with partition_loading_context(project.as_of, instance):
        subsets = {}
        for key, days in plan.due().items():
            definition = graph.get(key).partitions_def
            assert definition is not None  # noqa: S101 - the plan has only partitioned assets
            keys = [plan.key_of(key, day) for day in days]
            subsets[key] = definition.subset_with_partition_keys(keys)
        backfill = PartitionBackfill.from_asset_graph_subset(
            backfill_id=make_new_backfill_id(),
            backfill_timestamp=project.as_of.timestamp(),
            tags={TRIGGER_TAG: _TRIGGER},
            dynamic_partitions_store=instance,
            asset_graph_subset=AssetGraphSubset(subsets),  # type: ignore[call-arg]  # it has defaults
            title="workday-assets backfill",
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
    return str(backfill.backfill_id)


def wait(
    project: Project, plan: BackfillPlan, backfill_id: str, since: int, console: Console
) -> Outcome | None:
    """Wait until a backfill has ended; what came of it.

    It is withdrawn, and the answer is `None`, when no daemon is heard of after all.

    Args:
        project: where it was launched.
        plan: what it makes.
        backfill_id: its id.
        since: number of the newest event before it was launched.
        console: where the progress is shown.

    Raises:
        InstanceError: the daemon that took it up has not been heard of for minutes.
    """
    instance, launched = project.instance, time.time()
    with partitions_bar(console) as progress:
        task = progress.add_task("partitions", total=sum(map(len, plan.due().values())))
        for count in itertools.count():
            backfill = _backfill(instance, backfill_id)
            ended = backfill.status in BULK_ACTION_TERMINAL_STATUSES
            if ended or count % _COUNT_EVERY == 0:
                made = _made(instance, plan, since)
                progress.update(task, completed=sum(map(len, made.values())))
            if ended:
                break
            heard = _last_heard(instance)
            if heard < launched and time.time() - heard > _NEVER_SECONDS:
                _withdraw(instance, backfill)
                return None
            _require_daemon(instance, backfill_id)
            time.sleep(_POLL_SECONDS)
    return _outcome(project, plan, backfill, made)


def _withdraw(instance: dg.DagsterInstance, backfill: PartitionBackfill) -> None:
    canceled = backfill.with_status(BulkActionStatus.CANCELED)  # type: ignore[no-untyped-call]
    instance.update_backfill(canceled.with_end_timestamp(time.time()))


def wait_for_others(project: Project, plan: BackfillPlan, console: Console) -> bool:
    """Wait for the end of backfills that the daemon runs of the same partitions; whether any was.

    Such as those of this command, started before and interrupted.
    """
    instance = project.instance
    requested = BulkActionsFilter(statuses=[BulkActionStatus.REQUESTED])
    others = [
        backfill.backfill_id
        for backfill in instance.get_backfills(filters=requested)
        if backfill.is_asset_backfill and _overlaps(project, plan, backfill)
    ]
    for backfill_id in others:
        console.print(f"Backfill {backfill_id} makes some of it, in the daemon: waiting for it.")
        while _backfill(instance, backfill_id).status not in BULK_ACTION_TERMINAL_STATUSES:
            _require_daemon(instance, backfill_id)
            time.sleep(_POLL_SECONDS)
    return bool(others)


def _overlaps(project: Project, plan: BackfillPlan, backfill: PartitionBackfill) -> bool:
    """Whether a backfill targets what the plan makes, or leaves out since others do."""
    wanted = {key: set(days) for key, days in plan.due().items()}
    for key, decision in plan.left_out:
        wanted.setdefault(key, set()).add(decision.day)
    data = backfill.get_asset_backfill_data(project.repository.asset_graph)
    targets = data.target_subset.partitions_subsets_by_asset_key
    return any(
        not {plan.key_of(key, day) for day in days}.isdisjoint(targets[key].get_partition_keys())
        for key, days in wanted.items()
        if key in targets
    )


def newest_event(instance: dg.DagsterInstance) -> int:
    """The number of the newest event in the log, 0 when there is none."""
    return instance.event_log_storage.get_maximum_record_id() or 0


def _require_daemon(instance: dg.DagsterInstance, backfill_id: str) -> None:
    if time.time() - _last_heard(instance) > _GONE_SECONDS:
        raise InstanceError(
            f"backfill {backfill_id} has begun, and its daemon has not been heard of for"
            f" {_GONE_SECONDS} seconds; start `dagster dev` and it goes on, or cancel it there and"
            " use --in-process."
        )


def _last_heard(instance: dg.DagsterInstance) -> float:
    """When the daemon with the backfills last said that it lives, in seconds since the epoch."""
    heartbeats = instance.get_daemon_heartbeats()
    own = heartbeats.get(BackfillDaemon.daemon_type())
    if own is None:
        return 0.0
    return max(h.timestamp for h in heartbeats.values() if h.daemon_id == own.daemon_id)


def _backfill(instance: dg.DagsterInstance, backfill_id: str) -> PartitionBackfill:
    found = instance.get_backfill(backfill_id)
    assert found is not None  # noqa: S101 - backfills cannot be deleted
    return found


def _made(
    instance: dg.DagsterInstance, plan: BackfillPlan, since: int
) -> dict[dg.AssetKey, set[date]]:
    """By asset, the dates of the plan that were materialized after the event `since`."""
    made = {}
    for key, days in plan.due().items():
        newest = instance.event_log_storage.get_latest_storage_id_by_partition(
            key, dg.DagsterEventType.ASSET_MATERIALIZATION
        )
        made[key] = {day for day in days if newest.get(plan.key_of(key, day), 0) > since}
    return made


@dataclass(frozen=True)
class _FailedRun:
    """A run of a backfill that failed, with the events that say why."""

    run: dg.DagsterRun
    events: Sequence[dg.DagsterEvent]

    def dates(self, plan: BackfillPlan, key: dg.AssetKey) -> set[date]:
        """The dates of the plan that it was to make of an asset."""
        first, last = map(plan.dates[key].day, self._keys())
        return {day for day in plan.due().get(key, []) if first <= day <= last}

    def started(self) -> set[str]:
        """The steps that it came to."""
        return {event.step_key or "" for event in self.events if event.is_step_start}

    def errors(self) -> Iterator[str]:
        """One sentence per failed step, or why it failed without one."""
        first, last = self._keys()
        partitions = first if first == last else f"{first} to {last}"
        failed = [event for event in self.events if event.is_step_failure]
        for event in failed or [event for event in self.events if event.is_run_failure]:
            yield f"{sentence(partitions, event)} (run {self.run.run_id})"

    def _keys(self) -> tuple[str, str]:
        tags = self.run.tags
        first = tags.get(ASSET_PARTITION_RANGE_START_TAG, tags.get(PARTITION_NAME_TAG, ""))
        return first, tags.get(ASSET_PARTITION_RANGE_END_TAG, first)


def _failed_runs(instance: dg.DagsterInstance, backfill_id: str) -> Iterator[_FailedRun]:
    failed = dg.RunsFilter(
        tags={BACKFILL_ID_TAG: backfill_id}, statuses=[dg.DagsterRunStatus.FAILURE]
    )
    event = dg.DagsterEventType
    wanted = {event.STEP_START, event.STEP_FAILURE, event.RUN_FAILURE}
    for run in instance.get_runs(failed):
        entries = instance.all_logs(run.run_id, of_type=wanted)
        found = [entry.dagster_event for entry in entries if entry.dagster_event is not None]
        yield _FailedRun(run, found)


def _outcome(
    project: Project, plan: BackfillPlan, backfill: PartitionBackfill, made: Made
) -> Outcome:
    outcome = Outcome(made, backfill_id=backfill.backfill_id)
    for failed in _failed_runs(project.instance, backfill.backfill_id):
        outcome.errors += failed.errors()
        for key in failed.run.asset_selection or ():
            if is_made_by(project.repository, key, failed.started()):
                outcome.tried.setdefault(key, set()).update(failed.dates(plan, key))
    if backfill.status in (BulkActionStatus.FAILED, BulkActionStatus.CANCELED):
        why = f": {backfill.error.message.strip()}" if backfill.error is not None else ""
        outcome.errors.append(
            f"backfill {backfill.backfill_id} {backfill.status.value.lower()}{why}"
        )
    return outcome
