"""One evaluation, shared by the schedule and the sensor: plan, then request or explain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from workday_assets.automation.orphans import fail_orphans
from workday_assets.automation.period_plans import plan_periods
from workday_assets.automation.period_requests import period_requests, period_skip_text
from workday_assets.automation.plans import AssetPlans, WorkdaySource, plan_assets
from workday_assets.automation.requests import run_requests, skip_text
from workday_assets.errors import InvalidInputError, OutOfBoundsError, SourceOverdueError
from workday_assets.planner import CatchupPolicy
from workday_assets.timetable import WorkdayTimetable

if TYPE_CHECKING:
    from dagster._core.definitions.asset_selection import CoercibleToAssetSelection
    from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph

    Target = CoercibleToAssetSelection | UnresolvedAssetJobDefinition

#: So many days before its last date a calendar's end is warned of at each tick.
_WARN_DAYS = 14


@dataclass(frozen=True)
class Decided:
    """What a tick decided.

    Attributes:
        requests: all that is due, oldest first.
        why_none: what is said when that is nothing.
        in_flight: how many runs of these assets have not ended.
    """

    requests: list[dg.RunRequest]
    why_none: str
    in_flight: int


@dataclass(frozen=True)
class Trigger:
    """What a schedule or sensor decides with; see `build_interval_sensor` for the fields."""

    name: str
    assets: Target
    timetable: WorkdayTimetable
    policy: CatchupPolicy
    source: str | None
    retry_failed: int
    max_in_flight: int | None = None
    ready_timeout: int | None = None

    def __post_init__(self) -> None:
        for parameter in ("max_in_flight", "ready_timeout"):
            value = getattr(self, parameter)
            if value is not None and value < 1:
                raise InvalidInputError(f"{parameter}={value} must be 1 or more, or None.")
        if self.ready_timeout is None:
            return
        if self.source is None:
            raise InvalidInputError(
                f"ready_timeout={self.ready_timeout} without a source has nothing to wait for;"
                " name the source."
            )
        if self.policy.newest is not None and self.ready_timeout >= self.policy.newest:
            raise InvalidInputError(
                f"ready_timeout={self.ready_timeout} could never be reached: the policy makes up"
                f" {self.policy.describe()}, and a day leaves that window first; give less, or"
                " CatchupPolicy.all()."
            )

    @property
    def selection(self) -> dg.AssetSelection:
        """The assets, of an asset job those of its selection."""
        if isinstance(self.assets, UnresolvedAssetJobDefinition):
            return self.assets.selection
        return dg.AssetSelection.from_coercible(self.assets)

    @property
    def target(self) -> dg.AssetSelection | UnresolvedAssetJobDefinition:
        """What Dagster launches: the asset job, or the assets without one."""
        if isinstance(self.assets, UnresolvedAssetJobDefinition):
            return self.assets
        return self.selection

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
        keys = self.selection.resolve(graph)
        source: WorkdaySource | None = None
        if self.source is not None:
            source = getattr(context.resources, self.source)
        decided = self._decide(context.instance, graph, sorted(keys), as_of, source)
        requests, in_flight = decided.requests, decided.in_flight
        if self.policy.newest_first:
            requests.reverse()
        ends = self._calendar_ends(as_of, source, done=not requests)
        if ends:
            context.log.warning(ends)
        if not requests:
            yield dg.SkipReason(decided.why_none + ends)
        elif self.max_in_flight is None:
            yield from requests
        elif free := max(self.max_in_flight - in_flight, 0):
            yield from requests[:free]
        else:
            yield dg.SkipReason(
                f"{len(requests)} runs wait: {in_flight} are in flight, and the limit is"
                f" {self.max_in_flight}."
            )

    def _decide(
        self,
        instance: dg.DagsterInstance,
        graph: BaseAssetGraph[Any],
        keys: Sequence[dg.AssetKey],
        as_of: datetime,
        source: WorkdaySource | None,
    ) -> Decided:
        """What to request, before any limit."""
        plans = plan_assets(
            graph,
            instance,
            keys,
            self.timetable,
            as_of=as_of,
            policy=self.policy,
            retry_failed=self.retry_failed,
            source=source,
            whole_history=False,
        )
        if source is not None:
            self._tell_overdue(instance, plans, as_of, source)
        requests = run_requests(plans, self.timetable, instance, trigger=self.name)
        skip = skip_text(plans, self.timetable, as_of, source, self.policy)
        return Decided(requests, skip, len(plans.runs_in_flight))

    def _calendar_ends(self, as_of: datetime, source: WorkdaySource | None, *, done: bool) -> str:
        """A warning in the calendar's last weeks, or nothing.

        Raises:
            OutOfBoundsError: the calendar has ended, all its days are `done`, and nobody knows
                which workdays came after it; an archive that ends before it needs none.
        """
        calendar = self.timetable.calendar
        today = self.timetable.local_date(as_of)
        last = source.last_date if source is not None else None
        left = (calendar.last_date - today).days
        if left > _WARN_DAYS or (last is not None and last < calendar.last_date):
            return ""
        if left < -1 and done:
            raise OutOfBoundsError(
                "as_of", today, calendar.name, calendar.first_date, calendar.last_date
            )
        return (
            f" Calendar {calendar.name} ends {calendar.last_date}; freeze one that reaches further,"
            " or nothing will run after it."
        )

    def _tell_overdue(
        self,
        instance: dg.DagsterInstance,
        plans: AssetPlans,
        as_of: datetime,
        source: WorkdaySource,
    ) -> None:
        """Fail this tick, once per day, when the source is late; the next tick goes on.

        Which days were told is kept in the instance: a failed tick keeps no cursor.
        """
        if self.ready_timeout is None:
            return
        newest = self.timetable.last_complete(as_of)
        calendar = self.timetable.calendar
        late = [
            day
            for day in plans.unpublished
            if newest and calendar.count(day, newest) >= self.ready_timeout
        ]
        key = f"workday_assets/overdue/{self.name}"
        told = set(json.loads(instance.run_storage.get_cursor_values({key}).get(key, "[]")))
        if told != {str(day) for day in late}:
            instance.run_storage.set_cursor_values({key: json.dumps([str(day) for day in late])})
        new = [day for day in late if str(day) not in told]
        if new:
            raise SourceOverdueError(self.name, new, self.ready_timeout, source.describe())


@dataclass(frozen=True)
class PeriodTrigger(Trigger):
    """What a period-close sensor decides with; see `build_period_close_sensor`."""

    @property
    def description(self) -> str:
        """What it does, as a sentence for the UI."""
        return (
            f"Runs each period once its last workday is over, {self.timetable.summary}, and its"
            f" workdays are there; makes up {self.policy.describe('period')}."
        )

    def _decide(
        self,
        instance: dg.DagsterInstance,
        graph: BaseAssetGraph[Any],
        keys: Sequence[dg.AssetKey],
        as_of: datetime,
        source: WorkdaySource | None,
    ) -> Decided:
        plans = plan_periods(
            graph,
            instance,
            keys,
            self.timetable,
            as_of=as_of,
            policy=self.policy,
            retry_failed=self.retry_failed,
            source=source,
            whole_history=False,
        )
        requests = period_requests(plans, self.timetable, instance, trigger=self.name)
        skip = period_skip_text(plans, source, self.policy)
        return Decided(requests, skip, len(plans.runs_in_flight))


def _repository(
    context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext,
) -> dg.RepositoryDefinition:
    repository = context.repository_def
    if repository is None:
        raise RuntimeError("the evaluation context has no repository; pass repository_def to it")
    return repository
