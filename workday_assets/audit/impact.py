"""What a change of calendar would do to what is recorded, said before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph

from workday_assets.audit.drift import Calendars, DaysUsed, Drift, find_drift
from workday_assets.audit.records import Begin, Record, no_progress, read_records
from workday_assets.automation.graph import DatedGraph
from workday_assets.calendars import WorkdayCalendar
from workday_assets.partitions import WorkdayPartitionsDefinition


@dataclass(frozen=True)
class AssetImpact:
    """What would change of one asset; all oldest first.

    Attributes:
        key: the asset.
        added: partition keys that would appear.
        removed: partition keys that would go.
        orphaned: those of them that are recorded.
        affected: recorded partitions that would be wrong, and are not wrong now.
    """

    key: dg.AssetKey
    added: Sequence[str]
    removed: Sequence[str]
    orphaned: Sequence[str]
    affected: Sequence[Drift]

    @property
    def name(self) -> str:
        """The asset's name."""
        return self.key.to_user_string()

    def __bool__(self) -> bool:
        """Whether anything would change."""
        return bool(self.added or self.removed or self.affected)


def find_impact(
    graph: BaseAssetGraph[Any],
    instance: dg.DagsterInstance,
    keys: Iterable[dg.AssetKey],
    new: WorkdayCalendar,
    *,
    as_of: datetime,
    days_used: Mapping[dg.AssetKey, DaysUsed] | None = None,
    calendars: Calendars | None = None,
    begin: Begin = no_progress,
) -> list[AssetImpact]:
    """What would change of each asset if `new` replaced the calendar of the same name.

    Args:
        graph: the asset graph.
        instance: where materializations are recorded.
        keys: the assets, by workday or by period.
        new: the calendar that would run.
        as_of: "now", aware.
        days_used: by asset, what it takes from calendars itself, see `find_drift`.
        calendars: those calendars as they are, by name.
        begin: told how the work goes on.
    """
    selected = list(keys)
    before = DatedGraph(graph, instance, selected, as_of)
    after = DatedGraph(graph, instance, selected, as_of, instead=_replacements(before, new))
    records = {key: read_records(instance, key, begin) for key in before.assets}
    known, used = calendars or {}, days_used or {}
    wrong_now = find_drift(before, records, known, used)
    wrong_then = find_drift(after, records, {**known, new.name: new}, used)
    found = []
    for key in before.assets:
        old_days, new_days = (_days(g, key) for g in (before, after))
        fmt = before.dates(key).fmt
        added = [day.strftime(fmt) for day in sorted(new_days - old_days)]
        removed = [day.strftime(fmt) for day in sorted(old_days - new_days)]
        known_wrong = {drift.key for drift in wrong_now[key]}
        affected = [drift for drift in wrong_then[key] if drift.key not in known_wrong]
        orphaned = _recorded(removed, records[key])
        found.append(AssetImpact(key, added, removed, orphaned, affected))
    return found


def _recorded(keys: Sequence[str], records: Mapping[str, Record]) -> list[str]:
    return [key for key in keys if key in records]


def _replacements(
    graph: DatedGraph, new: WorkdayCalendar
) -> dict[WorkdayPartitionsDefinition, WorkdayPartitionsDefinition]:
    """For each definition by the calendar of that name, the same one by the new calendar."""
    found = {}
    for dates in graph.definitions():
        if isinstance(dates, WorkdayPartitionsDefinition) and dates.calendar.name == new.name:
            first = max(dates.first_date, new.first_date)
            open_ended = dates.last_date == dates.calendar.last_date
            last = new.last_date if open_ended else min(dates.last_date, new.last_date)
            past = last + timedelta(days=1)
            found[dates] = WorkdayPartitionsDefinition(new, dates.timezone, first, past, dates.fmt)
    return found


def _days(graph: DatedGraph, key: dg.AssetKey) -> set[date]:
    """The workdays that are partitions of an asset; none of an asset by period."""
    dates = graph.dates(key)
    if not isinstance(dates, WorkdayPartitionsDefinition):
        return set()
    return set(dates.calendar.workdays(dates.first_date, dates.last_date + timedelta(days=1)))
