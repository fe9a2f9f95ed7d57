"""The project: assembly only."""

import dagster as dg

from workday_assets.ecb import jobs
from workday_assets.ecb.assets import CALENDARS, WORKDAY_ASSETS
from workday_assets.ecb.checks import CHECKS
from workday_assets.ecb.periods import PERIOD_ASSETS
from workday_assets.ecb.source import EcbRates
from workday_assets.storage.parquet import ParquetIOManager
from workday_assets.storage.state import data_root

SOURCE = EcbRates()

defs = dg.Definitions(
    assets=[*CALENDARS, *WORKDAY_ASSETS, *PERIOD_ASSETS],
    asset_checks=[*CHECKS, *jobs.freshness_checks, *jobs.calendar_checks],
    resources={jobs.SOURCE_KEY: SOURCE, "io_manager": ParquetIOManager(base_path=str(data_root()))},
    sensors=[
        jobs.interval_sensor,
        jobs.period_sensor,
        jobs.freshness_sensor,
        jobs.alert_sensor,
    ],
    schedules=[jobs.morning_schedule, jobs.calendar_schedule],
    # Each step is small: a process per step would cost more than the step.
    executor=dg.in_process_executor,
)
