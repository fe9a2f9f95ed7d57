"""Two assets over Christmas and New Year, with the triggers that `test_outages.py` drives."""

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, time

import dagster as dg
import pandas as pd

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    build_interval_sensor,
    build_workday_schedule,
    trailing_workdays,
)
from workday_assets.storage.parquet import ParquetIOManager

ZONE = "America/New_York"
CALENDAR = WorkdayCalendar.build(
    "NEWYEAR",
    "2024-12-16",
    "2025-01-31",
    holidays={"2024-12-25": "Christmas Day", "2025-01-01": "New Year's Day"},
)
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, ZONE)
TABLE = WorkdayTimetable(CALENDAR, ZONE)


@dataclass
class Source:
    """A live source that has everything; a test may let its readers wait for one another."""

    meeting: threading.Barrier | None = field(default=None, compare=False)
    last_date: date | None = None

    def published(self, day: date) -> bool:
        """True, once all who ask are asking, or when one of them does not come."""
        if self.meeting is not None:
            with suppress(threading.BrokenBarrierError):
                self.meeting.wait(20)
        return day <= CALENDAR.last_date

    def describe(self) -> str:
        """What it is."""
        return "a live source"


SOURCE = Source()


@dg.asset(partitions_def=WORKDAYS)
def rates(context: dg.AssetExecutionContext) -> pd.DataFrame:
    """One row per workday."""
    days = [date.fromisoformat(key) for key in context.partition_keys]
    return pd.DataFrame({"date": days, "value": [day.toordinal() for day in days]})


@dg.asset(
    partitions_def=WORKDAYS,
    ins={"quotes": dg.AssetIn("rates", partition_mapping=trailing_workdays(2))},
)
def returns(context: dg.AssetExecutionContext, quotes: pd.DataFrame) -> pd.DataFrame:
    """The difference to the workday before, for each workday of the run that has one."""
    quotes["value"] = quotes["value"].diff().fillna(0.0)
    wanted = {date.fromisoformat(key) for key in context.partition_keys}
    made: pd.DataFrame = quotes[quotes["date"].dt.date.isin(wanted)]
    return made


def _definitions(
    policy: CatchupPolicy, sensors: tuple[str, ...] = ("first",), *, schedule: bool = False
) -> dg.Definitions:
    assets = [rates, returns]
    morning = WorkdayTimetable(CALENDAR, ZONE, time(8))
    running = dg.DefaultScheduleStatus.RUNNING
    return dg.Definitions(
        assets=assets,
        resources={
            "source": dg.ResourceDefinition.hardcoded_resource(SOURCE),
            "io_manager": ParquetIOManager(base_path=dg.EnvVar("OUTAGE_STORE")),
        },
        sensors=[
            build_interval_sensor(name, assets, TABLE, policy=policy, source="source")
            for name in sensors
        ],
        schedules=[
            build_workday_schedule(
                "morning", assets, morning, policy=policy, source="source", default_status=running
            )
        ]
        if schedule
        else [],
        executor=dg.in_process_executor,
    )


everything = _definitions(CatchupPolicy.all())
newest_five = _definitions(CatchupPolicy.last(5))
two_sensors = _definitions(CatchupPolicy.all(), ("first", "second"))
sensor_and_schedule = _definitions(CatchupPolicy.all(), schedule=True)
