"""Which partitions of an asset should be there, which are, and why the others are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import Literal

from workday_assets.audit.records import Record
from workday_assets.automation.graph import Dates, is_partition
from workday_assets.planner import NOT_DONE, Decision

State = Literal[
    "done", "in flight", "waiting", "unplanned", "outdated", "missing", "failed", "orphan"
]
#: States of a partition that is complete and inside the plan.
EXPECTED: Set[State] = {"done", "in flight", "outdated", "missing", "failed"}
#: States of which an audit complains.
WRONG: Set[State] = {"outdated", "missing", "failed", "orphan"}


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition that should be there, or is.

    Attributes:
        key: its partition key.
        day: the workday, or first date of the period; `None` where the key names no date.
        state: ``done``; ``in flight``; ``waiting``, not complete yet; ``unplanned``, made although
            it is after the end of the plan; ``outdated``, made before its upstream was made again;
            ``missing``; ``failed``; ``orphan``, made although it is closed or no partition.
        why: the reason, as a clause.
        run_id: the run that made it, or did not; `None` where there is none.
        record: its newest materialization.
    """

    key: str
    day: date | None
    state: State
    why: str
    run_id: str | None
    record: Record | None


def judge(
    dates: Dates,
    decisions: Sequence[Decision],
    records: Mapping[str, Record],
    attempts: Mapping[str, str],
) -> list[Partition]:
    """Every partition that was planned, and every one that is recorded.

    Args:
        dates: the asset's partitions.
        decisions: what the planner says of each, with everything made up.
        records: by partition key, the materializations.
        attempts: by partition key, the newest run that was to make it and did not.
    """
    found = [_planned(dates, decision, records, attempts) for decision in decisions]
    planned = {partition.key: partition for partition in found if partition is not None}
    closed = {decision.day: decision.reason for decision in decisions}
    others = [_unplanned(dates, records[key], closed) for key in records.keys() - planned.keys()]
    return sorted(
        (*planned.values(), *others),
        key=lambda partition: (partition.day or date.min, partition.key),
    )


def _planned(
    dates: Dates,
    decision: Decision,
    records: Mapping[str, Record],
    attempts: Mapping[str, str],
) -> Partition | None:
    if decision.verdict == "closed":
        return None
    key = decision.day.strftime(dates.fmt)
    record, attempt = records.get(key), attempts.get(key)
    run_id = record.run_id if record else attempt
    state: State
    why = decision.reason
    match decision.verdict:
        case "done":
            state = "done"
        case "waiting":
            state = "waiting"
        case "in_flight":
            state, run_id = "in flight", attempt or run_id
        case "failed":
            state, run_id = "failed", attempt
            runs = f"{decision.attempts} runs of it failed, this one last"
            why = "its run failed" if decision.attempts == 1 else runs
        case _ if record is not None:
            state = "outdated"
        case _:
            state = "missing"
            if why == NOT_DONE:
                why = f"run {attempt} did not make it" if attempt else "it was never requested"
    return Partition(key, decision.day, state, why, run_id, record)


def _unplanned(dates: Dates, record: Record, closed: Mapping[date, str]) -> Partition:
    """A partition that is recorded and that the plan does not have."""
    try:
        day = dates.day(record.key)
    except ValueError:
        return Partition(record.key, None, "orphan", "its key names no date", record.run_id, record)
    state: State = "unplanned" if is_partition(dates, day) else "orphan"
    why = "it is after the end of the plan"
    if state == "orphan":
        why = f"{day} is not one of the asset's partitions"
    why = closed.get(day, why)
    return Partition(record.key, day, state, why, record.run_id, record)


def wrong(partitions: Sequence[Partition]) -> Iterator[Partition]:
    """Those of which an audit complains."""
    return (partition for partition in partitions if partition.state in WRONG)
