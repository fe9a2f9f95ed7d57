"""Plans for weeks, months, quarters and years that are made from workdays, and may close early.

A period closes with its last *workday*: January 2026 on Saturday the 31st at 00:00, when Friday the
30th is over, and not on 1 February.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph

from workday_assets.automation.graph import AssetDay, DatedAsset, DatedGraph
from workday_assets.automation.periods import Period, Periods
from workday_assets.automation.plans import WorkdaySource
from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.planner import (
    CatchupPolicy,
    Decision,
    run_after_of,
    verdict_of,
    why_skipped,
)
from workday_assets.timetable import WorkdayTimetable

if TYPE_CHECKING:
    import pendulum


@dataclass(frozen=True, slots=True)
class PeriodDecision(Decision):
    """The verdict on one period of one asset: `day` is its first date, closed means no workday.

    Attributes:
        period: its partition key, first date and the date past its last one.
        workdays: its workdays by the timetable's calendar.
        expected: the upstream partitions that it is made from.
        missing: those of them that are not there, are outdated or in flight, oldest first.
    """

    period: Period
    workdays: Sequence[date]
    expected: Sequence[AssetDay]
    missing: Sequence[AssetDay]


@dataclass(frozen=True)
class PeriodPlan:
    """The decisions on the periods of one asset that were looked at, oldest first."""

    periods: Periods
    decisions: Sequence[PeriodDecision]

    @property
    def due(self) -> list[PeriodDecision]:
        """Those to request, oldest first."""
        return [decision for decision in self.decisions if decision.verdict == "due"]


@dataclass(frozen=True)
class PeriodPlans:
    """The plans of a set of assets at one instant.

    Attributes:
        plans: per asset, upstream before downstream.
        runs_in_flight: the runs of these assets that have not ended.
        ranged: the assets that can make several periods in one run.
    """

    plans: Mapping[dg.AssetKey, PeriodPlan]
    runs_in_flight: Set[str]
    ranged: Set[dg.AssetKey]


def plan_periods(
    graph: BaseAssetGraph[Any],
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    timetable: WorkdayTimetable,
    *,
    as_of: datetime,
    policy: CatchupPolicy = CatchupPolicy.all(),  # noqa: B008 - a frozen value
    retry_failed: int | None = 0,
    source: WorkdaySource | None = None,
    start: date | None = None,
    end: date | None = None,
    requested: Mapping[dg.AssetKey, Set[date]] | None = None,
    whole_history: bool = True,
    remake: Mapping[dg.AssetKey, Set[date]] | None = None,
    only: Mapping[dg.AssetKey, Set[date]] | None = None,
) -> PeriodPlans:
    """Plan every period asset of `keys` at `as_of`, oldest period first.

    A period is due when its last workday is complete, by the timetable's run-after, and every
    upstream partition that its mappings name is materialized, not outdated, not in flight. A
    materialized period whose upstream was materialized again is due as well, whatever its age. A
    period without a workday is complete with nothing.

    Args:
        graph: the asset graph that holds `keys`.
        instance: where runs and materializations are recorded.
        keys: assets partitioned by one of Dagster's time windows, of whole dates.
        timetable: the workdays, and when each may run.
        as_of: "now", aware.
        policy: which missed periods are made up; its numbers count periods with a workday.
        retry_failed: a failed period is due again while its attempts are at most this.
        source: what the root assets read; a period whose last workday is after its `last_date` is
            no part of the plan.
        start: periods that end before this date are left out.
        end: periods that begin after this date are left out; by default the date of `as_of`.
        requested: by asset, the workdays that the caller makes before it makes what is due, oldest
            first; then what is due of upstream periods counts as well. `None` where requests are
            independent of one another.
        whole_history: False leaves out decisions on periods older than the policy keeps, except
            outdated ones, for speed.
        remake: by asset, first dates of periods that count as not made, whatever is recorded.
        only: by asset, the first dates of the periods to decide on; others are left out.

    Raises:
        InvalidInputError: an asset has no periods, or their open one has no key, or they are in
            another zone than the timetable.
    """
    known = DatedGraph(graph, instance, keys, as_of, remake)
    planner = _Planner(
        known, timetable, as_of, policy, retry_failed, source, start, end, whole_history, only
    )
    made = dict(requested or {})
    plans: dict[dg.AssetKey, PeriodPlan] = {}
    for key, asset in known.assets.items():
        plans[key] = planner.plan(asset, plans, made)
        if requested is not None:
            made[key] = {decision.day for decision in plans[key].due}
    in_flight = {run for a in known.assets.values() for run in a.recorded.in_flight.values()}
    return PeriodPlans(plans, in_flight, known.ranged)


@dataclass(frozen=True)
class _Planner:
    known: DatedGraph
    timetable: WorkdayTimetable
    as_of: datetime
    policy: CatchupPolicy
    retry_failed: int | None
    source: WorkdaySource | None
    start: date | None
    end: date | None
    whole_history: bool
    only: Mapping[dg.AssetKey, Set[date]] | None

    def plan(
        self,
        asset: DatedAsset,
        plans: Mapping[dg.AssetKey, PeriodPlan],
        made: Mapping[dg.AssetKey, Set[date]],
    ) -> PeriodPlan:
        """The decisions on one asset; `plans` has those of the selected assets upstream of it."""
        periods = self._periods(asset)
        together = {  # what is due of parents with the same periods goes into the same run
            key: {decision.day for decision in plan.due}
            for key, plan in plans.items()
            if key in asset.parents and plan.periods == periods
        }
        looked_at = self._looked_at(periods)
        if self.only is not None:
            only = self.only.get(asset.key, frozenset())
            looked_at = [(period, days) for period, days in looked_at if period.first in only]
        kept_from = self._oldest_kept(looked_at)
        decisions: list[PeriodDecision] = []
        requested = 0
        limit = self.policy.limit
        for period, days in reversed(looked_at) if self.policy.newest_first else looked_at:
            corrected = period.first in self.known.outdated(asset.key)
            kept = corrected or period.first >= kept_from
            if not kept and not self.whole_history:
                continue
            decision = self._decide(asset, period, days, made, together)
            if not kept and decision.verdict in ("due", "not_ready"):
                decision = _skipped(decision, why_skipped(self.policy, kept_from, "period"))
            if not corrected and decision.verdict == "due":
                requested += 1
                if limit is not None and requested > limit:
                    decision = _skipped(
                        decision, f"beyond the limit of {limit} per call, next call"
                    )
            decisions.append(decision)
        return PeriodPlan(periods, sorted(decisions, key=lambda decision: decision.day))

    def _decide(
        self,
        asset: DatedAsset,
        period: Period,
        days: Sequence[date],
        made: Mapping[dg.AssetKey, Set[date]],
        together: Mapping[dg.AssetKey, Set[date]],
    ) -> PeriodDecision:
        """The decision on a period with workdays `days`, whatever the policy says."""
        expected = sorted(self.known.upstream(asset, period.first), key=lambda pair: pair[::-1])
        if not days or (asset.parents and not expected):
            reason = f"it has no workday of {self.timetable.calendar.name}"
            reason = "no upstream partition is in it" if days else reason
            return PeriodDecision(period.first, "closed", reason, None, 0, period, days, (), ())
        missing = [pair for pair in expected if not self._is_there(pair, made, together)]
        run_after = self._run_after(period, days)
        attempts = asset.recorded.failed.get(period.first, 0)
        remade = [pair for pair in expected if pair[1] in made.get(pair[0], ())]
        verdict, reason = verdict_of(
            self.timetable,
            period.first,
            run_after,
            self.as_of,
            asset.recorded.in_flight.keys(),
            frozenset() if remade else self.known.done(asset.key),
            attempts,
            self.retry_failed,
        )
        if verdict == "due":
            waits = _waits(missing) or self._waits_otherwise(asset, period, days)
            if waits:
                verdict, reason = "not_ready", f"it waits for {waits}"
            elif period.first in self.known.outdated(asset.key) and not attempts:
                reason = self.known.why_outdated(asset.key, period.first)
        return PeriodDecision(
            period.first, verdict, reason, run_after, attempts, period, days, expected, missing
        )

    def _is_there(
        self,
        pair: AssetDay,
        made: Mapping[dg.AssetKey, Set[date]],
        together: Mapping[dg.AssetKey, Set[date]],
    ) -> bool:
        key, day = pair
        if day in made.get(key, ()) or day in together.get(key, ()):
            return True
        return day in self.known.done(key) and day not in self.known.in_flight(key)

    def _waits_otherwise(
        self, asset: DatedAsset, period: Period, days: Sequence[date]
    ) -> str | None:
        """What else a period waits for: its source, or upstream partitions that are no dates."""
        if asset.is_root and self.source is not None:
            absent = [day for day in days if not self.source.published(day)]
            return f"the source to publish {absent[0]}" if absent else None
        return self.known.missing_elsewhere(asset, period.first)

    def _run_after(self, period: Period, days: Sequence[date]) -> pendulum.DateTime | None:
        """`None` also where nobody knows yet which the period's last workday will be."""
        if period.past > self.timetable.calendar.last_date + timedelta(days=1):
            return None
        return run_after_of(self.timetable, days[-1])

    def _looked_at(self, periods: Periods) -> list[tuple[Period, list[date]]]:
        """The periods of the plan, oldest first, with their workdays."""
        calendar, end = self.timetable.calendar, self.end or self.timetable.local_date(self.as_of)
        known_to = calendar.last_date + timedelta(days=1)
        archive_ends = self.source.last_date if self.source is not None else None
        found = []
        for period in periods.all:
            if period.first > end or (self.start is not None and period.past <= self.start):
                continue
            first, past = max(period.first, calendar.first_date), min(period.past, known_to)
            days = list(calendar.workdays(first, past)) if first < past else []
            if archive_ends is None or not days or days[-1] <= archive_ends:
                found.append((period, days))
        return found

    def _oldest_kept(self, looked_at: Sequence[tuple[Period, Sequence[date]]]) -> date:
        """The first date of the oldest period that the policy keeps."""
        kept, policy = date.min, self.policy
        complete = self.timetable.last_complete(self.as_of)
        closed = [p.first for p, days in looked_at if days and complete and days[-1] <= complete]
        if policy.newest is not None and closed:
            kept = closed[-policy.newest :][0]
        if policy.since is not None:
            # The interval of the local date of `since` is the first that ends after it.
            since = self.timetable.local_date(policy.since)
            after = [p.first for p, days in looked_at if days and days[-1] >= since]
            kept = max(kept, after[0] if after else date.max)
        return kept

    def _periods(self, asset: DatedAsset) -> Periods:
        name, periods = asset.key.to_user_string(), asset.dates
        if not isinstance(periods, Periods):
            raise InvalidInputError(
                f"assets={name} is partitioned by workdays and closes no period; give it to"
                " build_interval_sensor."
            )
        if periods.timezone != self.timetable.timezone:
            raise InvalidInputError(
                f"assets={name} has periods in {periods.timezone}, but the timetable is in"
                f" {self.timetable.timezone}; give both the same zone."
            )
        parents = [self.known.dates(parent) for parent in asset.parents]
        days = [p for p in parents if isinstance(p, WorkdayPartitionsDefinition)]
        if days and self.timetable.calendar not in [p.calendar for p in days]:
            raise InvalidInputError(
                f"assets={name} is made from workdays of {days[0].calendar.name}, but the timetable"
                f" is of {self.timetable.calendar.name}; give both the same calendar."
            )
        if periods.definition.end_offset < 1:
            raise InvalidInputError(
                f"assets={name} has no partition for the open period ({periods.definition}), so"
                " that it cannot close with its last workday; give its definition end_offset=1."
            )
        return periods


def _waits(missing: Sequence[AssetDay]) -> str | None:
    if not missing:
        return None
    key, day = missing[0]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"{key.to_user_string()} {day}{more}"


def _skipped(decision: PeriodDecision, reason: str) -> PeriodDecision:
    return replace(decision, verdict="skipped", reason=reason)
