"""What came of a backfill: per asset, what was made and what failed, and how to try it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import dagster as dg

from workday_assets.cli.backfill_plan import BackfillPlan, Request
from workday_assets.cli.blocks import workdays_of

Range = tuple[date, date]


@dataclass(frozen=True)
class AssetRow:
    """One asset: the partitions that were to be made, and what came of them.

    Attributes:
        asset: its key, slash-separated.
        first: first date to be made; of a period, its first date.
        last: last date to be made, likewise.
        requested: how many were to be made.
        materialized: how many were.
        failed: those that were tried in vain, as ranges, both ends included.
        not_tried: those that were not, since what they need was not made.
    """

    asset: str
    first: date
    last: date
    requested: int
    materialized: int
    failed: Sequence[Range]
    not_tried: Sequence[Range]


@dataclass
class Outcome:
    """What came of a plan.

    Attributes:
        made: by asset, the dates that were made.
        tried: by asset, those of which a run was started.
        errors: one sentence per failure.
        backfill_id: the daemon's backfill that did it; `None` in this process.
    """

    made: dict[dg.AssetKey, set[date]] = field(default_factory=dict)
    tried: dict[dg.AssetKey, set[date]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    backfill_id: str | None = None

    def missing(self, plan: BackfillPlan) -> dict[dg.AssetKey, list[date]]:
        """By asset, the dates of the plan that were not made."""
        found = {
            key: [day for day in days if day not in self.made.get(key, ())]
            for key, days in plan.due().items()
        }
        return {key: days for key, days in found.items() if days}

    def rows(self, plan: BackfillPlan) -> list[AssetRow]:
        """A row per asset of the plan, upstream before downstream."""
        missing = self.missing(plan)
        rows = []
        for key, days in plan.due().items():
            absent, tried = missing.get(key, []), self.tried.get(key, set())
            rows.append(
                AssetRow(
                    key.to_user_string(),
                    days[0],
                    days[-1],
                    len(days),
                    len(days) - len(absent),
                    plan.stretches(key, [day for day in absent if day in tried]),
                    plan.stretches(key, [day for day in absent if day not in tried]),
                )
            )
        return rows


def retry_command(
    plan: BackfillPlan, request: Request, outcome: Outcome, *, in_process: bool
) -> str | None:
    """The command that tries again what was not made; `None` when all was.

    Warm-up is not named in it: what needs it is.
    """
    missing = outcome.missing(plan)
    asked = {
        key: [day for day in days if (key, day) not in plan.workdays.warm_up]
        for key, days in missing.items()
    }
    wanted = {key: days for key, days in asked.items() if days} or missing
    if not wanted:
        return None
    ends = [workdays_of(plan, key, days) for key, days in wanted.items()]
    words = ["workday-assets", "backfill"]
    words += ["--from", str(min(first for first, _ in ends))]
    words += ["--to", str(max(last for _, last in ends))]
    if request.names or wanted.keys() != plan.dates.keys():
        words += [word for key in wanted for word in ("--asset", key.to_user_string())]
    flags = {"--force": request.force, "--downstream": request.downstream}
    flags["--in-process"] = in_process
    return " ".join([*words, *(flag for flag, given in flags.items() if given)])
