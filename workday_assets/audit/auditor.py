"""Audits assets: reads what is recorded and stored of them, and compares it with the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph

from workday_assets.audit.completeness import Partition, judge
from workday_assets.audit.drift import DaysUsed, find_drift
from workday_assets.audit.files import (
    FileFault,
    damaged_files,
    missing_files,
    stored_keys,
    unrecorded_files,
)
from workday_assets.audit.records import (
    Begin,
    Record,
    count_without_partition,
    no_progress,
    read_records,
)
from workday_assets.audit.report import AssetAudit, Audit
from workday_assets.automation.graph import DatedGraph, Dates
from workday_assets.automation.period_plans import plan_periods
from workday_assets.automation.periods import Periods, has_whole_dates
from workday_assets.automation.plans import WorkdaySource, plan_assets
from workday_assets.calendars import WorkdayCalendar
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.planner import CatchupPolicy, Decision
from workday_assets.storage.parquet import ParquetIOManager
from workday_assets.timetable import WorkdayTimetable


@dataclass(frozen=True)
class Auditor:
    """Audits the assets of a project.

    Attributes:
        graph: the asset graph.
        instance: where runs and materializations are recorded.
        timetable: when workdays are complete; its calendar and zone are the assets'.
        as_of: "now", aware.
        source: what the root assets read; its `last_date` ends what is expected.
        stores: by asset, the I/O manager that keeps its files; those of others are not looked at.
        days_used: by asset, what it takes from calendars itself, see `find_drift`.
        calendars: those calendars, by name.
        begin: told how the work goes on, see `Begin`.
    """

    graph: BaseAssetGraph[Any]
    instance: dg.DagsterInstance
    timetable: WorkdayTimetable
    as_of: datetime
    source: WorkdaySource | None = None
    stores: Mapping[dg.AssetKey, ParquetIOManager] = field(default_factory=dict)
    days_used: Mapping[dg.AssetKey, DaysUsed] = field(default_factory=dict)
    calendars: Mapping[str, WorkdayCalendar] = field(default_factory=dict)
    begin: Begin = no_progress

    def audit(
        self,
        keys: Sequence[dg.AssetKey],
        *,
        start: date | None = None,
        end: date | None = None,
        deep: bool = False,
    ) -> Audit:
        """What is wrong with the assets `keys`, by workday or by period.

        Args:
            keys: the assets.
            start: first date looked at, included; periods that hold it are.
            end: last date looked at, included; likewise.
            deep: read every file, too.

        Raises:
            InvalidInputError: an asset is not partitioned by dates, or by another calendar.
            InstanceError: the event log is not an SQL one.
        """
        decisions = self._decisions(keys, start, end)
        known = DatedGraph(self.graph, self.instance, self._with_upstream(keys), self.as_of)
        inside = {key: partial(_inside, known.assets[key].dates, start, end) for key in decisions}
        records = self._records(known, decisions, inside)
        partitions = {
            key: judge(
                known.assets[key].dates,
                decisions[key],
                {partition: found for partition, found in records[key].items() if asked(partition)},
                self._attempts(key),
            )
            for key, asked in inside.items()
        }
        for key in decisions:
            for partition in partitions[key]:
                if partition.state == "waiting":  # an open period has more inputs to come
                    records[key].pop(partition.key, None)
        drift = find_drift(known, records, self.calendars, self.days_used)
        assets = [
            AssetAudit(
                key,
                known.assets[key].dates,
                partitions[key],
                self._files(key, partitions[key], inside[key], deep=deep),
                [found for found in drift[key] if inside[key](found.key)],
                0 if start or end else count_without_partition(self.instance, key),
            )
            for key in decisions
        ]
        described = self.source.describe() if self.source else ""
        calendar = self.timetable.calendar
        return Audit(self.as_of, calendar, start, end, deep, described, assets)

    def _decisions(
        self, keys: Sequence[dg.AssetKey], start: date | None, end: date | None
    ) -> dict[dg.AssetKey, Sequence[Decision]]:
        """What the planner says when everything is to be made up; workday assets first."""
        daily = [
            key
            for key in keys
            if isinstance(self.graph.get(key).partitions_def, WorkdayPartitionsDefinition)
        ]
        others = [key for key in keys if key not in daily]
        found: dict[dg.AssetKey, Sequence[Decision]] = {}
        if daily:
            plans = plan_assets(
                self.graph,
                self.instance,
                daily,
                self.timetable,
                as_of=self.as_of,
                policy=CatchupPolicy.all(),
                source=self.source,
                start=start,
                end=end,
            )
            found |= {key: plan.decisions for key, plan in plans.plans.items()}
        if others:
            closes = plan_periods(
                self.graph,
                self.instance,
                others,
                self.timetable,
                as_of=self.as_of,
                source=self.source,
                start=start,
                end=end,
            )
            found |= {key: plan.decisions for key, plan in closes.plans.items()}
        return found

    def _attempts(self, key: dg.AssetKey) -> dict[str, str]:
        """By partition key, the newest run that was to make it and has not."""
        storage = self.instance.event_log_storage
        found = (
            storage.get_latest_asset_partition_materialization_attempts_without_materializations(
                key
            )
        )
        return {partition: run_id for partition, (run_id, _) in found.items()}

    def _with_upstream(self, keys: Sequence[dg.AssetKey]) -> set[dg.AssetKey]:
        """Also what is upstream of them, to any depth, and has dates: drift comes from there."""
        found = set(keys)
        for key in keys:
            for upstream in self.graph.get_ancestor_asset_keys(key):
                if has_whole_dates(self.graph.get(upstream).partitions_def):
                    found.add(upstream)
        return found

    def _records(
        self,
        known: DatedGraph,
        decisions: Mapping[dg.AssetKey, Sequence[Decision]],
        inside: Mapping[dg.AssetKey, Callable[[str], bool]],
    ) -> dict[dg.AssetKey, dict[str, Record]]:
        """The records of what is asked for, and of everything that it is made from."""
        needed = {key: {d.day for d in decisions.get(key, ())} for key in known.assets}
        for key in reversed(known.assets):
            pending = list(needed[key])
            while pending:
                for parent, day in known.upstream(known.assets[key], pending.pop()):
                    if parent in needed and day not in needed[parent]:
                        needed[parent].add(day)
                        if parent == key:  # an asset can need its own earlier days
                            pending.append(day)
        keys = {
            key: {day.strftime(asset.dates.fmt) for day in needed[key]}
            for key, asset in known.assets.items()
        }

        def wanted(key: dg.AssetKey, partition: str) -> bool:
            return partition in keys[key] or (key in inside and inside[key](partition))

        return {
            key: read_records(self.instance, key, self.begin, partial(wanted, key))
            for key in known.assets
        }

    def _files(
        self,
        key: dg.AssetKey,
        partitions: Sequence[Partition],
        inside: Callable[[str], bool],
        *,
        deep: bool,
    ) -> list[FileFault] | None:
        store = self.stores.get(key)
        if store is None:
            return None
        folder = store.folder(key)
        stored = {name for name in stored_keys(folder) if inside(name)}
        records = {p.key: p.record for p in partitions if p.record is not None}
        # A run that has not ended may have written a file and not recorded it yet.
        busy = {p.key for p in partitions if p.state == "in flight"}
        found = missing_files(folder, stored, records)
        found += unrecorded_files(folder, stored, records.keys() | busy)
        if deep:
            name = key.to_user_string()
            still = {k: record for k, record in records.items() if k not in busy}
            found += damaged_files(name, folder, stored, still, self.begin)
        return found


def _inside(dates: Dates, start: date | None, end: date | None, key: str) -> bool:
    """Whether a partition has a date from `start` to `end`; a key that names none has, if all."""
    if start is None and end is None:
        return True
    try:
        first = last = dates.day(key)
    except ValueError:
        return False
    if isinstance(dates, Periods) and (period := dates.starting(first)) is not None:
        last = period.past - timedelta(days=1)
    return (start is None or last >= start) and (end is None or first <= end)
