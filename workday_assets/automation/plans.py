"""Plans for a graph of workday assets: the planner per asset, with its upstream partitions.

The sensor, the schedule and the command line call `plan_assets`, so that what is shown is what
is requested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.automation.recorded import Recorded, read_recorded
from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.planner import CatchupPolicy, Decision, Plan, oldest_kept, plan_intervals
from workday_assets.timetable import WorkdayTimetable

AssetDay = tuple[dg.AssetKey, date]


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
    """

    plans: Mapping[dg.AssetKey, Plan]
    warm_up: Mapping[AssetDay, dg.AssetKey]

    def due_by_day(self) -> dict[date, frozenset[dg.AssetKey]]:
        """For each due day, oldest first, the assets to request."""
        due: dict[date, set[dg.AssetKey]] = {}
        for key, plan in self.plans.items():
            for day in plan.due:
                due.setdefault(day, set()).add(key)
        return {day: frozenset(due[day]) for day in sorted(due)}


@dataclass(frozen=True)
class _Asset:
    key: dg.AssetKey
    partitions_def: WorkdayPartitionsDefinition
    parents: Mapping[dg.AssetKey, dg.PartitionMapping]
    recorded: Recorded


class _Graph:
    """The selected assets, their recorded state, and that of the parents they need."""

    def __init__(
        self, graph: BaseAssetGraph[Any], instance: dg.DagsterInstance, keys: Iterable[dg.AssetKey]
    ) -> None:
        selected = set(keys)
        self.graph = graph
        self.instance = instance
        self.assets = {
            key: self._asset(key) for key in graph.toposorted_asset_keys if key in selected
        }
        self._outside: dict[dg.AssetKey, frozenset[date]] = {}

    def _asset(self, key: dg.AssetKey) -> _Asset:
        partitions_def = self.graph.get(key).partitions_def
        if not isinstance(partitions_def, WorkdayPartitionsDefinition):
            raise InvalidInputError(
                f"assets={key.to_user_string()} is not partitioned by a"
                f" WorkdayPartitionsDefinition ({type(partitions_def).__name__}); leave it out."
            )
        parents = {
            parent: self.graph.get_partition_mapping(key, parent_asset_key=parent)
            for parent in sorted(self.graph.get(key).parent_keys)
            if isinstance(self.graph.get(parent).partitions_def, WorkdayPartitionsDefinition)
        }
        return _Asset(key, partitions_def, parents, self._read(key))

    def _read(self, key: dg.AssetKey) -> Recorded:
        partitions_def = self.graph.get(key).partitions_def
        assert isinstance(partitions_def, WorkdayPartitionsDefinition)  # noqa: S101 - narrowed by callers
        return read_recorded(self.instance, key, partitions_def)

    def done(self, key: dg.AssetKey) -> frozenset[date]:
        """The materialized days of an asset, selected or not."""
        if key in self.assets:
            return self.assets[key].recorded.done
        if key not in self._outside:
            self._outside[key] = self._read(key).done
        return self._outside[key]

    def upstream(self, asset: _Asset, day: date, as_of: datetime) -> Iterator[AssetDay]:
        """The (asset, day) pairs that `asset` needs for `day`, by its partition mappings."""
        for parent, mapping in asset.parents.items():
            upstream_def = self.graph.get(parent).partitions_def
            assert isinstance(upstream_def, WorkdayPartitionsDefinition)  # noqa: S101 - chosen so
            for upstream_day in upstream_days(
                mapping, asset.partitions_def, upstream_def, day, as_of
            ):
                yield parent, upstream_day


def upstream_days(
    mapping: dg.PartitionMapping,
    partitions_def: WorkdayPartitionsDefinition,
    upstream_def: WorkdayPartitionsDefinition,
    day: date,
    as_of: datetime,
) -> list[date]:
    """The upstream workdays that `mapping` names for the workday `day`, oldest first."""
    with partition_loading_context(as_of):
        subset = partitions_def.subset_with_partition_keys([day.strftime(partitions_def.fmt)])
        result = mapping.get_upstream_mapped_partitions_result_for_partitions(
            subset, partitions_def, upstream_def
        )
        keys = result.partitions_subset.get_partition_keys()
    return sorted(upstream_def.day(key) for key in keys)


def plan_assets(
    graph: BaseAssetGraph[Any],
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    timetable: WorkdayTimetable,
    *,
    as_of: datetime,
    policy: CatchupPolicy,
    retry_failed: int = 0,
    source: WorkdaySource | None = None,
    start: date | None = None,
    end: date | None = None,
    in_order: bool = False,
    whole_history: bool = True,
) -> AssetPlans:
    """Plan every asset of `keys` at `as_of`, oldest day first.

    An asset is due for a day when its own plan says so, the source has published the day (assets
    without workday parents), and every upstream partition that its mapping names is materialized
    or requested for the same day, hence in the same run. Upstream days that the policy would leave
    out but a due day needs are warm-up: they are requested too.

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

    Raises:
        InvalidInputError: an asset is not partitioned by workdays, or by another calendar.
    """
    known = _Graph(graph, instance, keys)
    planner = _Planner(
        known, timetable, as_of, policy, retry_failed, source, start, end, in_order, whole_history
    )
    wanted = {key: set(planner.plan(key, None).due) for key in known.assets}
    warm_up = planner.warm_up(wanted)
    plans: dict[dg.AssetKey, Plan] = {}
    for key in known.assets:
        extra = sorted(day for owner, day in warm_up if owner == key)
        plans[key] = planner.final(key, plans, extra)
    requested = {(key, day) for key, plan in plans.items() for day in plan.due}
    return AssetPlans(plans, {pair: warm_up[pair] for pair in warm_up if pair in requested})


@dataclass(frozen=True)
class _Planner:
    known: _Graph
    timetable: WorkdayTimetable
    as_of: datetime
    policy: CatchupPolicy
    retry_failed: int
    source: WorkdaySource | None
    start: date | None
    end: date | None
    in_order: bool
    whole_history: bool

    def plan(
        self, key: dg.AssetKey, plans: Mapping[dg.AssetKey, Plan] | None, only: date | None = None
    ) -> Plan:
        """The plan of one asset; `only` asks for that one day, whatever the policy says."""
        asset = self.known.assets[key]
        self._require_same_calendar(asset)
        first, last = self._bounds(asset)
        if last < first:
            return Plan([])
        due = {k: frozenset(plan.due) for k, plan in (plans or {}).items()}
        return plan_intervals(
            self.timetable,
            as_of=self.as_of,
            start=only or first,
            end=only or last,
            done=asset.recorded.done,
            in_flight=asset.recorded.in_flight.keys(),
            failed=asset.recorded.failed,
            policy=self.policy if only is None else CatchupPolicy.all(),
            retry_failed=self.retry_failed,
            ready=None if plans is None else lambda day: self._ready(asset, day, due),
        )

    def final(
        self, key: dg.AssetKey, plans: Mapping[dg.AssetKey, Plan], extra: Sequence[date]
    ) -> Plan:
        """The plan with readiness, and with the decisions on warm-up days put in."""
        decisions = {decision.day: decision for decision in self.plan(key, plans).decisions}
        for day in extra:
            decisions |= {d.day: d for d in self.plan(key, plans, only=day).decisions}
        return Plan([decisions[day] for day in sorted(decisions)])

    def warm_up(self, wanted: dict[dg.AssetKey, set[date]]) -> dict[AssetDay, dg.AssetKey]:
        """Upstream days, of any depth, that a wanted day needs and nobody else asks for."""
        found: dict[AssetDay, dg.AssetKey] = {}
        for key in reversed(self.known.assets):
            asset = self.known.assets[key]
            for day in sorted(wanted[key]):
                for parent, upstream_day in self.known.upstream(asset, day, self.as_of):
                    if parent not in wanted or upstream_day in self.known.done(parent):
                        continue
                    if upstream_day not in wanted[parent] and self._bounded(parent, upstream_day):
                        wanted[parent].add(upstream_day)
                        found[parent, upstream_day] = key
        return found

    def _bounds(self, asset: _Asset) -> tuple[date, date]:
        calendar = self.timetable.calendar
        first = max(self.start or calendar.first_date, asset.partitions_def.first_date)
        last = min(
            self.end or self.timetable.local_date(self.as_of), asset.partitions_def.last_date
        )
        if self.source is not None and self.source.last_date is not None:
            last = min(last, self.source.last_date)
        if not self.whole_history and first <= last:
            first = oldest_kept(self.timetable, self.as_of, first, last, self.policy)
        return first, last

    def _bounded(self, key: dg.AssetKey, day: date) -> bool:
        definition = self.known.assets[key].partitions_def
        return definition.first_date <= day <= definition.last_date

    def _ready(
        self, asset: _Asset, day: date, due: Mapping[dg.AssetKey, frozenset[date]]
    ) -> bool | str:
        if not asset.parents:
            if self.source is None or self.source.published(day):
                return True
            return f"the source has not published {day} yet"
        for parent, upstream_day in self.known.upstream(asset, day, self.as_of):
            if upstream_day in self.known.done(parent):
                continue
            in_time = upstream_day <= day if self.in_order else upstream_day == day
            if in_time and upstream_day in due.get(parent, ()):
                continue
            return f"it waits for {parent.to_user_string()} {upstream_day}"
        return True

    def _require_same_calendar(self, asset: _Asset) -> None:
        definition = asset.partitions_def
        ours = (self.timetable.calendar, self.timetable.timezone)
        if (definition.calendar, definition.timezone) != ours:
            raise InvalidInputError(
                f"assets={asset.key.to_user_string()} is partitioned by"
                f" {definition.calendar.name} in {definition.timezone}, but the timetable is of"
                f" {ours[0].name} in {ours[1]}; give both the same calendar and zone."
            )


def decisions_of(plans: AssetPlans, verdict: str) -> Iterator[tuple[dg.AssetKey, Decision]]:
    """Every decision with `verdict`, by asset, oldest first."""
    for key, plan in plans.plans.items():
        for decision in plan.decisions:
            if decision.verdict == verdict:
                yield key, decision
