"""Run requests and tick texts made from the plans of periods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import dagster as dg

from workday_assets.automation.period_plans import PeriodDecision, PeriodPlans
from workday_assets.automation.plans import WorkdaySource, decisions_of
from workday_assets.automation.requests import (
    RUN_PER_DAY_LIMIT,
    failures,
    range_tags,
    run_request,
    waits,
)

if TYPE_CHECKING:
    from workday_assets.planner import CatchupPolicy
    from workday_assets.timetable import WorkdayTimetable


@dataclass(frozen=True)
class PeriodSpan:
    """One run: the periods from `first` to `last`, both included, of assets that share them."""

    first: PeriodDecision
    last: PeriodDecision
    keys: frozenset[dg.AssetKey]


def period_requests(
    plans: PeriodPlans, timetable: WorkdayTimetable, instance: dg.DagsterInstance, *, trigger: str
) -> list[dg.RunRequest]:
    """The runs to request, the period that closed first before others.

    Up to ten due periods of a partitions definition are a run each; more are ranges. A run key is
    as that of `run_requests` with an asset before it: a week and a month can have the same key.
    """
    requests = []
    for span in period_spans(plans):
        first, last = span.first.workdays[0], span.last.workdays[-1]
        requests.append(
            run_request(
                instance,
                span.first.period.key,
                span.last.period.key,
                span.keys,
                range_tags(timetable, first, last, trigger),
                prefix=f"{min(span.keys).to_user_string()} ",
            )
        )
    return requests


def period_spans(plans: PeriodPlans, *, merge: bool | None = None) -> list[PeriodSpan]:
    """The due periods as runs, the one that closed first before others.

    Merged, a span is a stretch of periods without a gap, of the same assets, all of which can make
    several in one run (backfill policy `single_run`); else it is one period. By default those of a
    partitions definition are merged when they are more than ten.
    """
    found: list[PeriodSpan] = []
    for periods in dict.fromkeys(plan.periods for plan in plans.plans.values()):
        due: dict[int, PeriodSpan] = {}
        for key, plan in plans.plans.items():
            for decision in plan.due if plan.periods == periods else ():
                index = periods.index(decision.day)
                keys = due[index].keys if index in due else frozenset()
                due[index] = PeriodSpan(decision, decision, keys | {key})
        many = len(due) > RUN_PER_DAY_LIMIT if merge is None else merge
        found += _merged(sorted(due.items()), plans) if many else due.values()
    return sorted(found, key=lambda span: span.first.workdays[-1])


def _merged(due: Iterable[tuple[int, PeriodSpan]], plans: PeriodPlans) -> Iterator[PeriodSpan]:
    """Spans of one period each, with their place among all periods, as few spans as can be."""
    before: tuple[int, PeriodSpan] | None = None
    for index, span in due:
        if before is not None:
            follows = before[0] == index - 1 and before[1].keys == span.keys
            if follows and span.keys <= plans.ranged:
                before = (index, replace(before[1], last=span.last))
                continue
            yield before[1]
        before = (index, span)
    if before is not None:
        yield before[1]


def period_skip_text(
    plans: PeriodPlans, source: WorkdaySource | None, policy: CatchupPolicy
) -> str:
    """Why nothing is requested: what is waited for, then what closes next."""
    parts = [*waits(plans.plans), *failures(plans.plans)]
    if not parts:
        done = [decision.day for _, decision in decisions_of(plans.plans, "done")]
        parts.append(
            f"nothing is due of {policy.describe('period')}: all {len(plans.plans)} assets are done"
            f" up to the period of {max(done)}"
            if done
            else "no period is complete yet"
        )
    return "; ".join([*parts, _next(plans, source)]) + "."


def _next(plans: PeriodPlans, source: WorkdaySource | None) -> str:
    closes = [
        (decision.run_after, key.to_user_string(), decision.day)
        for key, decision in decisions_of(plans.plans, "waiting")
        if decision.run_after is not None
    ]
    if closes:
        run_after, name, day = min(closes)
        return f"next run {run_after:%Y-%m-%d %H:%M} for {name} {day}"
    begins = min(
        (p.periods.all[-1].past for p in plans.plans.values() if p.periods.all), default=None
    )
    if begins is None:
        return "no period has begun"
    if source is not None and source.last_date is not None and source.last_date < begins:
        return source.describe()
    return f"the next period begins {begins}"
