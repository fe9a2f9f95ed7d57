"""What a backfill makes, exactly, asset by asset; nothing is run and nothing is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, TypeVar

import dagster as dg

from workday_assets.automation.dependants import all_dates, dependants
from workday_assets.automation.graph import DatedGraph, Dates
from workday_assets.automation.period_plans import PeriodPlan, PeriodPlans, plan_periods
from workday_assets.automation.periods import Periods, has_whole_dates
from workday_assets.automation.plans import AssetPlans, plan_assets
from workday_assets.cli.project import Project
from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.planner import CatchupPolicy, Decision, Plan

Made = dict[dg.AssetKey, set[date]]


@dataclass(frozen=True)
class Request:
    """What a person asked for.

    Attributes:
        first: first date, included; `None` is the start of each asset's history.
        last: last date, included; `None` is the end of what the source has.
        names: assets, slash-separated; none means all that have workday or period partitions.
        force: whether what is materialized is made again.
        downstream: whether the dependants of what is made are made after it, in the range or not.
    """

    first: date | None = None
    last: date | None = None
    names: Sequence[str] = ()
    force: bool = False
    downstream: bool = False


@dataclass(frozen=True)
class BackfillPlan:
    """What is made; a date is a workday, or the first date of a period.

    Attributes:
        workdays: the plans of workday assets, those of dependants among them.
        periods: the plans of period assets, likewise; they are made after the workdays.
        dates: by asset, its partitions; workdays first, and upstream before downstream.
        dependants: by asset, which of the dates were added because they depend on others.
        left_out: complete dates that nobody asked to leave out, with the reason; somebody else
            makes them, or they wait for what nobody makes.
        published_to: where no last date was asked for of a live source, the newest day that it has
            published: nothing later is looked at. `None` where all complete days are published.
    """

    workdays: AssetPlans
    periods: PeriodPlans
    dates: Mapping[dg.AssetKey, Dates]
    dependants: Mapping[dg.AssetKey, Set[date]]
    left_out: Sequence[tuple[dg.AssetKey, Decision]]
    published_to: date | None = None

    def due(self) -> dict[dg.AssetKey, list[date]]:
        """By asset, in the order of `dates`, the dates that are made, oldest first."""
        plans: dict[dg.AssetKey, Plan | PeriodPlan] = {**self.workdays.plans, **self.periods.plans}
        due = {
            key: [d.day for d in plans[key].decisions if d.verdict == "due"]
            for key in self.dates
            if key in plans
        }
        return {key: days for key, days in due.items() if days}

    def roles(self, key: dg.AssetKey) -> dict[str, list[date]]:
        """Why the dates of an asset are made: asked for, warm-up or downstream."""
        found: dict[str, list[date]] = {}
        for day in self.due().get(key, ()):
            added = day in self.dependants.get(key, ())
            role = "downstream" if added else "asked for"
            role = "warm-up" if (key, day) in self.workdays.warm_up else role
            found.setdefault(role, []).append(day)
        return found

    def stretches(self, key: dg.AssetKey, days: Sequence[date]) -> list[tuple[date, date]]:
        """Dates of an asset, ascending, as ranges of partitions without a gap."""
        found: list[tuple[date, date]] = []
        dates = self.dates[key]
        for day in days:
            if found and day in dates.days_around(found[-1][1], 1, 1):
                found[-1] = (found[-1][0], day)
            else:
                found.append((day, day))
        return found

    def key_of(self, key: dg.AssetKey, day: date) -> str:
        """The partition key of a date of an asset."""
        return day.strftime(self.dates[key].fmt)


def plan_backfill(project: Project, request: Request) -> BackfillPlan:
    """Decide what is made for `request`.

    Raises:
        InvalidInputError: the range is reversed, an asset is unknown, or the range holds no whole
            period of an asset that was named.
    """
    if request.first and request.last and request.last < request.first:
        raise InvalidInputError(
            f"--to={request.last} is before --from={request.first}; exchange them."
        )
    published_to = _published_to(project) if request.last is None else None
    planner = _Planner(project, replace(request, last=request.last or published_to))
    selected = planner.selected()
    workdays = planner.plan_workdays(selected)
    made: Made = {key: set(plan.due) for key, plan in workdays.plans.items()}
    periods = planner.plan_periods(selected, made)
    _add(made, periods)
    left_out = [*_left_out(workdays), *_left_out(periods)]
    added: Made = {}
    if request.downstream:
        added = dependants(planner.known(), made)
        more, more_periods = planner.plan_dependants(added, made)
        left_out += planner.made_before([*_left_out(more), *_left_out(more_periods)])
        workdays, periods = _both(workdays, more), _both_periods(periods, more_periods)
    return BackfillPlan(workdays, periods, planner.dates, added, left_out, published_to)


class _Planner:
    """Answers for one project and request; the order of calls is that of `plan_backfill`."""

    def __init__(self, project: Project, request: Request) -> None:
        self.graph = project.repository.asset_graph
        self.project = project
        self.request = request
        found: dict[dg.AssetKey, Dates] = {}
        for key in self.graph.toposorted_asset_keys:
            definition = self.graph.get(key).partitions_def
            if isinstance(definition, WorkdayPartitionsDefinition):
                found[key] = definition
            elif isinstance(definition, dg.TimeWindowPartitionsDefinition) and has_whole_dates(
                definition
            ):
                found[key] = Periods(definition, project.as_of)
        periods_last = sorted(found, key=lambda key: isinstance(found[key], Periods))
        self.dates = {key: found[key] for key in periods_last}

    def selected(self) -> list[dg.AssetKey]:
        """The assets that were asked for, upstream before downstream."""
        wanted = {dg.AssetKey.from_user_string(name) for name in self.request.names}
        for key in sorted(wanted - self.dates.keys()):
            raise InvalidInputError(
                f"--asset={key.to_user_string()} is no asset of this project with a partition per"
                f" workday or period; choose from"
                f" {', '.join(known.to_user_string() for known in self.dates)}."
            )
        return [key for key in self.dates if not wanted or key in wanted]

    def plan_workdays(self, selected: Sequence[dg.AssetKey]) -> AssetPlans:
        """What is made of workday assets because it was asked for, with its warm-up."""
        first, last = self.request.first, self.request.last
        keys = [key for key in selected if not isinstance(self.dates[key], Periods)]
        again = {key: set(self._in_range(key)) for key in keys} if self.request.force else None
        return self._workdays(keys, start=first, end=last, remake=again)

    def plan_periods(self, selected: Sequence[dg.AssetKey], made: Made) -> PeriodPlans:
        """What is made of period assets because it was asked for, after `made`."""
        keys = [key for key in selected if isinstance(self.dates[key], Periods)]
        whole = {key: set(self._in_range(key)) for key in keys}
        for key in keys:
            if not whole[key] and key.to_user_string() in self.request.names:
                given = {"--from": self.request.first, "--to": self.request.last}
                words = " ".join(f"{option}={day}" for option, day in given.items() if day)
                raise InvalidInputError(
                    f"{words} leaves no whole period of {key.to_user_string()}; give a range with"
                    " every workday of one, or --downstream with the days' asset."
                )
        again = whole if self.request.force else None
        return self._periods(keys, only=whole, remake=again, requested=made)

    def plan_dependants(self, added: Made, made: Made) -> tuple[AssetPlans, PeriodPlans]:
        """What of `added` can be made, after `made`, which it extends."""
        days = {k: v for k, v in added.items() if not isinstance(self.dates[k], Periods)}
        workdays = self._workdays(list(days), only=days, remake=days, requested=made)
        _add(made, workdays)
        others = {k: v for k, v in added.items() if k not in days}
        return workdays, self._periods(list(others), only=others, remake=others, requested=made)

    def known(self) -> DatedGraph:
        """All assets with dates."""
        return DatedGraph(self.graph, self.project.instance, self.dates, self.project.as_of)

    def made_before(
        self, left_out: Sequence[tuple[dg.AssetKey, Decision]]
    ) -> list[tuple[dg.AssetKey, Decision]]:
        """Those that are materialized, and now of old data: others were never there."""
        instance = self.project.instance
        keys = {key for key, _ in left_out}
        made = {key: instance.get_materialized_partitions(key) for key in keys}
        return [(k, d) for k, d in left_out if d.day.strftime(self.dates[k].fmt) in made[k]]

    def _in_range(self, key: dg.AssetKey) -> Iterator[date]:
        """The workdays, or the first dates of whole periods, of an asset in the range."""
        dates, calendar = self.dates[key], self.project.timetable.calendar
        first, last = self.request.first or date.min, self.request.last or date.max
        if not isinstance(dates, Periods):
            yield from (day for day in all_dates(dates) if first <= day <= last)
            return
        known_to = calendar.last_date + timedelta(days=1)
        for period in dates.all:
            begin, past = max(period.first, calendar.first_date), min(period.past, known_to)
            days = calendar.workdays(begin, past) if begin < past else []
            if days and first <= days[0] and days[-1] <= last:
                yield period.first

    def _workdays(self, keys: Sequence[dg.AssetKey], **options: Any) -> AssetPlans:
        project = self.project
        return plan_assets(
            self.graph,
            project.instance,
            keys,
            project.timetable,
            as_of=project.as_of,
            policy=CatchupPolicy.all(),
            retry_failed=None,  # who asks for a day wants it tried again, however often it failed
            source=project.source,
            in_order=True,
            **options,
        )

    def _periods(self, keys: Sequence[dg.AssetKey], **options: Any) -> PeriodPlans:
        project = self.project
        return plan_periods(
            self.graph,
            project.instance,
            keys,
            project.timetable,
            as_of=project.as_of,
            retry_failed=None,
            source=project.source,
            **options,
        )


def _published_to(project: Project) -> date | None:
    """The newest complete day that a live source has, where the newest of all is still to come."""
    calendar = project.timetable.calendar
    newest = day = project.timetable.last_complete(project.as_of)
    if day is None or project.source.last_date is not None:
        return None
    while day > calendar.next(calendar.first_date) and not project.source.published(day):
        day = calendar.previous(day)
    return day if day != newest else None


def _add(made: Made, plans: AssetPlans | PeriodPlans) -> None:
    for key, plan in plans.plans.items():
        due = {d.day for d in plan.decisions if d.verdict == "due"}
        made[key] = made.get(key, set()) | due


def _left_out(plans: AssetPlans | PeriodPlans) -> Iterator[tuple[dg.AssetKey, Decision]]:
    for key, plan in plans.plans.items():
        for decision in plan.decisions:
            if decision.verdict in ("in_flight", "not_ready"):
                yield key, decision


def _both(plans: AssetPlans, more: AssetPlans) -> AssetPlans:
    """The plans of both; a day of both is decided by the second."""
    merged = dict(plans.plans)
    for key, plan in more.plans.items():
        before = merged[key].decisions if key in merged else []
        merged[key] = Plan(_newest(before, plan.decisions))
    return replace(plans, plans=merged, ranged=plans.ranged | more.ranged)


def _both_periods(plans: PeriodPlans, more: PeriodPlans) -> PeriodPlans:
    merged = dict(plans.plans)
    for key, plan in more.plans.items():
        before = merged[key].decisions if key in merged else []
        merged[key] = PeriodPlan(plan.periods, _newest(before, plan.decisions))
    return replace(plans, plans=merged, ranged=plans.ranged | more.ranged)


D = TypeVar("D", bound=Decision)


def _newest(before: Sequence[D], after: Sequence[D]) -> list[D]:
    decided = {d.day: d for d in before} | {d.day: d for d in after}
    return [decided[day] for day in sorted(decided)]
