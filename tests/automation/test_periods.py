"""Weeks, months, quarters and years that close with their last workday, on a real instance."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.sensor_definition import SensorExecutionData

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    build_period_close_sensor,
    rollup,
)

#: TARGET days around the turn of the years 2025 and 2026.
CALENDAR = WorkdayCalendar.build(
    "TGT",
    "2025-12-01",
    "2026-12-31",
    holidays={
        "2025-12-25": "Christmas Day",
        "2025-12-26": "Boxing Day",
        "2026-01-01": "New Year's Day",
        "2026-04-03": "Good Friday",
        "2026-04-06": "Easter Monday",
        "2026-05-01": "Labour Day",
    },
)
ZONE = "Europe/Berlin"
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, ZONE)
TABLE = WorkdayTimetable(CALENDAR, ZONE)
MONTHS = dg.MonthlyPartitionsDefinition("2025-12-01", timezone=ZONE, end_offset=1)
WEEKS = dg.WeeklyPartitionsDefinition("2025-12-01", day_offset=1, timezone=ZONE, end_offset=1)
#: By hand: January 2026 begins on a holiday, and its last workday is Friday the 30th.
JANUARY = [
    f"2026-01-{n:02}" for n in (2, *range(5, 10), *range(12, 17), *range(19, 24), *range(26, 31))
]


@dg.asset(partitions_def=WORKDAYS)
def rates() -> None:
    """A workday asset."""


@dg.asset(
    partitions_def=MONTHS,
    deps=[dg.AssetDep(rates, partition_mapping=rollup())],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def monthly() -> None:
    """Made from the workdays of its month."""


@dg.asset(partitions_def=WEEKS, deps=[dg.AssetDep(rates, partition_mapping=rollup())])
def weekly() -> None:
    """Made from the workdays of its ISO week."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def now(text: str) -> datetime:
    """An instant in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone(ZONE))


def definitions(*assets: dg.AssetsDefinition, **options: Any) -> dg.Definitions:
    """Rates with a sensor over `assets`."""
    return dg.Definitions(
        assets=[rates, *assets],
        sensors=[build_period_close_sensor("closes", list(assets), TABLE, **options)],
    )


def tick(defs: dg.Definitions, instance: dg.DagsterInstance, at: str) -> SensorExecutionData:
    """What the sensor answers at that instant."""
    context = dg.build_sensor_context(instance=instance, repository_def=defs.get_repository_def())
    with partition_loading_context(now(at)):
        return defs.resolve_sensor_def("closes").evaluate_tick(context)


def keys(data: SensorExecutionData) -> list[str]:
    """The run keys that a tick asks for."""
    return [request.run_key or "" for request in data.run_requests or []]


def report(instance: dg.DagsterInstance, asset: str, *days: str) -> None:
    """Materialize partitions as a tool outside Dagster would."""
    for day in days:
        event = dg.AssetMaterialization(asset_key=asset, partition=day)
        instance.report_runless_asset_event(event)


def test_january_closes_on_saturday(instance: dg.DagsterInstance) -> None:
    """Friday the 30th is the last workday: due at Saturday 00:00 Berlin, not one second before."""
    report(instance, "rates", *JANUARY)
    defs = definitions(monthly, policy=CatchupPolicy.latest())
    early = tick(defs, instance, "2026-01-30T23:59:59")
    assert keys(early) == []
    print(early.skip_message)
    assert keys(tick(defs, instance, "2026-01-31T00:00")) == ["monthly 2026-01-01#0"]
