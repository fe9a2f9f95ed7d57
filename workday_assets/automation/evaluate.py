"""One evaluation, shared by the schedule and the sensor: plan, then request or explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg

from workday_assets.automation.orphans import fail_orphans
from workday_assets.automation.plans import WorkdaySource, plan_assets
from workday_assets.automation.requests import run_requests, skip_text
from workday_assets.planner import CatchupPolicy
from workday_assets.timetable import WorkdayTimetable

if TYPE_CHECKING:
    from dagster._core.definitions.asset_selection import CoercibleToAssetSelection


@dataclass(frozen=True)
class Trigger:
    """What a schedule or sensor decides with; see `build_interval_sensor` for the fields."""

    name: str
    assets: CoercibleToAssetSelection
    timetable: WorkdayTimetable
    policy: CatchupPolicy
    source: str | None
    retry_failed: int

    @property
    def resource_keys(self) -> set[str]:
        """The resources that an evaluation needs."""
        return {self.source} if self.source else set()

    @property
    def description(self) -> str:
        """What it does, as a sentence for the UI."""
        return f"Runs what is missing {self.timetable.summary}; makes up {self.policy.describe()}."

    def evaluate(
        self, context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext, as_of: datetime
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """The runs due at `as_of`, or the one reason why there are none."""
        for run_id in fail_orphans(context.instance, as_of):
            context.log.warning(f"run {run_id} failed: the process that executed it is gone")
        graph = _repository(context).asset_graph
        keys = dg.AssetSelection.from_coercible(self.assets).resolve(graph)
        source: WorkdaySource | None = None
        if self.source is not None:
            source = getattr(context.resources, self.source)
        plans = plan_assets(
            graph,
            context.instance,
            sorted(keys),
            self.timetable,
            as_of=as_of,
            policy=self.policy,
            retry_failed=self.retry_failed,
            source=source,
            whole_history=False,
        )
        requests = run_requests(plans, self.timetable, context.instance, trigger=self.name)
        if not requests:
            yield dg.SkipReason(skip_text(plans, self.timetable, as_of, source))
        yield from requests


def _repository(
    context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext,
) -> dg.RepositoryDefinition:
    repository = context.repository_def
    if repository is None:
        raise RuntimeError("the evaluation context has no repository; pass repository_def to it")
    return repository
