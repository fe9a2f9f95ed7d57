"""What was made from other upstream partitions than the calendar names today."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

import dagster as dg

from workday_assets.audit.records import Keys, Record
from workday_assets.automation.graph import AssetDay, DatedAsset, DatedGraph, is_partition
from workday_assets.calendars import WorkdayCalendar

Calendars = Mapping[str, WorkdayCalendar]
#: For an asset that counts days of calendars by itself: of its dates and the calendars by name,
#: by date the days used of each input, as it records them in `workday/inputs`.
DaysUsed = Callable[[Sequence[date], Calendars], Mapping[date, Mapping[str, Sequence[str]]]]


@dataclass(frozen=True, slots=True)
class Drift:
    """One partition whose inputs are others today, or that is made from such a one.

    Attributes:
        key: its partition key.
        day: its date.
        upstream: the input that differs, or the upstream asset that is affected.
        recorded: the keys that it was made from; `None` where only the upstream is affected.
        needed: the keys that the calendar names; likewise.
        via: the first affected partition of `upstream`; `None` where its own inputs differ.
    """

    key: str
    day: date
    upstream: str
    recorded: Keys | None
    needed: Keys | None
    via: date | None = None

    @property
    def what(self) -> str:
        """What is wrong, as a clause."""
        if self.via is not None:
            return f"it is made from {self.upstream} {self.via}, which is affected"
        return f"it was made from {self.upstream} {self.recorded}, and needs {self.needed}"


def find_drift(
    graph: DatedGraph,
    records: Mapping[dg.AssetKey, Mapping[str, Record]],
    calendars: Calendars,
    days_used: Mapping[dg.AssetKey, DaysUsed],
) -> dict[dg.AssetKey, list[Drift]]:
    """By asset, the recorded partitions that a change of calendar has made wrong, oldest first.

    These are the partitions whose recorded inputs differ from those that their mappings, or
    `days_used`, name today, and the partitions made from them, to any depth. A partition that
    records no inputs is judged by its upstream alone; one that is not a partition today is not
    judged: it is an orphan.

    Args:
        graph: the assets with today's partitions.
        records: by asset, the partitions to judge, by key.
        calendars: today's, by name, for `days_used`.
        days_used: by asset, what it takes from calendars itself.
    """
    found: dict[dg.AssetKey, list[Drift]] = {}
    affected: dict[dg.AssetKey, set[date]] = {}
    for key, asset in graph.assets.items():
        judged = _judged(asset, records.get(key, {}))
        counted: Mapping[date, Mapping[str, Sequence[str]]] = {}
        if key in days_used:
            counted = days_used[key](list(judged), calendars)
        found[key], affected[key] = [], set()
        for day, record in judged.items():
            drift = _drift_of(graph, asset, day, record, counted.get(day, {}), affected)
            if drift is not None:
                found[key].append(drift)
                affected[key].add(day)  # at once: an asset can need its own earlier days
    return found


def _judged(asset: DatedAsset, records: Mapping[str, Record]) -> dict[date, Record]:
    """The records of today's partitions, oldest first."""
    dated: dict[date, Record] = {}
    for key, record in records.items():
        with suppress(ValueError):  # a key that names no date is an orphan
            day = asset.dates.day(key)
            if is_partition(asset.dates, day):
                dated[day] = record
    return dict(sorted(dated.items()))


def _drift_of(
    graph: DatedGraph,
    asset: DatedAsset,
    day: date,
    record: Record,
    counted: Mapping[str, Sequence[str]],
    affected: Mapping[dg.AssetKey, Set[date]],
) -> Drift | None:
    """The first reason why a partition is wrong, or nothing: its own inputs, then its upstream."""
    needed = list(graph.upstream(asset, day))
    today = {**_keys(graph, asset, needed), **counted}
    for name, recorded in (record.inputs or {}).items():
        if name in today and Keys.of(today[name]) != recorded:
            return Drift(record.key, day, name, recorded, Keys.of(today[name]))
    for parent, needed_day in needed:
        if needed_day in affected.get(parent, ()):
            return Drift(record.key, day, parent.to_user_string(), None, None, needed_day)
    return None


def _keys(graph: DatedGraph, asset: DatedAsset, needed: Sequence[AssetDay]) -> dict[str, list[str]]:
    """By upstream asset, the keys needed, those of which nothing is needed included."""
    keys: dict[str, list[str]] = {parent.to_user_string(): [] for parent in asset.parents}
    for parent, day in needed:
        keys[parent.to_user_string()].append(day.strftime(graph.dates(parent).fmt))
    return keys
