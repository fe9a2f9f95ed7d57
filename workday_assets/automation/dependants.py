"""Which partitions depend on given ones: what has to be made again after them, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import date, timedelta

import dagster as dg

from workday_assets.automation.graph import DatedGraph, Dates
from workday_assets.automation.periods import Periods


def dependants(
    known: DatedGraph, made: Mapping[dg.AssetKey, Set[date]]
) -> dict[dg.AssetKey, set[date]]:
    """By selected asset, the dates that depend on `made` by partition mapping, at any distance.

    Args:
        known: the assets among which dependants are looked for.
        made: by asset, dates that are made; they are not among the answer.
    """
    reached: dict[dg.AssetKey, set[date]] = {key: set(days) for key, days in made.items()}
    found: dict[dg.AssetKey, set[date]] = {}
    for key, asset in known.assets.items():
        if not any(reached.get(parent) for parent in asset.parents):
            continue
        own = reached.setdefault(key, set())  # an asset can depend on its own earlier dates
        for day in all_dates(asset.dates):
            upstream = known.upstream(asset, day)
            if day not in own and any(needed in reached.get(k, ()) for k, needed in upstream):
                own.add(day)
                found.setdefault(key, set()).add(day)
    return found


def all_dates(dates: Dates) -> Sequence[date]:
    """The dates of all partitions, oldest first."""
    if isinstance(dates, Periods):
        return [period.first for period in dates.all]
    days: Sequence[date] = dates.calendar.workdays(
        dates.first_date, dates.last_date + timedelta(days=1)
    )
    return days
