"""A run that leaves out days whose inputs are not there: nothing was tried of them."""

from collections.abc import Iterator

import dagster as dg
import pytest
from support.ticks import ZONE, execute, now, run_keys, tick

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    build_interval_sensor,
    trailing_workdays,
)
from workday_assets.automation.plans import AssetPlans, plan_assets
from workday_assets.automation.recorded import NOT_READY_TAG

CALENDAR = WorkdayCalendar.build("WEEKDAYS", "2026-03-01", "2026-03-31")
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, ZONE)
TABLE = WorkdayTimetable(CALENDAR, ZONE)
MEAN = dg.AssetKey("mean")
NOON = "2026-03-13T12:00"  # of a Friday: the newest complete workday is Thursday the 12th


@dg.asset(partitions_def=WORKDAYS)
def rates() -> None:
    """A workday asset."""


@dg.asset(
    partitions_def=WORKDAYS,
    deps=[dg.AssetDep(rates, partition_mapping=trailing_workdays(3))],
    output_required=False,
    backfill_policy=dg.BackfillPolicy.single_run(),
    config_schema={"fail": dg.Field(bool, default_value=False)},
)
def mean(context: dg.AssetExecutionContext) -> Iterator[dg.AssetMaterialization]:
    """Makes the days whose rates are there, and marks its run when it leaves out others."""
    there = context.instance.get_materialized_partitions(rates.key)
    left_out = set()
    for key in context.partition_keys:
        window = WORKDAYS.days_around(WORKDAYS.day(key), -2, 0)
        if {str(day) for day in window} <= there:
            yield dg.AssetMaterialization(MEAN, partition=key)
        else:
            left_out.add(key)
    if left_out:
        context.instance.add_run_tags(context.run_id, {NOT_READY_TAG: min(left_out)})
    if context.op_execution_context.op_config["fail"]:
        raise ValueError("out of memory")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


DEFS = dg.Definitions(
    assets=[rates, mean],
    sensors=[build_interval_sensor("days", [mean], TABLE, policy=CatchupPolicy.all())],
)


def plans(instance: dg.DagsterInstance) -> AssetPlans:
    """The plan of the child alone, without retries."""
    graph = DEFS.resolve_asset_graph()
    policy = CatchupPolicy.all()
    return plan_assets(graph, instance, [MEAN], TABLE, as_of=now(NOON), policy=policy)


def verdicts(instance: dg.DagsterInstance) -> dict[int, tuple[str, str, int]]:
    """By day of March from the 9th on: verdict, reason and failed attempts."""
    decisions = plans(instance).plans[MEAN].decisions
    return {
        d.day.day: (d.verdict, d.reason, d.attempts) for d in decisions if d.day.day in (10, 11, 12)
    }


def spill(instance: dg.DagsterInstance, *, fail: bool = False) -> None:
    """A backfill of rates up to the 10th also asks for the two days of the child after it."""
    for day in (2, 3, 4, 5, 6, 9, 10):
        execute(DEFS, instance, ["rates"], f"2026-03-{day:02}")
    config = {"ops": {"mean": {"config": {"fail": fail}}}}
    execute(DEFS, instance, ["mean"], "2026-03-02", "2026-03-12", run_config=config)


def test_days_left_out_are_not_ready(instance: dg.DagsterInstance) -> None:
    """They wait for the upstream day by name, and count no attempt."""
    spill(instance)
    assert verdicts(instance) == {
        10: ("done", "it is materialized", 0),
        11: ("not_ready", "it waits for rates 2026-03-11", 0),
        12: ("not_ready", "it waits for rates 2026-03-11", 0),
    }
    assert run_keys(tick(DEFS, "days", instance, NOON)) == []


def test_they_are_asked_for_when_their_inputs_are_there(instance: dg.DagsterInstance) -> None:
    """No retry is needed: nothing has failed."""
    spill(instance)
    for day in ("2026-03-11", "2026-03-12"):
        execute(DEFS, instance, ["rates"], day)
    due = plans(instance).plans[MEAN].due
    assert [str(day) for day in due] == ["2026-03-11", "2026-03-12"]
    execute(DEFS, instance, ["mean"], "2026-03-11", "2026-03-12")
    assert plans(instance).plans[MEAN].due == []


def test_a_run_that_failed_has_failed(instance: dg.DagsterInstance) -> None:
    """The tag of a run that then failed excuses nothing."""
    spill(instance, fail=True)
    reason = "it failed once, and 0 retries are allowed"
    assert verdicts(instance)[11] == ("failed", reason, 1)
