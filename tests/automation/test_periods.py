"""Weeks, months, quarters and years that close with their last workday, on a real instance."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, time
from time import perf_counter
from typing import Any

import dagster as dg
import pytest
from support.ticks import ZONE, execute, now, run_keys, tick

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    build_period_close_sensor,
    rollup,
)
from workday_assets.automation.graph import DatedGraph, upstream_days
from workday_assets.automation.period_plans import PeriodDecision, plan_periods
from workday_assets.automation.periods import Periods
from workday_assets.errors import InvalidInputError, OutOfBoundsError

#: TARGET days of December 2025 to December 2026, with a made-up week without any.
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
        "2026-12-25": "Christmas Day",
    },
    closures={f"2026-08-{day}": "flood" for day in (10, 11, 12, 13, 14)},
)
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, ZONE)
TABLE = WorkdayTimetable(CALENDAR, ZONE)
MONTHS = dg.MonthlyPartitionsDefinition("2025-12-01", timezone=ZONE, end_offset=1)
WEEKS = dg.WeeklyPartitionsDefinition("2025-12-01", day_offset=1, timezone=ZONE, end_offset=1)
#: By hand: January 2026 has 21 workdays, from Friday the 2nd to Friday the 30th.
JANUARY = [2, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 26, 27, 28, 29, 30]
LATEST = CatchupPolicy.latest()
RANGES = dg.BackfillPolicy.single_run()


@dataclass
class Source:
    """An archive, or a live source, of workdays."""

    last_date: date | None = None
    missing: set[date] = field(default_factory=set)

    def published(self, day: date) -> bool:
        """Whether `day` is there."""
        return day not in self.missing and (self.last_date is None or day <= self.last_date)

    def describe(self) -> str:
        """What and where it ends."""
        return f"the archive ends {self.last_date}"


@dg.asset(partitions_def=WORKDAYS)
def rates() -> None:
    """A workday asset."""


@dg.asset(
    partitions_def=MONTHS,
    deps=[dg.AssetDep(rates, partition_mapping=rollup())],
    config_schema={"fail": dg.Field(bool, default_value=False)},
    backfill_policy=RANGES,
)
def monthly(context: dg.AssetExecutionContext) -> None:
    """Made from the workdays of its month; fails when its config says so."""
    if context.op_execution_context.op_config["fail"]:
        raise ValueError("no month")


@dg.asset(
    partitions_def=WEEKS,
    deps=[dg.AssetDep(rates, partition_mapping=rollup())],
    backfill_policy=RANGES,
)
def weekly() -> None:
    """Made from the workdays of its ISO week."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def definitions(
    *assets: dg.AssetsDefinition, timetable: WorkdayTimetable = TABLE, **options: Any
) -> dg.Definitions:
    """Rates with a sensor over `assets`."""
    source = options.pop("archive", Source())
    sensor = build_period_close_sensor(
        "closes", list(assets), timetable, **{"source": "source", "policy": LATEST, **options}
    )
    resource = dg.ResourceDefinition.hardcoded_resource(source)
    assets = tuple(asset for asset in assets if asset is not rates)
    return dg.Definitions([rates, *assets], sensors=[sensor], resources={"source": resource})


def report(instance: dg.DagsterInstance, asset: str, *keys: str) -> None:
    """Materialize partitions as a tool outside Dagster would."""
    for key in keys:
        event = dg.AssetMaterialization(asset_key=asset, partition=key)
        instance.report_runless_asset_event(event)


def january(instance: dg.DagsterInstance, *, without: tuple[int, ...] = ()) -> None:
    """Materialize the workdays of January 2026."""
    days = [f"2026-01-{day:02}" for day in JANUARY if day not in without]
    report(instance, "rates", *days)


def decisions(
    instance: dg.DagsterInstance, asset: dg.AssetsDefinition, at: str, **options: Any
) -> dict[str, PeriodDecision]:
    """By partition key, what is decided on the periods of an asset."""
    graph = dg.Definitions([rates, asset]).resolve_asset_graph()
    plans = plan_periods(graph, instance, [asset.key], TABLE, as_of=now(at), **options)
    return {decision.period.key: decision for decision in plans.plans[asset.key].decisions}


def verdicts(found: dict[str, PeriodDecision]) -> dict[str, str]:
    """By partition key, the verdict."""
    return {key: decision.verdict for key, decision in found.items()}


def test_january_closes_on_saturday(instance: dg.DagsterInstance) -> None:
    """Its last workday, Friday the 30th, is over at Saturday 00:00 in Berlin, and not before."""
    january(instance)
    defs = definitions(monthly)
    assert run_keys(tick(defs, "closes", instance, "2026-01-30T23:59:59")) == []
    assert run_keys(tick(defs, "closes", instance, "2026-01-31T00:00")) == ["monthly 2026-01-01#0"]


def test_january_closes_at_the_timetables_time(instance: dg.DagsterInstance) -> None:
    """With run_at 18:00 on the workday itself's morrow, the close is at that time too."""
    january(instance)
    evening = WorkdayTimetable(CALENDAR, ZONE, time(18))
    defs = definitions(monthly, timetable=evening)
    assert run_keys(tick(defs, "closes", instance, "2026-01-31T17:59")) == []
    assert run_keys(tick(defs, "closes", instance, "2026-01-31T18:00")) == ["monthly 2026-01-01#0"]


def test_a_period_waits_for_its_workdays(instance: dg.DagsterInstance) -> None:
    """The tick names the period, its first missing day and how many more there are."""
    january(instance, without=(15, 16, 19))
    data = tick(definitions(monthly), "closes", instance, "2026-01-31T00:00")
    assert data.skip_message == (
        "monthly 2026-01-01: it waits for rates 2026-01-15 and 2 more;"
        " the next period begins 2026-02-01."
    )


def test_what_is_expected_and_what_is_missing(instance: dg.DagsterInstance) -> None:
    """January is fed by exactly its 21 workdays, and the decision names what is missing."""
    january(instance, without=(15,))
    decision = decisions(instance, monthly, "2026-01-31T00:00")["2026-01-01"]
    assert decision.expected == [(rates.key, date(2026, 1, day)) for day in JANUARY]
    assert decision.missing == [(rates.key, date(2026, 1, 15))]
    assert (decision.period.first, decision.period.past) == (date(2026, 1, 1), date(2026, 2, 1))


def test_a_made_period_is_left_alone(instance: dg.DagsterInstance) -> None:
    """Once made, a period is not asked for again, and the tick says what comes next."""
    january(instance)
    defs = definitions(monthly)
    execute(defs, instance, ["monthly"], "2026-01-01")
    assert tick(defs, "closes", instance, "2026-02-03T12:00").skip_message == (
        "nothing is due of the newest period: all 1 assets are done up to the period of 2026-01-01;"
        " next run 2026-02-28 00:00 for monthly 2026-02-01."
    )


def test_a_week_and_a_month_of_the_same_key(instance: dg.DagsterInstance) -> None:
    """1 June 2026 is a Monday: week and month have one partition key, and both are asked for."""
    days = CALENDAR.workdays("2026-06-01", "2026-07-01")
    report(instance, "rates", *map(str, days))
    defs = definitions(weekly, monthly, policy=CatchupPolicy.all())
    requests = tick(defs, "closes", instance, "2026-07-01T00:00").run_requests or []
    june = [r for r in requests if r.partition_key == "2026-06-01"]
    assert [r.run_key for r in june] == ["weekly 2026-06-01#0", "monthly 2026-06-01#0"]
    assert [r.run_key for r in requests if r not in june] == [
        "weekly 2026-06-08#0",
        "weekly 2026-06-15#0",
        "weekly 2026-06-22#0",
    ]


def test_assets_with_the_same_periods_go_into_one_run(instance: dg.DagsterInstance) -> None:
    """A report on the month is requested in the run of the month itself."""

    @dg.asset(partitions_def=MONTHS, deps=[monthly])
    def letter() -> None: ...

    january(instance)
    defs = definitions(letter, monthly)
    request = (tick(defs, "closes", instance, "2026-01-31T00:00").run_requests or [])[0]
    assert request.run_key == "letter 2026-01-01#0"
    assert request.asset_selection == [letter.key, monthly.key]


def test_a_run_carries_its_interval(instance: dg.DagsterInstance) -> None:
    """The interval is that of the period's workdays: from the 2nd to the end of the 30th."""
    january(instance)
    data = tick(definitions(monthly), "closes", instance, "2026-01-31T00:00")
    tags = (data.run_requests or [])[0].tags
    assert {key: value for key, value in tags.items() if key.startswith("workday/")} == {
        "workday/logical_date_first": "2026-01-02",
        "workday/logical_date_last": "2026-01-30",
        "workday/interval_start": "2026-01-02T00:00:00+01:00",
        "workday/interval_end": "2026-01-31T00:00:00+01:00",
        "workday/run_after": "2026-01-31T00:00:00+01:00",
        "workday/trigger": "closes",
    }


def test_a_failed_period(instance: dg.DagsterInstance) -> None:
    """Its attempts are counted: it is tried again as often as allowed, under a new run key."""
    january(instance)
    defs = definitions(monthly, retry_failed=1)
    keys = []
    config = {"ops": {"monthly": {"config": {"fail": True}}}}
    for _ in range(2):
        keys += run_keys(tick(defs, "closes", instance, "2026-01-31T00:00"))
        execute(defs, instance, ["monthly"], "2026-01-01", run_config=config)
    assert keys == ["monthly 2026-01-01#0", "monthly 2026-01-01#1"]
    data = tick(defs, "closes", instance, "2026-01-31T00:00")
    assert "monthly 2026-01-01: it failed 2 times, and 1 retries" in (data.skip_message or "")


def test_a_period_in_flight(instance: dg.DagsterInstance) -> None:
    """A run that has not ended holds its period back, and one of an upstream day does too."""
    january(instance)
    defs = definitions(monthly)
    start(defs, instance, rates, "2026-01-15")
    data = tick(defs, "closes", instance, "2026-01-31T00:00")
    assert "monthly 2026-01-01: it waits for rates 2026-01-15;" in (data.skip_message or "")
    start(defs, instance, monthly, "2026-01-01")
    data = tick(defs, "closes", instance, "2026-01-31T00:00")
    assert "in flight: monthly 2026-01-01" in (data.skip_message or "")


def start(
    defs: dg.Definitions, instance: dg.DagsterInstance, asset: dg.AssetsDefinition, key: str
) -> None:
    """Create a run that has started and does not end."""
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={asset.key})
    instance.create_run_for_job(
        job,
        asset_selection=frozenset({asset.key}),
        tags={"dagster/partition": key},
        status=dg.DagsterRunStatus.STARTED,
    )


def test_an_old_correction_is_not_held_by_the_policy(instance: dg.DagsterInstance) -> None:
    """A month of any age is made again, once; the policy is for months that were never made."""
    january(instance)
    execute(definitions(monthly), instance, ["monthly"], "2026-01-01")
    report(instance, "rates", "2026-01-15")
    defs = definitions(monthly)
    found = decisions(instance, monthly, "2026-11-15T12:00", policy=LATEST)["2026-01-01"]
    assert (found.verdict, found.reason) == ("due", "rates 2026-01-15 was materialized after it")
    data = tick(defs, "closes", instance, "2026-11-15T12:00")
    assert run_keys(data) == ["monthly 2026-01-01#1"]
    execute(defs, instance, ["monthly"], "2026-01-01")
    assert run_keys(tick(defs, "closes", instance, "2026-11-15T12:00")) == []


def all_days(instance: dg.DagsterInstance, first: str, past: str) -> None:
    """Materialize the workdays of a range."""
    report(instance, "rates", *map(str, CALENDAR.workdays(first, past)))


def test_many_periods_are_one_range(instance: dg.DagsterInstance) -> None:
    """Up to ten are a run each; eleven months are one run, with the first and last of each tag."""
    all_days(instance, "2025-12-01", "2026-11-01")
    ten = definitions(monthly, policy=CatchupPolicy.last(10))
    many = definitions(monthly, policy=CatchupPolicy.all())
    assert len(run_keys(tick(ten, "closes", instance, "2026-11-01T00:00"))) == 10
    data = tick(many, "closes", instance, "2026-11-01T00:00")
    assert run_keys(data) == ["monthly 2025-12-01..2026-10-01#0"]
    tags = (data.run_requests or [])[0].tags
    assert tags["dagster/asset_partition_range_start"] == "2025-12-01"
    assert tags["dagster/asset_partition_range_end"] == "2026-10-01"
    assert tags["workday/logical_date_first"] == "2025-12-01"
    assert tags["workday/logical_date_last"] == "2026-10-30"


def test_many_periods_of_an_asset_that_makes_one_at_a_time(instance: dg.DagsterInstance) -> None:
    """An asset with Dagster's default backfill policy gets a run per period, however many."""

    @dg.asset(partitions_def=MONTHS, deps=[dg.AssetDep(rates, partition_mapping=rollup())])
    def single() -> None: ...

    all_days(instance, "2025-12-01", "2026-11-01")
    defs = definitions(single, policy=CatchupPolicy.all())
    assert len(run_keys(tick(defs, "closes", instance, "2026-11-01T00:00"))) == 11


def test_a_correction_counts_against_no_limit(instance: dg.DagsterInstance) -> None:
    """With one period a tick, one that was never made is asked for beside one to be made again."""
    all_days(instance, "2025-12-01", "2026-02-01")
    report(instance, "monthly", "2025-12-01")
    report(instance, "rates", "2025-12-10")
    defs = definitions(monthly, policy=CatchupPolicy.all(limit=1))
    data = tick(defs, "closes", instance, "2026-01-31T00:00")
    assert run_keys(data) == ["monthly 2025-12-01#0", "monthly 2026-01-01#0"]


def test_an_old_failure_is_not_told_at_each_tick(instance: dg.DagsterInstance) -> None:
    """A failed month is named while the policy keeps it, and not for ever."""
    january(instance)
    defs = definitions(monthly)
    config = {"ops": {"monthly": {"config": {"fail": True}}}}
    execute(defs, instance, ["monthly"], "2026-01-01", run_config=config)
    report(instance, "monthly", "2026-05-01")
    data = tick(defs, "closes", instance, "2026-06-02T12:00")
    assert (data.skip_message or "").startswith("nothing is due of the newest period")
    assert decisions(instance, monthly, "2026-06-02T12:00")["2026-01-01"].verdict == "failed"


def test_a_month_before_the_first_upstream_day(instance: dg.DagsterInstance) -> None:
    """It has workdays, and no upstream partition: there is nothing to make it from."""

    @dg.asset(partitions_def=WorkdayPartitionsDefinition(CALENDAR, ZONE, start="2026-01-01"))
    def late() -> None: ...

    @dg.asset(partitions_def=MONTHS, deps=[dg.AssetDep(late, partition_mapping=rollup())])
    def summary() -> None: ...

    graph = dg.Definitions([late, summary]).resolve_asset_graph()
    plans = plan_periods(graph, instance, [summary.key], TABLE, as_of=now("2026-02-01T00:00"))
    assert [(d.verdict, d.reason) for d in plans.plans[summary.key].decisions] == [
        ("closed", "no upstream partition is in it"),
        ("not_ready", "it waits for late 2026-01-02 and 20 more"),
        ("waiting", "it may run from 2026-02-28 00:00 Europe/Berlin"),
    ]


def test_a_parent_whose_partitions_are_no_dates(instance: dg.DagsterInstance) -> None:
    """It is waited for by its key."""

    @dg.asset(partitions_def=dg.StaticPartitionsDefinition(["EUR", "USD"]))
    def limits() -> None: ...

    mapping = dg.SpecificPartitionsPartitionMapping(["USD"])
    deps = [dg.AssetDep(rates, partition_mapping=rollup())]
    deps.append(dg.AssetDep(limits, partition_mapping=mapping))

    @dg.asset(partitions_def=MONTHS, deps=deps)
    def checked() -> None: ...

    january(instance)
    sensor = build_period_close_sensor("closes", [checked], TABLE, policy=LATEST)
    defs = dg.Definitions([rates, limits, checked], sensors=[sensor])
    data = tick(defs, "closes", instance, "2026-01-31T00:00")
    assert "checked 2026-01-01: it waits for limits USD;" in (data.skip_message or "")
    report(instance, "limits", "USD")
    assert run_keys(tick(defs, "closes", instance, "2026-01-31T00:00")) == ["checked 2026-01-01#0"]


def test_a_week_without_a_workday(instance: dg.DagsterInstance) -> None:
    """It is complete with nothing, is never requested, and no range goes over it."""
    all_days(instance, "2026-06-01", "2026-09-01")
    found = decisions(instance, weekly, "2026-08-31T12:00", start=date(2026, 8, 3))
    assert verdicts(found) == {
        "2026-08-03": "due",
        "2026-08-10": "closed",
        "2026-08-17": "due",
        "2026-08-24": "due",
        "2026-08-31": "waiting",
    }
    assert found["2026-08-10"].reason == "it has no workday of TGT"
    defs = definitions(weekly, policy=CatchupPolicy.last(12))
    assert run_keys(tick(defs, "closes", instance, "2026-08-31T12:00")) == [
        "weekly 2026-06-01..2026-08-03#0",
        "weekly 2026-08-17..2026-08-24#0",
    ]


def test_an_archive_ends_the_plan(instance: dg.DagsterInstance) -> None:
    """What its last date leaves unfinished is neither due nor waited for, and the tick says so."""
    all_days(instance, "2026-10-01", "2026-11-12")
    ends_october = {"archive": Source(date(2026, 10, 30))}  # a Friday, October's last workday
    defs = definitions(monthly, **ends_october)
    assert run_keys(tick(defs, "closes", instance, "2026-12-15T12:00")) == ["monthly 2026-10-01#0"]
    execute(defs, instance, ["monthly"], "2026-10-01")
    assert tick(defs, "closes", instance, "2026-12-15T12:00").skip_message == (
        "nothing is due of the newest period: all 1 assets are done up to the period of 2026-10-01;"
        " the archive ends 2026-10-30."
    )
    defs = definitions(weekly, archive=Source(date(2026, 11, 11)), policy=CatchupPolicy.last(1))
    data = tick(defs, "closes", instance, "2026-12-15T12:00")
    assert run_keys(data) == ["weekly 2026-11-02#0"]


POLICIES = [
    ("all", CatchupPolicy.all(), ["due", "due", "due", "waiting"]),
    ("last-two", CatchupPolicy.last(2), ["skipped", "due", "due", "waiting"]),
    ("limit", CatchupPolicy.all(limit=1), ["due", "skipped", "skipped", "waiting"]),
    (
        "newest-first",
        CatchupPolicy.all(limit=1, newest_first=True),
        ["skipped", "skipped", "due", "waiting"],
    ),
    (
        "since",
        CatchupPolicy.none(now("2026-01-20T12:00")),
        ["skipped", "due", "due", "waiting"],
    ),
]


@pytest.mark.parametrize(
    ("policy", "expected"), [row[1:] for row in POLICIES], ids=[row[0] for row in POLICIES]
)
def test_a_policy_counts_periods(
    instance: dg.DagsterInstance, policy: CatchupPolicy, expected: list[str]
) -> None:
    """Of December, January, February and March, as seen in mid-March."""
    all_days(instance, "2025-12-01", "2026-03-14")
    found = decisions(instance, monthly, "2026-03-14T12:00", policy=policy)
    assert list(verdicts(found).values()) == expected


def test_a_skipped_period_says_why(instance: dg.DagsterInstance) -> None:
    """The reason counts in periods too."""
    all_days(instance, "2025-12-01", "2026-03-01")
    found = decisions(instance, monthly, "2026-03-14T12:00", policy=CatchupPolicy.last(1))
    assert found["2026-01-01"].reason == "only the newest period is made up, from 2026-02-01 on"


def test_workdays_that_the_caller_makes_before(instance: dg.DagsterInstance) -> None:
    """They count as there, and a period that was made is to be made again after them."""
    january(instance, without=(15,))
    report(instance, "monthly", "2026-01-01")
    report(instance, "rates", *map(str, CALENDAR.workdays("2025-12-01", "2026-01-01")))
    report(instance, "monthly", "2025-12-01")
    requested = {rates.key: {date(2026, 1, 15)}}
    found = decisions(instance, monthly, "2026-02-10T12:00", requested=requested)
    assert verdicts(found) == {"2025-12-01": "done", "2026-01-01": "due", "2026-02-01": "waiting"}
    assert found["2026-01-01"].missing == []


def test_periods_of_periods(instance: dg.DagsterInstance) -> None:
    """A quarter waits for its months, unless the caller makes them before."""
    quarters = dg.TimeWindowPartitionsDefinition(
        start="2026-01-01",
        cron_schedule="0 0 1 1,4,7,10 *",
        fmt="%Y-%m-%d",
        timezone=ZONE,
        end_offset=1,
    )

    @dg.asset(partitions_def=quarters, deps=[dg.AssetDep(monthly, partition_mapping=rollup())])
    def quarterly() -> None: ...

    all_days(instance, "2026-01-01", "2026-04-01")
    graph = dg.Definitions([rates, monthly, quarterly]).resolve_asset_graph()
    options: dict[str, Any] = {"as_of": now("2026-04-01T00:00"), "start": date(2026, 1, 1)}
    keys = [quarterly.key, monthly.key]
    sensor = plan_periods(graph, instance, keys, TABLE, **options)
    in_order = plan_periods(graph, instance, keys, TABLE, requested={}, **options)
    assert [d.reason for d in sensor.plans[quarterly.key].decisions] == [
        "it waits for monthly 2026-01-01 and 2 more",
        "it may run from 2026-07-01 00:00 Europe/Berlin",
    ]
    assert [d.verdict for d in in_order.plans[quarterly.key].decisions] == ["due", "waiting"]


def test_a_range_of_dates(instance: dg.DagsterInstance) -> None:
    """Periods that have a date of the range are planned, both ends included."""
    found = decisions(
        instance, monthly, "2026-06-15T12:00", start=date(2026, 1, 31), end=date(2026, 3, 1)
    )
    assert list(found) == ["2026-01-01", "2026-02-01", "2026-03-01"]


def test_a_calendar_that_ends_inside_a_period(instance: dg.DagsterInstance) -> None:
    """Nobody knows that period's last workday: it waits, and the tick fails when all is done."""
    all_days(instance, "2026-12-01", "2027-01-01")
    found = decisions(instance, weekly, "2027-01-02T12:00", start=date(2026, 12, 21))
    assert verdicts(found) == {"2026-12-21": "due", "2026-12-28": "waiting"}
    assert found["2026-12-28"].reason == "calendar TGT ends 2026-12-31, before its run-after"
    defs = definitions(monthly)
    execute(defs, instance, ["monthly"], "2026-12-01", at="2027-01-02T12:00")
    with pytest.raises(OutOfBoundsError, match="outside calendar TGT"):
        tick(defs, "closes", instance, "2027-01-02T12:00")


def test_a_month_that_reads_the_source_itself(instance: dg.DagsterInstance) -> None:
    """Without upstream assets, the source must have published each of its workdays."""

    @dg.asset(partitions_def=MONTHS)
    def raw() -> None: ...

    archive = Source(missing={date(2026, 1, 15)})
    defs = definitions(raw, archive=archive)
    data = tick(defs, "closes", instance, "2026-01-31T00:00")
    assert "raw 2026-01-01: it waits for the source to publish 2026-01-15" in (
        data.skip_message or ""
    )
    archive.missing.clear()
    assert run_keys(tick(defs, "closes", instance, "2026-01-31T00:00")) == ["raw 2026-01-01#0"]


BOTH = dg.MultiPartitionsDefinition(
    {"month": MONTHS, "region": dg.StaticPartitionsDefinition(["e"])}
)
REFUSED: list[tuple[str, dg.PartitionsDefinition | None, str]] = [
    (
        "no-open-period",
        dg.MonthlyPartitionsDefinition("2026-01-01", timezone=ZONE),
        "assets=made has no partition for the open period .* give its definition end_offset=1",
    ),
    (
        "other-zone",
        dg.MonthlyPartitionsDefinition("2026-01-01", timezone="UTC", end_offset=1),
        "assets=made has periods in UTC, but the timetable is in Europe/Berlin; give both the same",
    ),
    (
        "several-dimensions",
        BOTH,
        r"assets=made has partitions of several dimensions \(month, region\), .* leave it out",
    ),
    (
        "hours",
        dg.HourlyPartitionsDefinition("2026-01-01-00:00", timezone=ZONE),
        "assets=made is not partitioned by workdays, nor by weeks",
    ),
    (
        "from-six-o-clock",
        dg.MonthlyPartitionsDefinition("2026-01-01", hour_offset=6, timezone=ZONE),
        "other windows from midnight to midnight",
    ),
    ("static", dg.StaticPartitionsDefinition(["a"]), "assets=made is not partitioned by workdays"),
    ("none", None, r"nor by weeks .* \(None\); leave it out"),
    ("workdays", WORKDAYS, "assets=made is partitioned by workdays .* build_interval_sensor"),
]


@pytest.mark.parametrize(
    ("definition", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_closes_no_period_is_refused(
    instance: dg.DagsterInstance, definition: dg.PartitionsDefinition | None, message: str
) -> None:
    """One sentence names the asset, what is wrong and what to do."""

    @dg.asset(partitions_def=definition)
    def made() -> None: ...

    with pytest.raises(InvalidInputError, match=message):
        tick(definitions(made), "closes", instance, "2026-01-31T00:00")


#: Sunday-based weeks, and years that begin on 1 April, are periods too.
SHAPES = [("weeks", "0 0 * * 1"), ("sunday-weeks", "0 0 * * 0"), ("months", "0 0 1 * *")]
SHAPES += [("quarters", "0 0 1 1,4,7,10 *"), ("years-from-april", "0 0 1 4 *")]
CALENDARS = [("XECB", ZONE), ("CN", "Asia/Shanghai"), ("XNYS", "America/New_York")]


@pytest.mark.parametrize(("code", "zone"), CALENDARS, ids=[row[0] for row in CALENDARS])
@pytest.mark.parametrize("cron", [row[1] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_bisection_answers_as_dagsters_mapping(code: str, zone: str, cron: str) -> None:
    """The workdays of every period are those that the mapping names, found ten times as fast."""
    calendar = WorkdayCalendar.named(code)
    start = max(calendar.first_date, date(2000, 1, 1))
    workdays = WorkdayPartitionsDefinition(calendar, zone, start=start)
    definition = dg.TimeWindowPartitionsDefinition(
        start=f"{start:%Y-%m-%d}", cron_schedule=cron, fmt="%Y-%m-%d", timezone=zone, end_offset=1
    )
    periods = Periods(definition, now("2026-06-17T12:00"))
    all_over = now("2027-06-17T12:00")  # Dagster leaves out days that are to come
    firsts = [period.first for period in periods.all]
    began = perf_counter()
    found = [periods.workdays(first, workdays) for first in firsts]
    bisected = perf_counter()
    assert found == [upstream_days(rollup(), periods, workdays, day, all_over) for day in firsts]
    assert (bisected - began) * 10 < perf_counter() - bisected


def test_another_calendar_is_refused(instance: dg.DagsterInstance) -> None:
    """Workdays and timetable must agree on the days: nobody states a holiday twice."""
    other = WorkdayTimetable(WorkdayCalendar.build("X", "2025-12-01", "2026-12-31"), ZONE)
    message = "assets=monthly is made from workdays of TGT, but the timetable is of X; give both"
    with pytest.raises(InvalidInputError, match=message):
        tick(definitions(monthly, timetable=other), "closes", instance, "2026-01-31T00:00")


def test_the_sensor_runs_by_default() -> None:
    """Nobody has to switch it on, and its description says what it does."""
    sensor = build_period_close_sensor("closes", [monthly], TABLE)
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    assert sensor.description == (
        f"Runs each period once its last workday is over, {TABLE.summary}, and its workdays are"
        " there; makes up the newest 2 periods."
    )


@pytest.mark.parametrize(
    ("offsets", "first", "count"),
    [
        pytest.param((0, 0), "2026-01-02", 21, id="its own month"),
        pytest.param((-1, 0), "2025-12-01", 42, id="and the month before"),
        pytest.param((-1, -1), "2025-12-01", 21, id="the month before"),
    ],
)
def test_a_period_needs_what_its_run_reads(
    offsets: tuple[int, int], first: str, count: int
) -> None:
    """December 2025 and January 2026 have 21 workdays each; the mapping's offsets count months."""
    mapping = dg.TimeWindowPartitionMapping(*offsets, allow_nonexistent_upstream_partitions=True)

    @dg.asset(partitions_def=MONTHS, deps=[dg.AssetDep(rates, partition_mapping=mapping)])
    def shifted() -> None: ...

    graph = dg.Definitions([rates, shifted]).resolve_asset_graph()
    with dg.DagsterInstance.ephemeral() as instance:
        dated = DatedGraph(graph, instance, [shifted.key], now("2026-06-01T12:00"))
        needed = sorted(
            day for _, day in dated.upstream(dated.assets[shifted.key], date(2026, 1, 1))
        )
    assert (str(needed[0]), len(needed)) == (first, count)
