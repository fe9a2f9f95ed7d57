"""The sensor and the schedule on a real instance with small graphs of assets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.schedule_definition import ScheduleExecutionData
from dagster._core.definitions.sensor_definition import SensorExecutionData

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    build_interval_sensor,
    build_workday_schedule,
    previous_workday,
    trailing_workdays,
)
from workday_assets.automation.plans import plan_assets
from workday_assets.automation.requests import spans
from workday_assets.errors import InvalidInputError, OutOfBoundsError, SourceOverdueError

XMAS = WorkdayCalendar.build(
    "XMAS",
    "2026-11-01",
    "2027-01-31",
    holidays={
        "2026-12-25": "Christmas Day",
        "2026-12-26": "Boxing Day",
        "2027-01-01": "New Year's Day",
    },
)
ZONE = "Europe/Berlin"
WORKDAYS = WorkdayPartitionsDefinition(XMAS, ZONE)
TABLE = WorkdayTimetable(XMAS, ZONE)
RATES, RETURNS = dg.AssetKey("rates"), dg.AssetKey("returns")


@dataclass
class Source:
    """A source that has published up to `newest`."""

    newest: date
    last_date: date | None = None
    missing: frozenset[date] = frozenset()

    def published(self, day: date) -> bool:
        """Whether `day` is there."""
        return day <= self.newest and day not in self.missing

    def describe(self) -> str:
        """What and where it ends."""
        return f"the archive ends {self.last_date}"


@dg.asset(partitions_def=WORKDAYS, config_schema={"fail": dg.Field(bool, default_value=False)})
def rates(context: dg.AssetExecutionContext) -> None:
    """Fails when its config says so."""
    if context.op_execution_context.op_config["fail"]:
        raise ValueError("no rates")


@dg.asset(
    partitions_def=WORKDAYS,
    deps=[dg.AssetDep(rates, partition_mapping=trailing_workdays(2))],
)
def returns() -> None:
    """Needs the rates of its day and of the workday before."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def definitions(
    source: Source, assets: Sequence[dg.AssetsDefinition] = (rates, returns), **options: Any
) -> dg.Definitions:
    """The two assets with a sensor over `assets` and a schedule at 08:00."""
    arguments = {"source": "source", **options}
    common = {k: v for k, v in arguments.items() if k not in ("max_in_flight", "ready_timeout")}
    morning = WorkdayTimetable(XMAS, ZONE, time(8))
    return dg.Definitions(
        assets=list(assets),
        resources={"source": dg.ResourceDefinition.hardcoded_resource(source)},
        sensors=[build_interval_sensor("workdays", list(assets), TABLE, **arguments)],  # type: ignore[arg-type]
        schedules=[build_workday_schedule("morning", list(assets), morning, **common)],  # type: ignore[arg-type]
    )


def now(text: str) -> datetime:
    """An instant in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone(ZONE))


def tick(defs: dg.Definitions, instance: dg.DagsterInstance, at: str) -> SensorExecutionData:
    """What the sensor answers at that instant."""
    sensor = defs.resolve_sensor_def("workdays")
    context = dg.build_sensor_context(
        instance=instance,
        repository_def=defs.get_repository_def(),
        resources={"source": defs.resources["source"]},
    )
    with partition_loading_context(now(at)):
        return sensor.evaluate_tick(context)


def schedule_tick(
    defs: dg.Definitions, instance: dg.DagsterInstance, at: str
) -> ScheduleExecutionData:
    """What the schedule answers at that tick."""
    schedule = defs.resolve_schedule_def("morning")
    context = dg.build_schedule_context(
        instance=instance,
        scheduled_execution_time=now(at),
        repository_def=defs.get_repository_def(),
        resources={"source": defs.resources["source"]},
    )
    return schedule.evaluate_tick(context)


def asked(data: SensorExecutionData | ScheduleExecutionData) -> list[tuple[str, str]]:
    """The (partition or range, assets) that a tick asks for."""
    return [
        (
            request.run_key.split("#")[0],
            "+".join(key.to_user_string() for key in request.asset_selection),
        )
        for request in data.run_requests
    ]


def run(instance: dg.DagsterInstance, day: str, *keys: dg.AssetKey, fail: bool = False) -> None:
    """Materialize one day as a person would, by hand."""
    config = {"ops": {"rates": {"config": {"fail": fail}}}} if RATES in keys else {}
    with partition_loading_context(now("2027-01-31T00:00")):
        dg.materialize(
            [rates, returns],
            selection=list(keys),
            partition_key=day,
            instance=instance,
            run_config=config,
            raise_on_error=False,
        )


LIVE = Source(date(2026, 12, 23))
EVENING = "2026-12-24T12:00"  # the newest complete workday is Wednesday 2026-12-23


def test_it_asks_for_the_newest_complete_days_and_what_they_need(
    instance: dg.DagsterInstance,
) -> None:
    """Two days are due; the day before them is warm-up; returns wait for the rates before them."""
    data = tick(definitions(LIVE, policy=CatchupPolicy.last(2)), instance, EVENING)
    assert asked(data) == [
        ("2026-12-21", "rates"),
        ("2026-12-22", "rates"),
        ("2026-12-23", "rates"),
    ]


def test_a_child_is_requested_with_its_parent_of_the_same_day(
    instance: dg.DagsterInstance,
) -> None:
    """With the day before materialized, parent and child of a day go into one run."""
    run(instance, "2026-12-22", RATES)
    data = tick(definitions(LIVE, policy=CatchupPolicy.latest()), instance, EVENING)
    assert asked(data) == [("2026-12-23", "rates+returns")]


def test_done_days_are_not_asked_for_again(instance: dg.DagsterInstance) -> None:
    """Runs that a person started count as done, and the tick says that nothing is due."""
    for day in ("2026-12-22", "2026-12-23"):
        run(instance, day, RATES, RETURNS)
    data = tick(definitions(LIVE, policy=CatchupPolicy.latest()), instance, EVENING)
    assert asked(data) == []
    assert data.skip_message == (
        "nothing is due of the newest workday: all 2 assets are done up to 2026-12-23;"
        " next run 2026-12-25 00:00 for 2026-12-24."
    )


def test_a_day_that_is_not_published_is_waited_for(instance: dg.DagsterInstance) -> None:
    """A complete day without data is named in the skip text and not requested."""
    run(instance, "2026-12-22", RATES)
    source = Source(date(2026, 12, 22))
    data = tick(definitions(source, policy=CatchupPolicy.latest()), instance, EVENING)
    assert asked(data) == []
    assert data.skip_message == (
        "rates 2026-12-23: the source has not published 2026-12-23 yet;"
        " returns 2026-12-23: it waits for rates 2026-12-23;"
        " next run 2026-12-25 00:00 for 2026-12-24."
    )


def test_an_archive_ends_the_plan(instance: dg.DagsterInstance) -> None:
    """Past an archive's last date nothing is due, and the policy counts back from it."""
    source = Source(date(2026, 12, 17), last_date=date(2026, 12, 17))
    defs = definitions(source, policy=CatchupPolicy.latest())
    assert asked(tick(defs, instance, EVENING)) == [
        ("2026-12-16", "rates"),
        ("2026-12-17", "rates"),
    ]
    for day in ("2026-12-16", "2026-12-17"):
        run(instance, day, RATES, RETURNS)
    assert tick(defs, instance, EVENING).skip_message == (
        "nothing is due of the newest workday: all 2 assets are done up to 2026-12-17;"
        " the archive ends 2026-12-17."
    )


def test_a_failed_day_is_left_alone_and_named(instance: dg.DagsterInstance) -> None:
    """Without retries a failed day is not asked for again, and the tick says so."""
    run(instance, "2026-12-22", RATES)
    run(instance, "2026-12-23", RATES, fail=True)
    data = tick(definitions(LIVE, policy=CatchupPolicy.latest()), instance, EVENING)
    assert asked(data) == []
    assert "rates 2026-12-23: it failed once, and 0 retries are allowed" in data.skip_message


def test_a_retry_has_a_run_key_of_its_own(instance: dg.DagsterInstance) -> None:
    """The number of earlier runs is part of the run key, so that a retry is not dropped."""
    run(instance, "2026-12-22", RATES)
    defs = definitions(LIVE, policy=CatchupPolicy.latest(), retry_failed=2)
    keys = []
    for _ in range(3):
        data = tick(defs, instance, EVENING)
        keys += [request.run_key for request in data.run_requests]
        run(instance, "2026-12-23", RATES, fail=True)
    assert keys == ["2026-12-23#0", "2026-12-23#1", "2026-12-23#2"]
    assert asked(tick(defs, instance, EVENING)) == []


def test_a_wiped_day_is_asked_for_again(instance: dg.DagsterInstance) -> None:
    """Wiping a materialization makes the day due, under a new run key."""
    for day in ("2026-12-22", "2026-12-23"):
        run(instance, day, RATES, RETURNS)
    instance.wipe_assets([RETURNS])
    data = tick(definitions(LIVE, policy=CatchupPolicy.latest()), instance, EVENING)
    assert [request.run_key for request in data.run_requests] == ["2026-12-23#1"]
    assert asked(data) == [("2026-12-23", "returns")]


def test_a_day_in_flight_is_not_asked_for(instance: dg.DagsterInstance) -> None:
    """A run that has not ended holds its day back, whoever created it."""
    run(instance, "2026-12-22", RATES)
    defs = definitions(LIVE, policy=CatchupPolicy.latest())
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={RATES, RETURNS})
    with partition_loading_context(now("2027-01-31T00:00")):
        instance.create_run_for_job(
            job,
            asset_selection=frozenset({RATES, RETURNS}),
            tags={"dagster/partition": "2026-12-23"},
            status=dg.DagsterRunStatus.STARTED,
        )
    data = tick(defs, instance, EVENING)
    assert asked(data) == []
    assert data.skip_message is not None
    assert data.skip_message.startswith("in flight: rates, returns 2026-12-23")


def test_many_days_of_an_asset_that_makes_one_at_a_time(instance: dg.DagsterInstance) -> None:
    """An asset with Dagster's default backfill policy gets a run per day, however many."""
    data = tick(definitions(LIVE, policy=CatchupPolicy.last(20)), instance, EVENING)
    assert len(asked(data)) == 21
    assert asked(data)[0] == ("2026-11-25", "rates")


def test_many_missed_days_are_one_range(instance: dg.DagsterInstance) -> None:
    """More than ten missed days of assets that can make ranges are requested as ranges."""

    @dg.asset(name="rates", partitions_def=WORKDAYS, backfill_policy=dg.BackfillPolicy.single_run())
    def ranged() -> None: ...

    policy = CatchupPolicy.last(21)
    data = tick(definitions(LIVE, policy=policy, assets=[ranged]), instance, EVENING)
    assert asked(data) == [("2026-11-25..2026-12-23", "rates")]
    tags = data.run_requests[0].tags
    assert tags["dagster/asset_partition_range_start"] == "2026-11-25"
    assert tags["workday/logical_date_last"] == "2026-12-23"


DECEMBER = [f"2026-12-{n:02}" for n in (14, 15, 16, 17, 18, 21, 22, 23)]


def test_a_corrected_day_reaches_its_dependants_once(instance: dg.DagsterInstance) -> None:
    """A day of any age that is made again asks for exactly what was made of it, once."""
    for day in DECEMBER:
        run(instance, day, RATES, RETURNS)
    run(instance, "2026-12-15", RATES)
    defs = definitions(LIVE, policy=CatchupPolicy.latest())
    assert asked(tick(defs, instance, EVENING)) == [
        ("2026-12-15", "returns"),
        ("2026-12-16", "returns"),
    ]
    for day in ("2026-12-15", "2026-12-16"):
        run(instance, day, RETURNS)
    assert asked(tick(defs, instance, EVENING)) == []


def test_upstream_days_that_land_together_all_reach_their_children(
    instance: dg.DagsterInstance,
) -> None:
    """Five upstream days in one tick give five children, not the newest only (dagster #32853)."""
    for day in DECEMBER[-6:]:
        run(instance, day, RATES)
    data = tick(definitions(LIVE, policy=CatchupPolicy.last(5)), instance, EVENING)
    assert asked(data) == [(day, "returns") for day in DECEMBER[-5:]]


def test_a_correction_during_its_childs_run_is_not_lost(instance: dg.DagsterInstance) -> None:
    """Upstream made again between a child's start and its end: the child is asked for once more."""
    for day in ("2026-12-22", "2026-12-23"):
        run(instance, day, RATES)

    @dg.asset(name="returns", partitions_def=WORKDAYS, deps=[rates])
    def corrected_meanwhile() -> None:
        event = dg.AssetMaterialization(RATES, partition="2026-12-23")
        instance.report_runless_asset_event(event)

    with partition_loading_context(now("2027-01-31T00:00")):
        dg.materialize([corrected_meanwhile], partition_key="2026-12-23", instance=instance)
    defs = definitions(LIVE, policy=CatchupPolicy.latest(), retry_failed=1)
    assert asked(tick(defs, instance, EVENING)) == [("2026-12-23", "returns")]

    @dg.asset(name="returns", partitions_def=WORKDAYS, deps=[rates])
    def fails_again() -> None:
        raise ValueError

    with partition_loading_context(now("2027-01-31T00:00")):
        key = "2026-12-23"
        dg.materialize([fails_again], partition_key=key, instance=instance, raise_on_error=False)
    assert asked(tick(defs, instance, EVENING)) == [("2026-12-23", "returns")]
    run(instance, "2026-12-23", RETURNS)
    assert asked(tick(defs, instance, EVENING)) == []


def test_a_deleted_run_frees_no_run_key_that_is_taken(instance: dg.DagsterInstance) -> None:
    """Run keys never go back: where an earlier run was deleted, the next key is still a new one."""
    run(instance, "2026-12-22", RATES)
    defs = definitions(LIVE, policy=CatchupPolicy.latest(), retry_failed=5)
    keys = []
    for _ in range(2):
        request = (tick(defs, instance, EVENING).run_requests or [])[0]
        keys.append(request.run_key)
        with partition_loading_context(now("2027-01-31T00:00")):
            dg.materialize(
                [rates],
                partition_key="2026-12-23",
                instance=instance,
                run_config={"ops": {"rates": {"config": {"fail": True}}}},
                raise_on_error=False,
                tags={"dagster/run_key": request.run_key or ""},
            )
    first = next(r for r in instance.get_runs() if r.tags.get("dagster/run_key") == keys[0])
    instance.delete_run(first.run_id)
    request = (tick(defs, instance, EVENING).run_requests or [])[0]
    assert [*keys, request.run_key] == ["2026-12-23#0", "2026-12-23#1", "2026-12-23#2"]


def test_a_parent_with_other_partitions_is_waited_for(instance: dg.DagsterInstance) -> None:
    """A child of a plain daily asset waits for that asset's partition of the same day."""

    @dg.asset(partitions_def=dg.DailyPartitionsDefinition("2026-11-01", timezone=ZONE))
    def raw() -> None: ...

    @dg.asset(partitions_def=WORKDAYS, deps=[raw])
    def child() -> None: ...

    sensor = build_interval_sensor("workdays", [child], TABLE, policy=CatchupPolicy.latest())
    defs = dg.Definitions(
        assets=[raw, child],
        sensors=[sensor],
        resources={"source": dg.ResourceDefinition.hardcoded_resource(LIVE)},
    )
    waits = tick(defs, instance, EVENING)
    assert (waits.skip_message or "").startswith("child 2026-12-23: it waits for raw 2026-12-23")
    with partition_loading_context(now("2027-01-31T00:00")):
        dg.materialize([raw], partition_key="2026-12-23", instance=instance)
    assert asked(tick(defs, instance, EVENING)) == [("2026-12-23", "child")]


def test_a_running_balance_is_made_day_by_day_in_order(instance: dg.DagsterInstance) -> None:
    """An asset that needs its own day before: one day a tick, all days when made in order."""

    @dg.asset(
        partitions_def=WORKDAYS,
        deps=[dg.AssetDep("balance", partition_mapping=previous_workday())],
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def balance() -> None: ...

    graph = dg.Definitions(assets=[balance]).resolve_asset_graph()
    arguments = {"as_of": now("2026-11-06T12:00"), "policy": CatchupPolicy.all()}
    days = [date(2026, 11, n) for n in (2, 3, 4, 5)]
    by_tick = plan_assets(graph, instance, [balance.key], TABLE, **arguments)
    in_order = plan_assets(graph, instance, [balance.key], TABLE, in_order=True, **arguments)
    assert by_tick.plans[balance.key].due == days[:1]
    assert in_order.plans[balance.key].due == days
    assert [span[:2] for span in spans(in_order, TABLE, merge=True)] == [(d, d) for d in days]


def test_keys_have_the_definitions_format(instance: dg.DagsterInstance) -> None:
    """Requests are by the partition keys that exist, whatever their format."""

    @dg.asset(partitions_def=WorkdayPartitionsDefinition(XMAS, ZONE, fmt="%Y%m%d"))
    def compact() -> None: ...

    sensor = build_interval_sensor("workdays", [compact], TABLE, policy=CatchupPolicy.latest())
    defs = dg.Definitions(
        assets=[compact],
        sensors=[sensor],
        resources={"source": dg.ResourceDefinition.hardcoded_resource(LIVE)},
    )
    requests = tick(defs, instance, EVENING).run_requests or []
    assert [request.partition_key for request in requests] == ["20261223"]


def test_an_asset_job_without_partitions_of_its_own(instance: dg.DagsterInstance) -> None:
    """An asset job is launched by the partitions of its assets."""
    job = dg.define_asset_job("nightly", selection=[rates])
    morning = WorkdayTimetable(XMAS, ZONE, time(8))
    defs = dg.Definitions(
        assets=[rates, returns],
        jobs=[job],
        schedules=[build_workday_schedule("morning", job, morning, policy=CatchupPolicy.last(2))],
        resources={"source": dg.ResourceDefinition.hardcoded_resource(LIVE)},
    )
    data = schedule_tick(defs, instance, "2026-12-24T08:00")
    assert asked(data) == [("2026-12-22", "rates"), ("2026-12-23", "rates")]
    assert [r.tags["dagster/partition"] for r in data.run_requests or []] == [
        "2026-12-22",
        "2026-12-23",
    ]


def test_a_calendar_that_ends(instance: dg.DagsterInstance) -> None:
    """In its last days it works and warns; once it has ended and all is done, the tick fails."""
    source = Source(date(2027, 1, 29))
    defs = definitions(source, policy=CatchupPolicy.latest(), assets=[rates])
    assert asked(tick(defs, instance, "2027-01-30T12:00")) == [("2027-01-29", "rates")]
    run(instance, "2027-01-29", RATES)
    warned = tick(defs, instance, "2027-01-30T12:00").skip_message or ""
    assert warned.endswith("freeze one that reaches further, or nothing will run after it.")
    assert "Calendar XMAS ends 2027-01-31" in warned
    with pytest.raises(OutOfBoundsError, match="as_of=2027-02-02 is outside calendar XMAS"):
        tick(defs, instance, "2027-02-02T12:00")


REFUSED = [
    ("timeout-in-window", {"ready_timeout": 5}, "could never be reached"),
    ("timeout-no-source", {"ready_timeout": 2, "source": None}, "without a source"),
    ("no-run-in-flight", {"max_in_flight": 0}, "1 or more"),
]


@pytest.mark.parametrize(
    ("options", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    """A time-out that can never fire and a limit of nothing are refused at once."""
    with pytest.raises(InvalidInputError, match=message):
        build_interval_sensor("x", [rates], TABLE, **{"source": "source", **options})


def test_newest_first_on_request(instance: dg.DagsterInstance) -> None:
    """A limit per tick takes the newest days, and asks for them in that order."""
    policy = CatchupPolicy.all(limit=2, newest_first=True)
    data = tick(definitions(LIVE, policy=policy, assets=[rates]), instance, EVENING)
    assert asked(data) == [("2026-12-23", "rates"), ("2026-12-22", "rates")]


def test_a_limit_in_flight(instance: dg.DagsterInstance) -> None:
    """Only so many runs at a time: requests are cut, then wait, and the tick says so."""
    options = {"policy": CatchupPolicy.all(limit=5), "assets": [rates], "max_in_flight": 2}
    defs = definitions(LIVE, **options)
    first = tick(defs, instance, EVENING)
    assert asked(first) == [("2026-11-02", "rates"), ("2026-11-03", "rates")]
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={RATES})
    for request in first.run_requests or []:
        with partition_loading_context(now("2027-01-31T00:00")):
            instance.create_run_for_job(
                job,
                asset_selection=frozenset({RATES}),
                tags={"dagster/partition": request.partition_key or ""},
                status=dg.DagsterRunStatus.STARTED,
            )
    waits = tick(defs, instance, EVENING)
    assert waits.skip_message == "5 runs wait: 2 are in flight, and the limit is 2."


def test_a_late_source_fails_one_tick_and_holds_nothing_up(instance: dg.DagsterInstance) -> None:
    """A hole in the source is told once, after two workdays; the days after it go on."""
    source = Source(date(2026, 12, 23), missing=frozenset({date(2026, 12, 21)}))
    options = {"policy": CatchupPolicy.last(3), "assets": [rates], "ready_timeout": 2}
    defs = definitions(source, **options)
    early = tick(defs, instance, "2026-12-23T12:00")
    assert ("2026-12-22", "rates") in asked(early)
    with pytest.raises(SourceOverdueError, match="2026-12-21 not published within 2 workdays"):
        tick(defs, instance, EVENING)
    assert asked(tick(defs, instance, EVENING)) == [
        ("2026-12-22", "rates"),
        ("2026-12-23", "rates"),
    ]
    source.missing = frozenset()
    assert ("2026-12-21", "rates") in asked(tick(defs, instance, EVENING))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(CatchupPolicy.all(), ["2026-11-06"]), (CatchupPolicy.last(5), [])],
    ids=["all", "newest"],
)
def test_an_old_upstream_day_that_lands(
    instance: dg.DagsterInstance, policy: CatchupPolicy, expected: list[str]
) -> None:
    """A day of any age that lands for the first time reaches its child where the policy lets it."""
    for day in ("2026-11-05", "2026-11-06"):
        run(instance, day, RATES)
    graph = dg.Definitions(assets=[rates, returns]).resolve_asset_graph()
    plans = plan_assets(graph, instance, [RETURNS], TABLE, as_of=now(EVENING), policy=policy)
    assert [str(day) for day in plans.plans[RETURNS].due] == expected


def test_requests_carry_their_interval(instance: dg.DagsterInstance) -> None:
    """A run says which interval it is of, when it could run, and who asked."""
    data = tick(definitions(LIVE, policy=CatchupPolicy.latest()), instance, EVENING)
    tags = {k: v for k, v in data.run_requests[-1].tags.items() if k.startswith("workday/")}
    assert tags == {
        "workday/logical_date": "2026-12-23",
        "workday/interval_start": "2026-12-23T00:00:00+01:00",
        "workday/interval_end": "2026-12-24T00:00:00+01:00",
        "workday/run_after": "2026-12-24T00:00:00+01:00",
        "workday/trigger": "workdays",
    }


CHRISTMAS = [
    ("2026-12-25T08:00", ["2026-12-24"], None),
    (
        "2026-12-26T08:00",
        [],
        "2026-12-25 is Christmas Day in XMAS; next run 2026-12-29 08:00 for 2026-12-28.",
    ),
    (
        "2026-12-27T08:00",
        [],
        "2026-12-26 is weekend in XMAS; next run 2026-12-29 08:00 for 2026-12-28.",
    ),
    (
        "2026-12-28T08:00",
        [],
        "2026-12-27 is weekend in XMAS; next run 2026-12-29 08:00 for 2026-12-28.",
    ),
    ("2026-12-29T08:00", ["2026-12-28"], None),
]


def test_the_schedule_over_christmas(instance: dg.DagsterInstance) -> None:
    """Each workday is launched once, and ticks in between name the closed date before them."""
    source = Source(date(2026, 12, 31))
    run(instance, "2026-12-23", RATES, RETURNS)
    defs = definitions(source, policy=CatchupPolicy.latest())
    for at, expected, reason in CHRISTMAS:
        data = schedule_tick(defs, instance, at)
        assert [key for key, _ in asked(data)] == expected, at
        if reason:
            assert (data.skip_message or "").endswith(reason), at
        for day in expected:
            run(instance, day, RATES, RETURNS)


def test_the_schedule_makes_up_an_outage(instance: dg.DagsterInstance) -> None:
    """A tick after days without any asks for everything missed, not for the newest day only."""
    run(instance, "2026-12-18", RATES, RETURNS)
    defs = definitions(Source(date(2026, 12, 31)), policy=CatchupPolicy.last(4))
    data = schedule_tick(defs, instance, "2026-12-25T08:00")
    assert [key for key, _ in asked(data)] == [
        "2026-12-21",
        "2026-12-22",
        "2026-12-23",
        "2026-12-24",
    ]


def test_the_sensor_runs_and_the_schedule_rests_by_default() -> None:
    """One default trigger: the sensor is running, the schedule ships stopped, at 08:00 local."""
    defs = definitions(LIVE)
    sensor, schedule = defs.resolve_sensor_def("workdays"), defs.resolve_schedule_def("morning")
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 8 * * *", ZONE)


def test_another_calendar_is_refused(instance: dg.DagsterInstance) -> None:
    """Assets and timetable must agree on the days: nobody states a holiday twice."""
    other = WorkdayTimetable(WorkdayCalendar.build("X", "2026-11-01", "2027-01-31"), ZONE)
    defs = dg.Definitions(
        assets=[rates], sensors=[build_interval_sensor("workdays", [rates], other)]
    )
    context = dg.build_sensor_context(instance=instance, repository_def=defs.get_repository_def())
    with (
        pytest.raises(InvalidInputError, match="give both the same calendar"),
        partition_loading_context(now(EVENING)),
    ):
        defs.resolve_sensor_def("workdays").evaluate_tick(context)


def test_run_at_with_seconds_is_refused() -> None:
    """Cron has no seconds; a schedule that would tick early is not built."""
    with pytest.raises(InvalidInputError, match="whole minutes"):
        build_workday_schedule("x", [rates], WorkdayTimetable(XMAS, ZONE, time(8, 0, 30)))
