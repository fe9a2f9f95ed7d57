"""The project: assembly only."""

import dagster as dg

from workday_assets.ecb.assets import CALENDARS, WORKDAY_ASSETS
from workday_assets.ecb.jobs import SOURCE_KEY, interval_sensor, morning_schedule, period_sensor
from workday_assets.ecb.periods import PERIOD_ASSETS
from workday_assets.ecb.source import EcbRates
from workday_assets.storage.parquet import ParquetIOManager
from workday_assets.storage.state import data_root

SOURCE = EcbRates()

defs = dg.Definitions(
    assets=[*CALENDARS, *WORKDAY_ASSETS, *PERIOD_ASSETS],
    resources={SOURCE_KEY: SOURCE, "io_manager": ParquetIOManager(base_path=str(data_root()))},
    sensors=[interval_sensor, period_sensor],
    schedules=[morning_schedule],
    # Each step is small: a process per step would cost more than the step.
    executor=dg.in_process_executor,
)
