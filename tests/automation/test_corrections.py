"""A day that is made again reaches what was made of it, exactly and once; expected days by hand."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
import pytest
from support.ticks import ZONE, execute, now, run_until_idle

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    build_interval_sensor,
    build_period_close_sensor,
    rollup,
    trailing_workdays,
)
from workday_assets.automation.plans import plan_assets

CALENDAR = WorkdayCalendar.build(
    "TGT",
    "2026-01-01",
    "2026-12-31",
    holidays={"2026-04-03": "Good Friday", "2026-04-06": "Easter Monday"},
)
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, ZONE)
TABLE = WorkdayTimetable(CALENDAR, ZONE)
NOON = "2026-05-01T12:00"
LAST = "2026-04-30"

#: Tuesday 2026-03-24 and the twenty workdays after it: two weekends and Easter are not among them.
TWENTY_ONE = [
    *("2026-03-24", "2026-03-25", "2026-03-26", "2026-03-27"),
    *("2026-03-30", "2026-03-31", "2026-04-01", "2026-04-02"),
    *("2026-04-07", "2026-04-08", "2026-04-09", "2026-04-10"),
    *("2026-04-13", "2026-04-14", "2026-04-15", "2026-04-16", "2026-04-17"),
    *("2026-04-20", "2026-04-21", "2026-04-22", "2026-04-23"),
]


def asset(name: str, definition: dg.PartitionsDefinition, **parents: Any) -> dg.AssetsDefinition:
    """An asset that can make ranges, with a mapping to each of its parents."""
    deps = [dg.AssetDep(parent, partition_mapping=how) for parent, how in parents.items()]

    @dg.asset(
        name=name,
        partitions_def=definition,
        deps=deps,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def made() -> None: ...

    return made


def project(*assets: dg.AssetsDefinition) -> dg.Definitions:
    """The assets with a sensor over those by workday and one over those by period."""
    daily = [a for a in assets if isinstance(a.partitions_def, WorkdayPartitionsDefinition)]
    periods = [a for a in assets if a not in daily]
    sensors = [build_interval_sensor("days", daily, TABLE, policy=CatchupPolicy.latest())]
    if periods:
        policy = CatchupPolicy.latest()
        sensors.append(build_period_close_sensor("closes", periods, TABLE, policy=policy))
    return dg.Definitions(assets=list(assets), sensors=sensors)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def corrected(
    defs: dg.Definitions, instance: dg.DagsterInstance, day: str, sensors: Sequence[str]
) -> dict[str, list[str]]:
    """By asset, the partitions that are made after `day` of rates was made again."""
    execute(defs, instance, ["rates"], day)
    made = Counter(run_until_idle(defs, list(sensors), instance, NOON))
    assert set(made.values()) <= {1}, "something was made twice"
    found: dict[str, list[str]] = {}
    for name, key in sorted(made):
        found.setdefault(name, []).append(key)
    return found


def test_a_trailing_window(instance: dg.DagsterInstance) -> None:
    """A corrected day is in the windows of itself and of the nineteen workdays after it."""
    rates = asset("rates", WORKDAYS)
    average = asset("average", WORKDAYS, rates=trailing_workdays(20))
    defs = project(rates, average)
    execute(defs, instance, ["rates", "average"], "2026-01-01", LAST)
    assert corrected(defs, instance, "2026-03-24", ["days"]) == {"average": TWENTY_ONE[:20]}


def test_a_chain_of_windows(instance: dg.DagsterInstance) -> None:
    """Rates to returns of two days to volatility of twenty: two days, then the union, once each."""
    rates = asset("rates", WORKDAYS)
    returns = asset("returns", WORKDAYS, rates=trailing_workdays(2))
    volatility = asset("volatility", WORKDAYS, returns=trailing_workdays(20))
    defs = project(rates, returns, volatility)
    execute(defs, instance, ["rates", "returns", "volatility"], "2026-01-01", LAST)
    assert corrected(defs, instance, "2026-03-24", ["days"]) == {
        "returns": TWENTY_ONE[:2],
        "volatility": TWENTY_ONE,
    }


def test_a_short_and_a_long_way_to_the_same_asset(instance: dg.DagsterInstance) -> None:
    """What needs a corrected day directly waits for what else it needs that is to be made again."""
    rates = asset("rates", WORKDAYS)
    returns = asset("returns", WORKDAYS, rates=trailing_workdays(2))
    volatility = asset("volatility", WORKDAYS, returns=trailing_workdays(2))
    report = asset("report", WORKDAYS, rates=None, volatility=trailing_workdays(2))
    defs = project(rates, returns, volatility, report)
    names = ["rates", "returns", "volatility", "report"]
    execute(defs, instance, names, "2026-01-01", LAST)
    assert corrected(defs, instance, "2026-03-24", ["days"]) == {
        "returns": TWENTY_ONE[:2],
        "volatility": TWENTY_ONE[:3],
        "report": TWENTY_ONE[:4],
    }


def test_what_is_made_again_together_says_so(instance: dg.DagsterInstance) -> None:
    """A chain on one day goes into one run; each asset names what it is made again for."""
    rates = asset("rates", WORKDAYS)
    returns = asset("returns", WORKDAYS, rates=None)
    volatility = asset("volatility", WORKDAYS, returns=None)
    defs = project(rates, returns, volatility)
    execute(defs, instance, ["rates", "returns", "volatility"], "2026-04-20", LAST)
    execute(defs, instance, ["rates"], "2026-04-22")
    graph, keys = defs.resolve_asset_graph(), [returns.key, volatility.key]
    plans = plan_assets(
        graph, instance, keys, TABLE, as_of=now(NOON), policy=CatchupPolicy.latest()
    )
    reasons = {
        key.to_user_string(): [d.reason for d in p.of("due")] for key, p in plans.plans.items()
    }
    assert reasons == {
        "returns": ["rates 2026-04-22 was materialized after it"],
        "volatility": ["returns 2026-04-22 is made again with it"],
    }


def test_its_week_its_month_and_its_quarter(instance: dg.DagsterInstance) -> None:
    """Roll-ups are made again once each, also of what is made again later, and of one another."""
    months = dg.MonthlyPartitionsDefinition("2026-01-01", timezone=ZONE, end_offset=1)
    weeks = dg.WeeklyPartitionsDefinition("2025-12-29", day_offset=1, timezone=ZONE, end_offset=1)
    quarters = dg.TimeWindowPartitionsDefinition(
        cron_schedule="0 0 1 1,4,7,10 *",
        start="2026-01-01",
        fmt="%Y-%m-%d",
        timezone=ZONE,
        end_offset=1,
    )
    rates = asset("rates", WORKDAYS)
    returns = asset("returns", WORKDAYS, rates=trailing_workdays(2))
    weekly = asset("weekly", weeks, rates=rollup())
    monthly = asset("monthly", months, rates=rollup(), returns=rollup())
    quarterly = asset("quarterly", quarters, monthly=rollup())
    defs = project(rates, returns, weekly, monthly, quarterly)
    execute(defs, instance, ["rates", "returns"], "2026-01-01", LAST)
    execute(defs, instance, ["weekly"], "2025-12-29", "2026-04-20")
    execute(defs, instance, ["monthly"], "2026-01-01", "2026-04-01")
    execute(defs, instance, ["quarterly"], "2026-01-01")
    # The returns of Tuesday 31 March are in March, those of the day after in April. What "closes"
    # asks for runs first: it must not ask for a month whose returns are to be made again.
    assert corrected(defs, instance, "2026-03-31", ["closes", "days"]) == {
        "returns": ["2026-03-31", "2026-04-01"],
        "weekly": ["2026-03-30"],
        "monthly": ["2026-03-01", "2026-04-01"],
        "quarterly": ["2026-01-01"],
    }
