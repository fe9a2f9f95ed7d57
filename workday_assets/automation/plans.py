"""Plans for a graph of workday assets: the planner per asset, with its upstream partitions.

The sensor, the schedule and the command line call `plan_assets`, so that what is shown is what
is requested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Protocol, TypeVar

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph

from workday_assets.automation.graph import AssetDay, DatedAsset, DatedGraph
from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.planner import (
    CatchupPolicy,
    Decision,
    Plan,
    Ready,
    Verdict,
    oldest_kept,
    plan_intervals,
)
from workday_assets.timetable import WorkdayTimetable


class WorkdaySource(Protocol):
    """A data source as the planner sees it."""

    @property
    def last_date(self) -> date | None:
        """The last day an archive holds; `None` for a live source."""

    def published(self, day: date) -> bool:
        """Whether the source has `day`; False means not yet."""

    def describe(self) -> str:
        """One clause that says what the source is and where it ends."""


@dataclass(frozen=True)
class AssetPlans:
    """The plans of a set of assets at one instant.

    Attributes:
        plans: per asset, upstream before downstream.
        warm_up: requested (asset, day) pairs outside the policy's window, each with the asset
            that needs it.
        unpublished: complete days for which the source is waited for, oldest first.
        runs_in_flight: the runs of these assets that have not ended.
        fmt: `strftime` format of the assets' partition keys.
        ranged: the assets that can make several days in one run.
    """

    plans: Mapping[dg.AssetKey, Plan]
    warm_up: Mapping[AssetDay, dg.AssetKey]
    unpublished: Sequence[date]
    runs_in_flight: Set[str]
    fmt: str
    ranged: Set[dg.AssetKey]

    def due_by_day(self) -> dict[date, frozenset[dg.AssetKey]]:
        """For each due day, oldest first, the assets to request."""
        due: dict[date, set[dg.AssetKey]] = {}
        for key, plan in self.plans.items():
            for day in plan.due:
                due.setdefault(day, set()).add(key)
        return {day: frozenset(due[day]) for day in sorted(due)}


def plan_assets(
    graph: BaseAssetGraph[Any],
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    timetable: WorkdayTimetable,
    *,
    as_of: datetime,
    policy: CatchupPolicy,
    retry_failed: int | None = 0,
    source: WorkdaySource | None = None,
    start: date | None = None,
    end: date | None = None,
    in_order: bool = False,
    whole_history: bool = True,
    remake: Mapping[dg.AssetKey, Set[date]] | None = None,
    only: Mapping[dg.AssetKey, Set[date]] | None = None,
    requested: Mapping[dg.AssetKey, Set[date]] | None = None,
) -> AssetPlans:
    """Plan every asset of `keys` at `as_of`, oldest day first.

    An asset is due for a day when its own plan says so, the source has published the day (assets
    with nothing partitioned upstream), and every upstream partition that its mappings name is
    materialized or requested for the same day, hence in the same run. Upstream days that the
    policy would leave out but a due day needs are warm-up: they are requested too. A materialized
    day whose upstream was materialized again is due as well, whatever its age: corrections
    propagate, once. A day that was never made is left to the policy, also when its upstream lands
    late: otherwise a new or wiped child would fill its whole history against its policy.

    Args:
        graph: the asset graph that holds `keys`.
        instance: where runs and materializations are recorded.
        keys: assets partitioned by `WorkdayPartitionsDefinition`.
        timetable: intervals and run-after.
        as_of: "now", aware.
        policy: which missed days are made up.
        retry_failed: see `plan_intervals`.
        source: what the root assets read; its `last_date` ends the plan.
        start: first date looked at, included; by default each asset's first partition date.
        end: last date looked at, included; by default the date of `as_of`.
        in_order: the caller runs what is due oldest first, each run after the one before has
            ended, so that upstream days requested earlier count as well.
        whole_history: False leaves out decisions on days older than the policy keeps, for speed.
        remake: by asset, days that count as not made, whatever is recorded.
        only: by asset, the days to decide on, whatever start, end and policy say; no warm-up is
            added to them.
        requested: by asset, days that the caller makes in order, as those that are due here.

    Raises:
        InvalidInputError: an asset is not partitioned by workdays, or by another calendar.
    """
    known = DatedGraph(graph, instance, keys, as_of, remake)
    planner = _Planner(
        known,
        timetable,
        as_of,
        policy,
        retry_failed,
        source,
        start,
        end,
        in_order,
        whole_history,
        only,
        requested or {},
    )
    wanted = {key: planner.wanted(key) for key in known.assets}
    extra = {key: sorted(days) for key, days in planner.corrections(wanted).items()}
    warm_up = planner.warm_up(wanted)
    for owner, day in warm_up:
        extra[owner].append(day)
    for key in extra.keys() & (only or {}).keys():
        extra[key] += sorted((only or {})[key])
    plans: dict[dg.AssetKey, Plan] = {}
    for key in known.assets:
        plans[key] = planner.final(key, plans, extra[key])
    due = {(key, day) for key, plan in plans.items() for day in plan.due}
    roots = [plans[key] for key, asset in known.assets.items() if asset.is_root]
    unpublished = sorted({d.day for plan in roots for d in plan.of("not_ready")})
    in_flight = {run for a in known.assets.values() for run in a.recorded.in_flight.values()}
    asked = {pair: warm_up[pair] for pair in warm_up if pair in due}
    return AssetPlans(plans, asked, unpublished, in_flight, _fmt(known), known.ranged)


def _fmt(known: DatedGraph) -> str:
    """The format of the assets' partition keys; one run has one key."""
    formats = {asset.dates.fmt for asset in known.assets.values()}
    if len(formats) > 1:
        raise InvalidInputError(
            f"assets have partition keys of different formats ({', '.join(sorted(formats))});"
            " give them one `fmt`, since one run has one key."
        )
    return next(iter(formats), "%Y-%m-%d")


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
    in_order: bool
    whole_history: bool
    only: Mapping[dg.AssetKey, Set[date]] | None
    requested: Mapping[dg.AssetKey, Set[date]]

    def wanted(self, key: dg.AssetKey) -> set[date]:
        """The days that are due by time and policy alone."""
        return set(self._plan(self.known.assets[key], None).due)

    def corrections(self, wanted: dict[dg.AssetKey, set[date]]) -> dict[dg.AssetKey, set[date]]:
        """Days to be made again, of any age, that are not wanted yet; they are now."""
        found: dict[dg.AssetKey, set[date]] = {}
        for key, days in wanted.items():
            inside = {day for day in self.known.outdated(key) if self._asked_for(day)}
            found[key] = inside - days
            days.update(inside)
        return found

    def final(
        self, key: dg.AssetKey, plans: Mapping[dg.AssetKey, Plan], extra: Sequence[date]
    ) -> Plan:
        """The plan with readiness, and with decisions on the `extra` days whatever the policy."""
        asset = self.known.assets[key]
        due: dict[dg.AssetKey, set[date]] = {
            parent: set(plans[parent].due) for parent in asset.parents if parent in plans
        }
        own = due.setdefault(key, set())  # an asset can need its own earlier days

        def ready(day: date) -> bool | str:
            answer = self._ready(asset, day, due)
            if answer is True:
                own.add(day)
            return answer

        decisions = {decision.day: decision for decision in self._plan(asset, ready).decisions}
        for day in extra:
            decisions |= {d.day: d for d in self._plan(asset, ready, only=day).decisions}
        for day in self.known.outdated(key) & decisions.keys():
            if decisions[day].verdict == "due" and not decisions[day].attempts:
                reason = self.known.why_outdated(key, day)
                decisions[day] = replace(decisions[day], reason=reason)
        return Plan([decisions[day] for day in sorted(decisions)])

    def _plan(self, asset: DatedAsset, ready: Ready | None, only: date | None = None) -> Plan:
        """The plan of one asset; `only` asks for that one day, whatever the policy says."""
        if only is None and self.only is not None:
            return Plan([])
        first, last = (only, only) if only is not None else self._bounds(asset)
        if last < first:
            return Plan([])
        return plan_intervals(
            self.timetable,
            as_of=self.as_of,
            start=first,
            end=last,
            done=self.known.done(asset.key),
            in_flight=asset.recorded.in_flight.keys(),
            failed=asset.recorded.failed,
            policy=self.policy if only is None else CatchupPolicy.all(),
            retry_failed=self.retry_failed,
            ready=ready,
        )

    def warm_up(self, wanted: dict[dg.AssetKey, set[date]]) -> dict[AssetDay, dg.AssetKey]:
        """Upstream days, of any depth, that a wanted day needs and nobody else asks for."""
        found: dict[AssetDay, dg.AssetKey] = {}
        for key in reversed(self.known.assets):
            asset = self.known.assets[key]
            for day in sorted(wanted[key]):
                for parent, upstream_day in self.known.upstream(asset, day):
                    if parent not in wanted or upstream_day in self.known.done(parent):
                        continue
                    if upstream_day not in wanted[parent] and self._bounded(parent, upstream_day):
                        wanted[parent].add(upstream_day)
                        found[parent, upstream_day] = key
        return found

    def _bounds(self, asset: DatedAsset) -> tuple[date, date]:
        workdays = self._workdays(asset)
        first = max(self.start or self.timetable.calendar.first_date, workdays.first_date)
        last = min(self.end or self.timetable.local_date(self.as_of), workdays.last_date)
        if self.source is not None and self.source.last_date is not None:
            last = min(last, self.source.last_date)
        if not self.whole_history and first <= last:
            first = oldest_kept(self.timetable, self.as_of, first, last, self.policy)
        return first, last

    def _asked_for(self, day: date) -> bool:
        if self.only is not None:
            return False
        return (self.start is None or day >= self.start) and (self.end is None or day <= self.end)

    def _bounded(self, key: dg.AssetKey, day: date) -> bool:
        definition = self._workdays(self.known.assets[key])
        return definition.first_date <= day <= definition.last_date

    def _ready(
        self, asset: DatedAsset, day: date, due: Mapping[dg.AssetKey, Set[date]]
    ) -> bool | str:
        if asset.is_root:
            if self.source is None or self.source.published(day):
                return True
            return f"the source has not published {day} yet"
        for parent, upstream_day in self.known.upstream(asset, day):
            if upstream_day in self.known.done(parent):
                continue
            in_time = upstream_day <= day if self.in_order else upstream_day == day
            if in_time and upstream_day in due.get(parent, ()):
                continue
            if in_time and upstream_day in self.requested.get(parent, ()):
                continue
            return f"it waits for {parent.to_user_string()} {upstream_day}"
        missing = self.known.missing_elsewhere(asset, day)
        return True if missing is None else f"it waits for {missing}"

    def _workdays(self, asset: DatedAsset) -> WorkdayPartitionsDefinition:
        name, workdays = asset.key.to_user_string(), asset.dates
        if not isinstance(workdays, WorkdayPartitionsDefinition):
            raise InvalidInputError(
                f"assets={name} is not partitioned by a WorkdayPartitionsDefinition"
                f" ({asset.definition}); leave it out."
            )
        ours = (self.timetable.calendar, self.timetable.timezone)
        if (workdays.calendar, workdays.timezone) != ours:
            raise InvalidInputError(
                f"assets={name} is partitioned by {workdays.calendar.name} in {workdays.timezone},"
                f" but the timetable is of {ours[0].name} in {ours[1]}; give both the same calendar"
                " and zone."
            )
        return workdays


D_co = TypeVar("D_co", bound=Decision, covariant=True)


class Decisions(Protocol[D_co]):
    """A plan of one asset."""

    @property
    def decisions(self) -> Sequence[D_co]:
        """The decisions on its workdays or periods, oldest first."""


def decisions_of(
    plans: Mapping[dg.AssetKey, Decisions[D_co]], verdict: Verdict
) -> Iterator[tuple[dg.AssetKey, D_co]]:
    """Every decision with `verdict`, by asset, oldest first."""
    for key, plan in plans.items():
        for decision in plan.decisions:
            if decision.verdict == verdict:
                yield key, decision
