"""The project: assembly only."""

import dagster as dg

from workday_assets.ecb.assets import TIMETABLE, reference_rates, returns, usd_crosses
from workday_assets.ecb.jobs import (
    POLICY,
    SOURCE_KEY,
    WORKDAY_ASSETS,
    interval_sensor,
    morning_schedule,
)
from workday_assets.ecb.source import EcbRates
from workday_assets.storage.parquet import ParquetIOManager
from workday_assets.storage.state import data_root

__all__ = ["POLICY", "SOURCE", "TIMETABLE", "WORKDAY_ASSETS", "defs"]

SOURCE = EcbRates()

defs = dg.Definitions(
    assets=[reference_rates, usd_crosses, returns],
    resources={SOURCE_KEY: SOURCE, "io_manager": ParquetIOManager(base_path=str(data_root()))},
    sensors=[interval_sensor],
    schedules=[morning_schedule],
    # Each step is small: a process per step would cost more than the step.
    executor=dg.in_process_executor,
)
