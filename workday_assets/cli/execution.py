"""Runs a backfill in this process, block after block, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.events import RunFailureReason
from dagster._core.execution.api import create_execution_plan, execute_run_iterator
from dagster._core.snap import snapshot_from_execution_plan
from rich.console import Console

from workday_assets.automation.graph import DatedGraph
from workday_assets.automation.requests import BACKFILL_TRIGGER, TRIGGER_TAG
from workday_assets.cli.backfill_outcome import Outcome
from workday_assets.cli.blocks import Block, block, blocks
from workday_assets.cli.progress import partitions_bar

if TYPE_CHECKING:
    from datetime import date

    from workday_assets.cli.backfill_plan import BackfillPlan
    from workday_assets.cli.project import Project

#: Dagster's console logger would print every event through the progress bar.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
#: Of a run Dagster writes a row of 3 kB per partition for each check that has no partitions. A run
#: over more partitions than this leaves out those that block nothing; they are run once at the end.
_CHECKED_PARTITIONS = 10


def execute(project: Project, plan: BackfillPlan, console: Console) -> Outcome:
    """Run the plan; what needs nothing that failed goes on after a failure."""
    execution = _Execution(project, plan)
    with partitions_bar(console) as progress:
        task = progress.add_task("partitions", total=sum(map(len, plan.due().values())))
        for whole in blocks(plan, project.timetable):
            for piece in execution.without_failed(whole):
                for _ in execution.run(piece):
                    progress.advance(task)
        execution.run_checks()
    return execution.outcome


class _Execution:
    """The runs of one plan, and what came of them so far."""

    def __init__(self, project: Project, plan: BackfillPlan) -> None:
        self.project = project
        self.plan = plan
        self.outcome = Outcome()
        #: By asset, the dates that failed, or were not tried since others had.
        self.failed: dict[dg.AssetKey, set[date]] = {}
        self._known: DatedGraph | None = None
        self._unchecked: set[dg.AssetCheckKey] = set()
        self._job = cache(self._make_job)

    def without_failed(self, whole: Block) -> Iterator[Block]:
        """The block, or the parts of it that need nothing that failed."""
        if not self.failed:
            yield whole
            return
        ready = {day: self._ready(whole, day) for day in whole.dates}
        for assets, days in groupby(whole.dates, key=ready.__getitem__):
            if assets:
                yield block(self.plan, self.project.timetable, assets, list(days))

    def run(self, piece: Block) -> Iterator[None]:
        """Run a block; yields as often as a partition is made."""
        made: dict[dg.AssetKey, set[str]] = {key: set() for key in piece.assets}
        steps: set[str] = set()
        errors: list[str] = []
        for event in self._events(piece):
            if event.is_step_start:
                steps.add(event.step_key or "")
            elif event.is_step_materialization and event.asset_key in made:
                made[event.asset_key].add(event.partition or "")
                yield
            elif event.is_step_failure:
                errors.append(sentence(piece.describe(), event))
            elif event.is_run_failure:
                _stop_if_interrupted(event)
                errors = errors or [sentence(piece.describe(), event)]
        self.outcome.errors += errors
        for key, keys in made.items():
            days = {day for day in piece.dates if self.plan.key_of(key, day) in keys}
            self.outcome.made.setdefault(key, set()).update(days)
            if is_made_by(self.project.repository, key, steps):
                self.outcome.tried.setdefault(key, set()).update(piece.dates)
            if len(days) < len(piece.dates):
                self.failed.setdefault(key, set()).update(set(piece.dates) - days)

    def _ready(self, whole: Block, day: date) -> frozenset[dg.AssetKey]:
        """Those of a block's assets whose inputs for `day` have not failed."""
        if self._known is None:
            graph, keys = self.project.repository.asset_graph, self.plan.due()
            self._known = DatedGraph(graph, self.project.instance, keys, self.project.as_of)
        ready = set()
        for key, asset in self._known.assets.items():  # upstream first
            if key not in whole.assets:
                continue
            upstream = self._known.upstream(asset, day)
            if any(needed in self.failed.get(parent, ()) for parent, needed in upstream):
                self.failed.setdefault(key, set()).add(day)
            else:
                ready.add(key)
        return frozenset(ready)

    def run_checks(self) -> None:
        """Run the checks that were left out, about all that is stored, in one run."""
        if not self._unchecked:
            return
        checks = frozenset(self._unchecked)
        errors: list[str] = []
        for event in self._execute(frozenset(), checks, {TRIGGER_TAG: BACKFILL_TRIGGER}):
            if event.is_step_failure:
                errors.append(sentence("checks", event))
            elif event.is_run_failure:
                _stop_if_interrupted(event)
                errors = errors or [sentence("checks", event)]
        self.outcome.errors += errors

    def _events(self, piece: Block) -> Iterator[dg.DagsterEvent]:
        checks = None
        if len(piece.dates) > _CHECKED_PARTITIONS:
            graph = self.project.repository.asset_graph
            all_checks = frozenset(
                check for asset in piece.assets for check in graph.get(asset).check_keys
            )
            left_out = frozenset(check for check in all_checks if self._can_wait(check))
            self._unchecked |= left_out
            checks = all_checks - left_out
        return self._execute(piece.assets, checks, piece.tags)

    def _can_wait(self, check: dg.AssetCheckKey) -> bool:
        """Whether a check and what is computed with it are checks that block nothing."""
        graph = self.project.repository.asset_graph
        for key in graph.get_execution_set_asset_and_check_keys(check):
            if not isinstance(key, dg.AssetCheckKey):
                return False
            if graph.get(key).blocking or graph.get(key).partitions_def:
                return False
        return True

    def _execute(
        self,
        assets: frozenset[dg.AssetKey],
        checks: frozenset[dg.AssetCheckKey] | None,
        tags: Mapping[str, str],
    ) -> Iterator[dg.DagsterEvent]:
        job = self._job(assets, checks)
        run = create_run(self.project.instance, job, assets, checks, tags)
        return execute_run_iterator(InMemoryJob(job), run, self.project.instance)

    def _make_job(
        self, assets: frozenset[dg.AssetKey], checks: frozenset[dg.AssetCheckKey] | None
    ) -> dg.JobDefinition:
        whole = self.project.repository.get_implicit_global_asset_job_def()
        return whole.get_subset(asset_selection=set(assets), asset_check_selection=checks)


def create_run(
    instance: dg.DagsterInstance,
    job: dg.JobDefinition,
    assets: frozenset[dg.AssetKey],
    checks: frozenset[dg.AssetCheckKey] | None,
    tags: Mapping[str, str],
) -> dg.DagsterRun:
    """A run of exactly these assets and checks; no `checks` means those of the assets.

    `create_run_for_job` does the same, but has no way to leave checks out.
    """
    reference = instance.get_ref() if instance.is_persistent else None
    plan = create_execution_plan(job, run_config=_QUIET, instance_ref=reference, tags=tags)
    return instance.create_run(
        job_name=job.name,
        run_id=None,
        run_config=_QUIET,
        status=None,
        tags=tags,
        root_run_id=None,
        parent_run_id=None,
        step_keys_to_execute=plan.step_keys_to_execute,
        execution_plan_snapshot=snapshot_from_execution_plan(plan, job.get_job_snapshot_id()),
        job_snapshot=job.get_job_snapshot(),
        parent_job_snapshot=job.get_parent_job_snapshot(),
        asset_selection=assets,
        asset_check_selection=checks,
        resolved_op_selection=None,
        op_selection=None,
        remote_job_origin=None,
        job_code_origin=None,
        asset_graph=job.asset_layer.asset_graph,
    )


def _stop_if_interrupted(event: dg.DagsterEvent) -> None:
    """Dagster ends a run on Ctrl-C, and says so in its last event alone."""
    if event.job_failure_data.failure_reason == RunFailureReason.UNEXPECTED_TERMINATION:
        raise KeyboardInterrupt


def is_made_by(repository: dg.RepositoryDefinition, key: dg.AssetKey, steps: Set[str]) -> bool:
    """Whether one of these steps belongs to an asset: without, it was skipped in its run."""
    node = repository.assets_defs_by_key[key].node_def.name
    return any(step.split(".")[0] == node for step in steps)


def sentence(partitions: str, event: dg.DagsterEvent) -> str:
    """What failed, and the innermost reason why."""
    failed = event.step_failure_data if event.is_step_failure else event.job_failure_data
    error = failed.error if failed is not None else None
    while error is not None and error.cause is not None:
        error = error.cause
    why = error.message.strip() if error is not None else event.message
    return f"{partitions}: {event.step_key or 'run'} failed: {why}"
