"""Reported failures around what an instance recorded, with the sensor on a real instance."""

from collections.abc import Iterator
from datetime import datetime, timedelta

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
    build_interval_sensor,
)

NEW_YORK = "America/New_York"
XMAS = WorkdayCalendar.build("XMAS", "2024-12-01", "2025-01-31", holidays=["2024-12-25"])
WORKDAYS = WorkdayPartitionsDefinition(XMAS, NEW_YORK)
NOON = datetime.fromisoformat("2024-12-30T12:00").replace(tzinfo=pendulum.timezone(NEW_YORK))


@dg.asset(partitions_def=WORKDAYS, config_schema={"fail": dg.Field(bool, default_value=False)})
def upstream(context: dg.AssetExecutionContext) -> None:
    """Fails when its config says so."""
    if context.op_execution_context.op_config["fail"]:
        raise ValueError("no data")


@dg.asset(partitions_def=WORKDAYS, deps=[upstream])
def child() -> None:
    """Needs the same day of upstream."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def tick(
    instance: dg.DagsterInstance, at: datetime, policy: CatchupPolicy, *, retry_failed: int = 0
) -> SensorExecutionData:
    """What a sensor over both assets answers at that instant."""
    sensor = build_interval_sensor(
        "workdays",
        [upstream, child],
        WorkdayTimetable(XMAS, NEW_YORK),
        policy=policy,
        retry_failed=retry_failed,
    )
    repository = dg.Definitions(assets=[upstream, child], sensors=[sensor]).get_repository_def()
    context = dg.build_sensor_context(instance=instance, repository_def=repository)
    with partition_loading_context(at):
        return sensor.evaluate_tick(context)


def run_keys(data: SensorExecutionData) -> list[str]:
    """The run keys that a tick asks for."""
    return [str(request.run_key) for request in data.run_requests or ()]


def test_u09_every_upstream_day_that_landed_at_once_is_seen(
    instance: dg.DagsterInstance,
) -> None:
    """U09: four upstream days that land between two ticks give four requests of the child."""
    landed = ["2024-12-23", "2024-12-24", "2024-12-26", "2024-12-27"]
    for day in landed:
        instance.report_runless_asset_event(dg.AssetMaterialization("upstream", partition=day))
    data = tick(instance, NOON, CatchupPolicy.last(4))
    asked = [(r.partition_key, r.asset_selection) for r in data.run_requests or ()]
    assert asked == [(day, [dg.AssetKey("child")]) for day in landed]


def test_d01_a_run_key_does_not_depend_on_the_tick(instance: dg.DagsterInstance) -> None:
    """D01: two ticks ask for the same day under one run key, so that one run starts."""
    first = tick(instance, NOON, CatchupPolicy.latest())
    second = tick(instance, NOON + timedelta(minutes=1), CatchupPolicy.latest())
    assert (run_keys(first), run_keys(second)) == (["2024-12-27#0"], ["2024-12-27#0"])


def test_d02_a_failed_day_is_asked_for_again_or_named(instance: dg.DagsterInstance) -> None:
    """D02: a failure burns no key: with retries the day comes back, without the tick names it."""
    with partition_loading_context(NOON):
        failed = dg.materialize(
            [upstream],
            partition_key="2024-12-27",
            instance=instance,
            run_config={"ops": {"upstream": {"config": {"fail": True}}}},
            raise_on_error=False,
        )
    assert not failed.success
    again = tick(instance, NOON, CatchupPolicy.latest(), retry_failed=1)
    assert run_keys(again) == ["2024-12-27#1"]
    left_alone = tick(instance, NOON, CatchupPolicy.latest())
    assert run_keys(left_alone) == []
    assert "upstream 2024-12-27: it failed once" in (left_alone.skip_message or "")
