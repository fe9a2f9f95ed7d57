"""The audit of a set of assets as one value: completeness, files and drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

import dagster as dg

from workday_assets.audit.completeness import EXPECTED, Partition, State, wrong
from workday_assets.audit.drift import Drift
from workday_assets.audit.files import FileFault
from workday_assets.automation.graph import Dates
from workday_assets.calendars import WorkdayCalendar

Kind = Literal[
    "missing",
    "failed",
    "outdated",
    "orphan",
    "no partition",
    "no file",
    "no record",
    "damaged",
    "drift",
    "downstream",
]

_KINDS: Mapping[State, Kind] = {
    "missing": "missing",
    "failed": "failed",
    "outdated": "outdated",
    "orphan": "orphan",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        asset: the asset's name.
        key: the partition key; empty where none is named.
        kind: what it is about.
        what: why, as a clause.
        run_id: the run concerned, where there is one.
    """

    asset: str
    key: str
    kind: Kind
    what: str
    run_id: str | None = None


@dataclass(frozen=True)
class AssetAudit:
    """What was found of one asset.

    Attributes:
        key: the asset.
        dates: its partitions.
        partitions: those that should be there or are, oldest first.
        files: what is wrong with files; `None` where the asset's files are not known.
        drift: what is wrong by a change of calendar.
        unnamed: materializations without a partition.
    """

    key: dg.AssetKey
    dates: Dates
    partitions: Sequence[Partition]
    files: Sequence[FileFault] | None
    drift: Sequence[Drift]
    unnamed: int

    @property
    def name(self) -> str:
        """The asset's name."""
        return self.key.to_user_string()

    @property
    def expected(self) -> int:
        """How many partitions are complete and inside the plan."""
        return sum(partition.state in EXPECTED for partition in self.partitions)

    @property
    def materialized(self) -> int:
        """How many of those are materialized."""
        return sum(p.state in EXPECTED and p.record is not None for p in self.partitions)

    def counts(self) -> Counter[str]:
        """The number of findings by kind."""
        return Counter(finding.kind for finding in self.findings())

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong, by kind, oldest first."""
        runs = {p.key: p.record.run_id or None for p in self.partitions if p.record}
        for partition in wrong(self.partitions):
            kind: Kind = _KINDS[partition.state]
            yield Finding(self.name, partition.key, kind, partition.why, partition.run_id)
        if self.unnamed:
            what = f"{self.unnamed} materializations name no partition"
            yield Finding(self.name, "", "no partition", what)
        for fault in self.files or ():
            yield Finding(self.name, fault.key, fault.kind, fault.what, runs.get(fault.key))
        for drift in self.drift:
            kind = "drift" if drift.via is None else "downstream"
            yield Finding(self.name, drift.key, kind, drift.what, runs.get(drift.key))


@dataclass(frozen=True)
class Audit:
    """An audit at one instant.

    Attributes:
        as_of: when.
        calendar: by which its workdays were judged.
        start: first date looked at, included; `None` for all.
        end: last date looked at, included; likewise.
        deep: whether every file was read.
        source: what the root assets read and where it ends, as a clause.
        assets: upstream before downstream, workday assets first.
    """

    as_of: datetime
    calendar: WorkdayCalendar
    start: date | None
    end: date | None
    deep: bool
    source: str
    assets: Sequence[AssetAudit]

    @property
    def findings(self) -> list[Finding]:
        """Everything that is wrong, by asset, then kind, oldest first."""
        return [finding for asset in self.assets for finding in asset.findings()]
