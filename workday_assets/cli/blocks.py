"""A backfill cut into runs: each over at most 500 partitions of assets that can share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import dagster as dg

from workday_assets.automation.period_requests import period_spans
from workday_assets.automation.requests import (
    BACKFILL_TRIGGER,
    interval_tags,
    partition_tags,
    range_tags,
    spans,
)
from workday_assets.cli.backfill_plan import BackfillPlan
from workday_assets.timetable import WorkdayTimetable

#: A killed backfill makes at most so many partitions of an asset again, and a run holds at most so
#: many in memory.
KEYS_PER_RUN = 500


@dataclass(frozen=True)
class Block:
    """One run.

    Attributes:
        assets: what it makes.
        dates: of these dates, oldest first, without a gap: workdays, or first dates of periods.
        keys: the partition keys of the first and the last date.
        tags: Dagster's partition tags, and this package's.
    """

    assets: frozenset[dg.AssetKey]
    dates: Sequence[date]
    keys: tuple[str, str]
    tags: Mapping[str, str]

    def describe(self) -> str:
        """Its partitions, for people."""
        first, last = self.keys
        return first if first == last else f"{first} to {last}"


def blocks(plan: BackfillPlan, timetable: WorkdayTimetable) -> Iterator[Block]:
    """The runs of a plan, in an order in which each finds its inputs made."""
    for first, last, assets in spans(plan.workdays, timetable, merge=True):
        days = timetable.calendar.workdays(first, last + timedelta(days=1))
        yield from _pieces(plan, timetable, assets, days)
    plans = plan.periods.plans
    kinds = list(dict.fromkeys(each.periods for each in plans.values()))  # upstream first
    runs = period_spans(plan.periods, merge=True)
    for span in sorted(runs, key=lambda span: kinds.index(plans[min(span.keys)].periods)):
        due = [decision.day for decision in plans[min(span.keys)].due]
        inside = [day for day in due if span.first.day <= day <= span.last.day]
        yield from _pieces(plan, timetable, span.keys, inside)


def block(
    plan: BackfillPlan,
    timetable: WorkdayTimetable,
    assets: frozenset[dg.AssetKey],
    dates: Sequence[date],
) -> Block:
    """The run that makes `dates`, at least one and without a gap, of `assets`, which share it."""
    key = min(assets)
    first, last = workdays_of(plan, key, dates)
    keys = (plan.key_of(key, dates[0]), plan.key_of(key, dates[-1]))
    make_tags = range_tags if key in plan.periods.plans else interval_tags
    tags = {**partition_tags(*keys), **make_tags(timetable, first, last, BACKFILL_TRIGGER)}
    return Block(assets, dates, keys, tags)


def workdays_of(plan: BackfillPlan, key: dg.AssetKey, dates: Sequence[date]) -> tuple[date, date]:
    """The first and the last workday of dates, ascending, of an asset."""
    if key not in plan.periods.plans:
        return dates[0], dates[-1]
    decisions = {d.day: d for d in plan.periods.plans[key].decisions}
    return decisions[dates[0]].workdays[0], decisions[dates[-1]].workdays[-1]


def _pieces(
    plan: BackfillPlan,
    timetable: WorkdayTimetable,
    assets: frozenset[dg.AssetKey],
    dates: Sequence[date],
) -> Iterator[Block]:
    for start in range(0, len(dates), KEYS_PER_RUN):
        yield block(plan, timetable, assets, dates[start : start + KEYS_PER_RUN])
