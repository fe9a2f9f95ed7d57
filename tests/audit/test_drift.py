"""Closing 2025-01-09, a Thursday that was open: exactly what is affected, derived by hand.

Before: ... Tue 7, Wed 8, Thu 9, Fri 10, Mon 13 January. After: ... Tue 7, Wed 8, Fri 10, Mon 13.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from support.audited import Audited
from support.ticks import ZONE, execute, now

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    previous_workday,
    rollup,
    trailing_workdays,
)
from workday_assets.audit.auditor import Auditor
from workday_assets.audit.impact import find_impact
from workday_assets.ecb.assets import COUNTED_CALENDARS, DAYS_USED
from workday_assets.ecb.metadata import add_partition_metadata, inputs_metadata

XECB = WorkdayCalendar.named("XECB")
CLOSED = XECB.with_closures({"2025-01-09": "National mourning"})
#: The twenty workdays after the 9th. The window of each of the first nineteen held the 9th; that
#: of the last begins with the return of the 10th, which changes.
TWENTY = [
    "2025-01-10",
    "2025-01-13", "2025-01-14", "2025-01-15", "2025-01-16", "2025-01-17",
    "2025-01-20", "2025-01-21", "2025-01-22", "2025-01-23", "2025-01-24",
    "2025-01-27", "2025-01-28", "2025-01-29", "2025-01-30", "2025-01-31",
    "2025-02-03", "2025-02-04", "2025-02-05", "2025-02-06",
]  # fmt: skip


def impact(history: Audited, new: WorkdayCalendar) -> dict[str, Any]:
    """What `new` would do, by asset."""
    repository = history.defs.get_repository_def()
    keys = [spec.key for spec in repository.asset_graph.asset_nodes if spec.is_partitioned]
    found = find_impact(
        repository.asset_graph,
        history.instance,
        keys,
        new,
        as_of=now("2025-02-15T12:00"),
        days_used=DAYS_USED,
        calendars=COUNTED_CALENDARS,
    )
    return {asset.name.removeprefix("ecb/"): asset for asset in found}


def test_impact_of_a_closure(history: Audited) -> None:
    """The day itself is orphaned everywhere; what used it or counted over it is made again."""
    found = impact(history, CLOSED)
    daily = {"reference_rates", "usd_crosses", "returns", "volatility_20d", "spot_value_dates"}
    assert {name for name, asset in found.items() if asset.orphaned == ["2025-01-09"]} == daily
    assert {name for name, asset in found.items() if asset.removed == ["2025-01-09"]} == daily
    assert [asset.added for asset in found.values()] == [[]] * 7
    assert {name: [drift.key for drift in asset.affected] for name, asset in found.items()} == {
        "reference_rates": [],
        "usd_crosses": [],
        # The 10th was against the 9th, and is against the 8th.
        "returns": ["2025-01-10"],
        "volatility_20d": TWENTY,
        # Two workdays after the 7th and the 8th were the 9th and the 10th: the 10th and the 13th.
        "spot_value_dates": ["2025-01-07", "2025-01-08"],
        "weekly_summary": ["2025-01-06"],
        "monthly_summary": ["2025-01-01"],
    }
    volatility = {drift.key: drift for drift in found["volatility_20d"].affected}
    assert {key for key, drift in volatility.items() if drift.via is not None} == {"2025-02-06"}
    assert volatility["2025-02-06"].what == (
        "it is made from ecb/returns 2025-01-10, which is affected"
    )
    assert found["returns"].affected[0].what == (
        "it was made from ecb/reference_rates 2 keys 2025-01-09 to 2025-01-10,"
        " and needs 2 keys 2025-01-08 to 2025-01-10"
    )


def test_impact_of_a_dollar_holiday(history: Audited) -> None:
    """No partition is by XFED; trades of the 7th would settle a day later."""
    new = WorkdayCalendar.named("XFED").with_closures({"2025-01-09": "National mourning"})
    found = impact(history, new)
    assert {name for name, asset in found.items() if asset} == {"spot_value_dates"}
    assert [drift.key for drift in found["spot_value_dates"].affected] == ["2025-01-07"]


def test_impact_of_an_opened_day(history: Audited) -> None:
    """Were Saturday the 11th open, Monday's return would be against it; the Saturday is missing."""
    found = impact(history, XECB.with_extra_workdays({"2025-01-11": "make-up day"}))
    assert found["returns"].added == ["2025-01-11"]
    assert found["returns"].orphaned == []
    assert [drift.key for drift in found["returns"].affected] == ["2025-01-13"]
    # Thursday the 9th counts to Saturday, on which the dollar rests, and still settles on Monday,
    # but from other days; Friday the 10th settles on Monday rather than on Tuesday.
    assert [drift.key for drift in found["spot_value_dates"].affected] == [
        "2025-01-09",
        "2025-01-10",
    ]
    assert [drift.key for drift in found["weekly_summary"].affected] == ["2025-01-06"]
    assert [drift.key for drift in found["monthly_summary"].affected] == ["2025-01-01"]


def test_the_same_calendar_has_no_impact(history: Audited) -> None:
    """Nothing appears, goes or is affected."""
    assert [name for name, asset in impact(history, XECB).items() if asset] == []


class Own:
    """A project of four assets and a week whose calendar can change, on one instance."""

    def __init__(self, calendar: WorkdayCalendar) -> None:
        self.calendar = calendar
        days = WorkdayPartitionsDefinition(calendar, ZONE, start="2025-01-02", end="2025-01-18")
        weeks = dg.WeeklyPartitionsDefinition(
            "2025-01-06", timezone=ZONE, day_offset=1, end_offset=1
        )

        @dg.asset(partitions_def=days, backfill_policy=dg.BackfillPolicy.single_run())
        def prices() -> None: ...

        @dg.asset(
            partitions_def=days,
            deps=[dg.AssetDep(prices, partition_mapping=trailing_workdays(2))],
            backfill_policy=dg.BackfillPolicy.single_run(),
        )
        def changes(context: dg.AssetExecutionContext) -> None:
            used = {
                key: [str(d) for d in days.days_around(days.day(key), -1, 0)]
                for key in context.partition_keys
            }
            metadata = {key: inputs_metadata({"prices": days}) for key, days in used.items()}
            add_partition_metadata(context, metadata)

        @dg.asset(
            partitions_def=days,
            deps=[dg.AssetDep(changes, partition_mapping=trailing_workdays(3))],
            backfill_policy=dg.BackfillPolicy.single_run(),
        )
        def average(context: dg.AssetExecutionContext) -> None:
            used = {
                key: [str(d) for d in days.days_around(days.day(key), -2, 0)]
                for key in context.partition_keys
            }
            metadata = {key: inputs_metadata({"changes": days}) for key, days in used.items()}
            add_partition_metadata(context, metadata)

        @dg.asset(
            partitions_def=days,
            ins={"level": dg.AssetIn(partition_mapping=previous_workday())},
        )
        def level(level: None) -> None: ...

        @dg.asset(partitions_def=weeks, deps=[dg.AssetDep(prices, partition_mapping=rollup())])
        def week(context: dg.AssetExecutionContext) -> None:
            first = pd.Timestamp(context.partition_key).date()
            past = (pd.Timestamp(first) + pd.Timedelta(days=7)).date()
            used = [str(day) for day in calendar.workdays(first, past)]
            context.add_output_metadata(inputs_metadata({"prices": used}))

        self.defs = dg.Definitions(assets=[prices, changes, average, level, week])

    def fill(self, instance: dg.DagsterInstance) -> None:
        """Make everything."""
        for asset, first, last in (
            ("prices", "2025-01-02", "2025-01-17"),
            ("changes", "2025-01-02", "2025-01-17"),
            ("week", "2025-01-06", None),
            ("week", "2025-01-13", None),
        ):
            assert execute(self.defs, instance, [asset], first, last).success

    def findings(
        self,
        instance: dg.DagsterInstance,
        *assets: str,
        start: date | None = None,
        end: date | None = None,
    ) -> list[tuple[str, str, str]]:
        """Asset, key and kind of every finding on 2025-01-20."""
        graph = self.defs.get_repository_def().asset_graph
        timetable = WorkdayTimetable(self.calendar, ZONE)
        auditor = Auditor(graph, instance, timetable, now("2025-01-20T12:00"))
        keys = [dg.AssetKey(name) for name in assets or ("prices", "changes", "week")]
        audit = auditor.audit(keys, start=start, end=end)
        return [(finding.asset, finding.key, finding.kind) for finding in audit.findings]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


def test_after_a_closure(instance: dg.DagsterInstance) -> None:
    """Once the calendar has changed: what should not exist, and what was made from it."""
    before = Own(XECB)
    before.fill(instance)
    assert before.findings(instance) == []
    assert sorted(Own(CLOSED).findings(instance)) == [
        ("changes", "2025-01-09", "orphan"),
        ("changes", "2025-01-10", "drift"),
        ("prices", "2025-01-09", "orphan"),
        ("week", "2025-01-06", "drift"),
    ]


def test_what_lies_before_the_range_is_followed(instance: dg.DagsterInstance) -> None:
    """The average of the 14th has the days it had, and one of them, the 10th, is affected.

    Its days are the 10th, 13th and 14th; those of the 15th are the 13th to the 15th.
    """
    before = Own(XECB)
    before.fill(instance)
    assert execute(before.defs, instance, ["average"], "2025-01-07", "2025-01-17").success
    after = Own(CLOSED)
    assert after.findings(instance, "average", start=date(2025, 1, 14)) == [
        ("average", "2025-01-14", "downstream"),
    ]
    assert after.findings(instance, "average", start=date(2025, 1, 15)) == []


def test_an_asset_that_needs_its_own_yesterday(instance: dg.DagsterInstance) -> None:
    """A level on the level of the workday before: what is wrong stays wrong from the 10th on."""
    days = ["2025-01-02", "2025-01-03", "2025-01-06", "2025-01-07", "2025-01-08", "2025-01-09"]
    days += ["2025-01-10", "2025-01-13", "2025-01-14"]
    for previous, day in zip(["", *days[:-1]], days, strict=True):
        inputs = {"level": [previous] if previous else []}
        instance.report_runless_asset_event(
            dg.AssetMaterialization("level", partition=day, metadata=inputs_metadata(inputs))
        )
    range_ = {"start": date(2025, 1, 13), "end": date(2025, 1, 14)}
    assert Own(XECB).findings(instance, "level", **range_) == []
    assert Own(CLOSED).findings(instance, "level", **range_) == [
        ("level", "2025-01-13", "downstream"),
        ("level", "2025-01-14", "downstream"),
    ]


def test_after_an_opening(instance: dg.DagsterInstance) -> None:
    """What is missing now, and what was made without it."""
    Own(CLOSED).fill(instance)
    assert sorted(Own(XECB).findings(instance)) == [
        ("changes", "2025-01-09", "missing"),
        ("changes", "2025-01-10", "drift"),
        ("prices", "2025-01-09", "missing"),
        ("week", "2025-01-06", "drift"),
    ]


def test_what_is_made_again_is_right_again(instance: dg.DagsterInstance) -> None:
    """After the affected partitions are made again only the orphans are left."""
    Own(XECB).fill(instance)
    after = Own(CLOSED)
    assert execute(after.defs, instance, ["changes"], "2025-01-10").success
    assert execute(after.defs, instance, ["week"], "2025-01-06").success
    assert sorted(after.findings(instance)) == [
        ("changes", "2025-01-09", "orphan"),
        ("prices", "2025-01-09", "orphan"),
    ]


def test_an_open_period_is_not_judged(instance: dg.DagsterInstance) -> None:
    """A week that was made on Friday noon has one more day to come."""
    project = Own(XECB)
    project.fill(instance)
    graph = project.defs.get_repository_def().asset_graph
    auditor = Auditor(graph, instance, WorkdayTimetable(XECB, ZONE), now("2025-01-17T12:00"))
    instance.report_runless_asset_event(
        dg.AssetMaterialization(
            "week",
            partition="2025-01-13",
            metadata=inputs_metadata({"prices": ["2025-01-13", "2025-01-14"]}),
        )
    )
    assert auditor.audit([dg.AssetKey("week")], start=date(2025, 1, 13)).findings == []
