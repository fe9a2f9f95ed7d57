"""The ECB's assets of early 2025 on a real instance, to be damaged and audited."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg

from support.ticks import execute, now
from workday_assets.audit.auditor import Auditor
from workday_assets.audit.report import Audit
from workday_assets.ecb.assets import CALENDARS, COUNTED_CALENDARS, DAYS_USED, TIMETABLE
from workday_assets.ecb.assets import WORKDAY_ASSETS as DAILY
from workday_assets.ecb.periods import PERIOD_ASSETS as PERIODS
from workday_assets.ecb.source import EcbRates
from workday_assets.storage.parquet import ParquetIOManager

#: Monday to Friday week by week, all of them workdays: twenty in January, ten in February.
FIRST, LAST = date(2025, 1, 6), date(2025, 2, 14)
WORKDAYS, WEEKS, MONTHS = 30, 6, 1
AS_OF = "2025-02-15T12:00"


@dataclass(frozen=True)
class Archive:
    """A source that has published up to a day, and is live."""

    newest: date
    last_date: date | None = None

    def published(self, day: date) -> bool:
        """Whether the day is there."""
        return day <= self.newest

    def describe(self) -> str:
        """What it is."""
        return f"published up to {self.newest}"


class Audited:
    """A folder with an instance and files.

    Attributes:
        instance: the instance.
        data: the folder of the files.
        defs: the assets with their resources.
    """

    def __init__(self, folder: Path, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.data = folder / "data" / "ecb"
        self.manager = ParquetIOManager(base_path=str(folder / "data"))
        self.defs = dg.Definitions(
            assets=[*CALENDARS, *DAILY, *PERIODS],
            resources={"ecb_rates": EcbRates(), "io_manager": self.manager},
        )

    def file(self, asset: str, key: str) -> Path:
        """Where a partition's file is."""
        return self.data / asset / f"{key}.parquet"

    def make(
        self, assets: str | Sequence[str], first: str, last: str | None = None
    ) -> dg.ExecuteInProcessResult:
        """One run."""
        names = [assets] if isinstance(assets, str) else assets
        return execute(self.defs, self.instance, [f"ecb/{n}" for n in names], first, last)

    def report(self, asset: str, key: str | None) -> None:
        """A materialization by hand."""
        made = dg.AssetMaterialization(["ecb", asset], partition=key)
        self.instance.report_runless_asset_event(made)

    def audit(self, *assets: str, at: str = AS_OF, **options: Any) -> Audit:
        """The audit of some assets, or of all."""
        repository = self.defs.get_repository_def()
        keys = [dg.AssetKey(["ecb", name]) for name in assets]
        everything = sorted(asset.key for asset in (*DAILY, *PERIODS))
        auditor = Auditor(
            repository.asset_graph,
            self.instance,
            TIMETABLE,
            now(at),
            options.pop("source", None),
            stores=dict.fromkeys(everything, self.manager),
            days_used=DAYS_USED,
            calendars=COUNTED_CALENDARS,
        )
        return auditor.audit(keys or everything, **{"start": FIRST, "end": LAST, **options})


def fill(folder: Path) -> None:
    """Make everything from FIRST to LAST, and before it what that needs."""
    with dg.instance_for_test(temp_dir=str(folder)) as instance:
        audited = Audited(folder, instance)
        for assets, first, last in (
            ("reference_rates", "2024-11-01", str(LAST)),
            ("returns", "2024-11-04", str(LAST)),
            (["usd_crosses", "volatility_20d", "spot_value_dates"], "2025-01-02", str(LAST)),
            ("weekly_summary", "2025-01-06", "2025-02-10"),
            ("monthly_summary", "2025-01-01", None),
        ):
            assert audited.make(assets, first, last).success


def copy_of(template: Path, folder: Path) -> AbstractContextManager[dg.DagsterInstance]:
    """An instance on a copy of a folder that was filled."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return dg.instance_for_test(temp_dir=str(folder))
