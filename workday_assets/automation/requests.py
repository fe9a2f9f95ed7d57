"""Run requests and tick texts made from the plans of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from workday_assets.automation.plans import AssetPlans, Decisions, WorkdaySource, decisions_of
from workday_assets.automation.recorded import next_run_number
from workday_assets.planner import Decision

if TYPE_CHECKING:
    from workday_assets.planner import CatchupPolicy, Verdict
    from workday_assets.timetable import WorkdayTimetable

TRIGGER_TAG = "workday/trigger"
#: The trigger of runs that the command line executes itself.
BACKFILL_TRIGGER = "workday-assets backfill"
#: Up to so many due days get a run each; more are requested as ranges.
RUN_PER_DAY_LIMIT = 10

Plans = Mapping[dg.AssetKey, Decisions[Decision]]
Span = tuple[date, date, frozenset[dg.AssetKey]]


def run_requests(
    plans: AssetPlans,
    timetable: WorkdayTimetable,
    instance: dg.DagsterInstance,
    *,
    trigger: str,
) -> list[dg.RunRequest]:
    """The runs to request, oldest first: one per day, or per range when many days are due.

    A run key is the partition key (or range) and the number of earlier runs with it, of any
    status, so that a failed or wiped day can be asked for again and a repeated tick cannot.
    """
    requests = []
    many = len(plans.due_by_day()) > RUN_PER_DAY_LIMIT
    for first, last, keys in spans(plans, timetable, merge=many):
        tags = interval_tags(timetable, first, last, trigger)
        begin, finish = first.strftime(plans.fmt), last.strftime(plans.fmt)
        requests.append(run_request(instance, begin, finish, keys, tags))
    return requests


def run_request(
    instance: dg.DagsterInstance,
    first: str,
    last: str,
    keys: Set[dg.AssetKey],
    tags: Mapping[str, str],
    prefix: str = "",
) -> dg.RunRequest:
    """One run over the partition keys `first` to `last` of the assets `keys`."""
    key_tags = partition_tags(first, last)
    single = first == last
    name = first if single else f"{first}..{last}"
    return dg.RunRequest(
        run_key=f"{prefix}{name}#{next_run_number(instance, key_tags)}",
        partition_key=first if single else None,
        asset_selection=sorted(keys),
        tags={**({} if single else key_tags), **tags},
    )


def partition_tags(first: str, last: str) -> dict[str, str]:
    """Dagster's tags of a run over the partition keys `first` to `last`, both included."""
    if first == last:
        return {PARTITION_NAME_TAG: first}
    return {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}


def interval_tags(
    timetable: WorkdayTimetable, first: date, last: date, trigger: str
) -> dict[str, str]:
    """The tags that every run over workdays carries; a range run has first and last of each."""
    tags = range_tags(timetable, first, last, trigger)
    if first == last:
        del tags["workday/logical_date_last"]
        tags["workday/logical_date"] = tags.pop("workday/logical_date_first")
    return tags


def range_tags(
    timetable: WorkdayTimetable, first: date, last: date, trigger: str
) -> dict[str, str]:
    """The tags of a run over the workdays from `first` to `last`, or over their period."""
    return {
        "workday/logical_date_first": first.isoformat(),
        "workday/logical_date_last": last.isoformat(),
        "workday/interval_start": timetable.interval(first).start.isoformat(),
        "workday/interval_end": timetable.interval(last).end.isoformat(),
        "workday/run_after": timetable.run_after(last).isoformat(),
        TRIGGER_TAG: trigger,
    }


def skip_text(
    plans: AssetPlans,
    timetable: WorkdayTimetable,
    as_of: datetime,
    source: WorkdaySource | None,
    policy: CatchupPolicy,
) -> str:
    """Why nothing is requested: what is waited for, then what comes next."""
    parts = [*waits(plans.plans), *failures(plans.plans)]
    if not parts:
        parts.append(_all_done(plans, policy))
    parts.append(_next(timetable, as_of, source))
    return "; ".join(parts) + "."


def spans(plans: AssetPlans, timetable: WorkdayTimetable, *, merge: bool) -> Iterator[Span]:
    """The due days as (first, last, assets), oldest first.

    Merged, a span is a stretch of consecutive workdays with the same assets, all of which can make
    several days in one run (backfill policy `single_run`); else it is one day.
    """
    span: Span | None = None
    for day, keys in plans.due_by_day().items():
        mergeable = merge and keys <= plans.ranged
        if span is not None:
            first, last, span_keys = span
            if mergeable and keys == span_keys and timetable.calendar.next(last) == day:
                span = (first, day, keys)
                continue
            yield span
        span = (day, day, keys)
    if span is not None:
        yield span


def waits(plans: Plans) -> Iterator[str]:
    """What complete partitions wait for, and which are in flight."""
    yield from _named(plans, "not_ready")
    flying: dict[date, list[str]] = {}
    for key, decision in decisions_of(plans, "in_flight"):
        flying.setdefault(decision.day, []).append(key.to_user_string())
    for day, names in sorted(flying.items()):
        yield f"in flight: {', '.join(names)} {day}"


def failures(plans: Plans) -> Iterator[str]:
    """Which partitions failed so often that they are not asked for again."""
    yield from _named(plans, "failed")


def _named(plans: Plans, verdict: Verdict) -> Iterator[str]:
    for key, decision in decisions_of(plans, verdict):
        yield f"{key.to_user_string()} {decision.day}: {decision.reason}"


def _all_done(plans: AssetPlans, policy: CatchupPolicy) -> str:
    done = [decision.day for _, decision in decisions_of(plans.plans, "done")]
    if not done:
        return "no workday is complete yet"
    newest = max(done)
    done_by = f"all {len(plans.plans)} assets are done up to {newest}"
    return f"nothing is due of {policy.describe()}: {done_by}"


def _next(timetable: WorkdayTimetable, as_of: datetime, source: WorkdaySource | None) -> str:
    calendar = timetable.calendar
    upcoming = timetable.upcoming(as_of)
    end = source.last_date if source is not None else None
    if source is not None and end is not None and (not upcoming or upcoming.interval.day > end):
        return source.describe()
    if upcoming is None:
        return (
            f"calendar {calendar.name} ends {calendar.last_date}: freeze one that reaches further"
        )
    text = f"next run {upcoming.run_after:%Y-%m-%d %H:%M} for {upcoming.interval.day}"
    yesterday = timetable.local_date(as_of) - timedelta(days=1)
    if calendar.first_date <= yesterday and not calendar.is_workday(yesterday):
        return f"{yesterday} is {calendar.describe(yesterday)} in {calendar.name}; {text}"
    return text
