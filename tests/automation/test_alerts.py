"""Alerts: two messages per incident, whatever fails in between; real runs, real ticks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData
from support.ticks import ZONE, execute, tick

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    build_alert_sensor,
    build_workday_freshness_checks,
    build_workday_freshness_sensor,
)
from workday_assets.alerts.incidents import Alert, Incident, OpenIncidents
from workday_assets.automation.requests import TRIGGER_TAG
from workday_assets.errors import AlertNotSentError, InvalidInputError, SourceUnavailableError

XECB = WorkdayCalendar.named("XECB")
WORKDAYS = WorkdayPartitionsDefinition(XECB, ZONE, start="2026-01-02")
NOON = "2026-01-13T12:00"
_FAIL = {"fail": dg.Field(bool, default_value=False)}


@dg.asset(partitions_def=WORKDAYS, config_schema=_FAIL)
def rates(context: dg.AssetExecutionContext) -> None:
    """Fails when its config says so."""
    if context.op_execution_context.op_config["fail"]:
        raise ValueError("no rates")


@dg.asset(partitions_def=WORKDAYS, deps=[rates])
def returns() -> None:
    """What is made of them."""


@dg.asset(config_schema=_FAIL)
def table(context: dg.AssetExecutionContext) -> None:
    """Has no partitions."""
    if context.op_execution_context.op_config["fail"]:
        raise ValueError("no table")


@dg.op(config_schema=_FAIL)
def clean_up(context: dg.OpExecutionContext) -> None:
    """No asset."""
    if context.op_config["fail"]:
        raise ValueError("no space")


@dg.job
def house_keeping() -> None:
    """A job without assets."""
    clean_up()


@dataclass
class Sink:
    """Takes what it is sent, or fails."""

    sent: list[Alert] = field(default_factory=list)
    error: BaseException | None = None
    #: Raised once a message was taken.
    crash: BaseException | None = None

    def __call__(self, alert: Alert) -> None:
        """Take one message."""
        if self.error is not None:
            raise self.error
        self.sent.append(alert)
        if self.crash is not None:
            raise self.crash

    @property
    def titles(self) -> list[str]:
        """What was sent."""
        return [alert.title for alert in self.sent]


@dataclass
class Source:
    """Answers, or is down."""

    error: Exception | None = None
    last_date: date | None = None

    def published(self, day: date) -> bool:
        """Whether `day` is there."""
        if self.error is not None:
            raise self.error
        return day < date(2030, 1, 1)

    def describe(self) -> str:
        """What it is."""
        return "a source"


def project(
    sink: Sink, source: Source | None = None, *, watched: bool = False, **options: Any
) -> dg.Definitions:
    """Assets and the alert sensor; with freshness checks if they are `watched`."""
    checks = build_workday_freshness_checks([rates, returns] if watched else [], deadline=time(9))
    return dg.Definitions(
        assets=[rates, returns, table, *checks],
        jobs=[house_keeping],
        sensors=[
            build_workday_freshness_sensor("fresh", checks),
            build_alert_sensor(sink, name="alerts", freshness=checks, **options),
        ],
        resources={"source": dg.ResourceDefinition.hardcoded_resource(source or Source())},
    )


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def run(defs: dg.Definitions, instance: dg.DagsterInstance, day: str, **options: Any) -> str:
    """One run of both assets; its id."""
    fail, assets = options.pop("fail", False), options.pop("assets", ["rates", "returns"])
    config = {"ops": {"rates": {"config": {"fail": fail}}}} if "rates" in assets else {}
    options = {"at": NOON, **options}
    result = execute(defs, instance, assets, day, run_config=config, **options)
    assert result.success is not fail
    return result.run_id


def look(defs: dg.Definitions, instance: dg.DagsterInstance, at: str = NOON) -> SensorExecutionData:
    """A tick of the alert sensor."""
    return tick(defs, "alerts", instance, at)


def keep_fresh(defs: dg.Definitions, instance: dg.DagsterInstance, at: str) -> None:
    """A tick of the freshness sensor, recorded as the daemon does."""
    for event in tick(defs, "fresh", instance, at).asset_events:
        instance.report_runless_asset_event(event)


def test_a_failure_and_its_repair_are_two_messages(instance: dg.DagsterInstance) -> None:
    """However often the sensor looks, and though the repair fails once more at first."""
    sink = Sink()
    defs = project(sink)
    run(defs, instance, "2026-01-09")
    assert look(defs, instance).skip_message == "Nothing new. Open incidents: 0."
    failed = run(defs, instance, "2026-01-12", fail=True)
    told = look(defs, instance).skip_message
    assert told == "Run failed: rates and 1 more 2026-01-12. Open incidents: 1."
    look(defs, instance)
    run(defs, instance, "2026-01-12", fail=True)
    run(defs, instance, "2026-01-12", assets=["rates"])
    look(project(sink), instance)  # a restarted code location
    run(defs, instance, "2026-01-12", assets=["returns"])
    look(defs, instance)
    look(defs, instance)
    assert sink.titles == [
        "Run failed: rates and 1 more 2026-01-12",
        "Cleared: Run failed: rates and 1 more 2026-01-12",
    ]
    text = f"Run {failed} failed and is not tried again. Step rates: ValueError: no rates"
    assert [alert.text for alert in sink.sent] == [text, f"It is over. It was: {text}"]
    assert len({alert.key for alert in sink.sent}) == 2


def test_a_failure_of_another_partition_is_another_incident(instance: dg.DagsterInstance) -> None:
    """And a range is one incident, which days within it do not open again."""
    sink = Sink()
    defs = project(sink)
    for day in ("2026-01-08", "2026-01-09"):
        run(defs, instance, day, fail=True)
    execute(
        defs,
        instance,
        ["rates"],
        "2026-01-05",
        "2026-01-12",
        at=NOON,
        run_config={"ops": {"rates": {"config": {"fail": True}}}},
    )
    look(defs, instance)
    run(defs, instance, "2026-01-05", fail=True, assets=["rates"])
    look(defs, instance)
    # The newest run of 8 and 9 January is the range, of their returns it is their own.
    assert sink.titles == [
        "Run failed: returns 2026-01-08",
        "Run failed: returns 2026-01-09",
        "Run failed: rates 2026-01-05 to 2026-01-12 (6 partitions)",
    ]


def test_planner_retries_come_first(instance: dg.DagsterInstance) -> None:
    """What a sensor asked for is told once its attempts are used up, what others did at once."""
    sink = Sink()
    defs = project(sink, retry_failed=2)
    asked = {TRIGGER_TAG: "workdays"}
    for _ in range(2):
        run(defs, instance, "2026-01-12", fail=True, tags=asked)
        look(defs, instance)
    assert sink.titles == []
    run(defs, instance, "2026-01-12", fail=True, tags=asked)
    look(defs, instance)
    assert sink.titles == ["Run failed: rates and 1 more 2026-01-12"]
    run(defs, instance, "2026-01-09", fail=True, assets=["rates"])
    look(defs, instance)
    assert sink.titles[1:] == ["Run failed: rates 2026-01-09"]


def test_dagsters_own_retries_come_first(instance: dg.DagsterInstance) -> None:
    """A run that Dagster will retry is not told, its last attempt is."""
    sink = Sink()
    defs = project(sink)
    run(defs, instance, "2026-01-12", fail=True, tags={"dagster/will_retry": "true"})
    look(defs, instance)
    assert sink.titles == []
    run(defs, instance, "2026-01-12", fail=True, tags={"dagster/will_retry": "false"})
    look(defs, instance)
    assert sink.titles == ["Run failed: rates and 1 more 2026-01-12"]


def test_a_repaired_failure_is_not_told(instance: dg.DagsterInstance) -> None:
    """When nobody looked in between, there is nothing to tell."""
    sink = Sink()
    defs = project(sink)
    run(defs, instance, "2026-01-12", fail=True)
    run(defs, instance, "2026-01-12")
    look(defs, instance)
    assert sink.titles == []


def test_an_asset_without_partitions(instance: dg.DagsterInstance) -> None:
    """Its failure is over when it is made again."""
    sink = Sink()
    defs = project(sink)
    for fail in (True, False):
        config = {"ops": {"table": {"config": {"fail": fail}}}}
        dg.materialize(
            [table], instance=instance, run_config=config, raise_on_error=False, selection=["table"]
        )
        look(defs, instance)
    assert sink.titles == ["Run failed: table", "Cleared: Run failed: table"]


def test_a_job_without_assets(instance: dg.DagsterInstance) -> None:
    """Its failure is over when it succeeds."""
    sink = Sink()
    defs = project(sink)
    for fail in (True, False):
        config = {"ops": {"clean_up": {"config": {"fail": fail}}}}
        house_keeping.execute_in_process(config, instance=instance, raise_on_error=False)
        look(defs, instance)
    assert sink.titles == [
        "Run failed: job house_keeping",
        "Cleared: Run failed: job house_keeping",
    ]


def test_a_late_day_is_two_messages(instance: dg.DagsterInstance) -> None:
    """One for all assets of which it is late, and one when the last of them is there."""
    sink = Sink()
    defs = project(sink, watched=True)
    keep_fresh(defs, instance, "2026-01-13T09:00")
    look(defs, instance)
    run(defs, instance, "2026-01-12", assets=["rates"], at="2026-01-13T10:00")
    keep_fresh(defs, instance, "2026-01-13T10:01")
    look(defs, instance)
    assert sink.titles == ["2026-01-12 is late"]
    assert sink.sent[0].incident.assets == ("rates", "returns")
    assert "2026-01-12 was due 2026-01-13 09:00 CET and is missing" in sink.sent[0].text
    run(defs, instance, "2026-01-12", assets=["returns"], at="2026-01-13T11:00")
    look(defs, instance)
    look(defs, instance)
    assert sink.titles[1:] == ["Cleared: 2026-01-12 is late"]


def test_a_late_day_stays_open_when_the_next_one_comes(instance: dg.DagsterInstance) -> None:
    """The check turns green with the next day; the late one is over only when it is there."""
    sink = Sink()
    defs = project(sink, watched=True)
    keep_fresh(defs, instance, "2026-01-13T09:00")
    look(defs, instance)
    run(defs, instance, "2026-01-13", at="2026-01-14T01:00")
    keep_fresh(defs, instance, "2026-01-14T09:00")
    look(defs, instance)
    assert sink.titles == ["2026-01-12 is late"]
    run(defs, instance, "2026-01-12", at="2026-01-14T10:00")
    look(defs, instance)
    assert sink.titles[1:] == ["Cleared: 2026-01-12 is late"]


def test_a_late_day_whose_failure_was_told_is_no_second_incident(
    instance: dg.DagsterInstance,
) -> None:
    """The run failed, then its deadline passes, then it is repaired: two messages."""
    sink = Sink()
    defs = project(sink, watched=True)
    run(defs, instance, "2026-01-12", fail=True, at="2026-01-13T00:10")
    look(defs, instance)
    keep_fresh(defs, instance, "2026-01-13T09:00")
    look(defs, instance)
    run(defs, instance, "2026-01-12", at="2026-01-13T10:00")
    keep_fresh(defs, instance, "2026-01-13T10:01")
    look(defs, instance)
    assert sink.titles == [
        "Run failed: rates and 1 more 2026-01-12",
        "Cleared: Run failed: rates and 1 more 2026-01-12",
    ]


def test_a_calendar_that_ends(instance: dg.DagsterInstance) -> None:
    """It is told once so many days before, and cleared by a calendar that reaches further."""
    sink = Sink()
    short = XECB.between("2026-01-01", "2026-06-30")
    ending, longer = (project(sink, calendars=[c], calendar_days=14) for c in (short, XECB))
    look(ending, instance, "2026-06-15T12:00")
    assert sink.titles == []
    for at in ("2026-06-16T12:00", "2026-06-17T12:00", "2026-07-02T12:00"):
        look(ending, instance, at)
    look(longer, instance, "2026-07-02T13:00")
    title = "Calendar XECB ends 2026-06-30"
    assert sink.titles == [title, f"Cleared: {title}"]


def test_a_source_that_is_down(instance: dg.DagsterInstance) -> None:
    """It is told with what the source says, once per outage, and each outage is told."""
    sink, source = Sink(), Source()
    defs = project(sink, source, sources=["source"])
    for error in (None, SourceUnavailableError("https://bank", "no answer."), None) * 2:
        source.error = error
        look(defs, instance)
        look(defs, instance)
    assert sink.titles == ["Source source is down", "Cleared: Source source is down"] * 2
    assert sink.sent[0].text == "https://bank: no answer."
    assert len({alert.key for alert in sink.sent}) == 4


def test_a_failing_sink_is_tried_again(instance: dg.DagsterInstance) -> None:
    """The tick fails and says why; nothing is lost, and nothing is sent twice."""
    sink = Sink(error=ConnectionError("no route"))
    defs = project(sink)
    for day in ("2026-01-09", "2026-01-12"):
        run(defs, instance, day, fail=True, assets=["rates"])
    for _ in range(2):
        with pytest.raises(AlertNotSentError, match=r"rates 2026-01-09.*no route"):
            look(defs, instance)
    sink.error = None
    look(defs, instance)
    look(defs, instance)
    assert sink.titles == ["Run failed: rates 2026-01-09", "Run failed: rates 2026-01-12"]
    sink.error = ConnectionError("no route")
    run(defs, instance, "2026-01-09", assets=["rates"])
    with pytest.raises(AlertNotSentError, match="Cleared: Run failed: rates 2026-01-09"):
        look(defs, instance)
    sink.error = None
    look(defs, instance)
    assert sink.titles[2:] == ["Cleared: Run failed: rates 2026-01-09"]


def test_a_crash_after_sending_repeats_the_message_with_its_key(
    instance: dg.DagsterInstance,
) -> None:
    """At least once: the receiver knows the second by its key."""
    sink = Sink(crash=KeyboardInterrupt())
    defs = project(sink)
    run(defs, instance, "2026-01-12", fail=True)
    with pytest.raises(KeyboardInterrupt):
        look(defs, instance)
    sink.crash = None
    look(defs, instance)
    look(defs, instance)
    assert len(sink.sent) == 2
    assert len({alert.key for alert in sink.sent}) == 1


def test_sinks_are_apart(instance: dg.DagsterInstance) -> None:
    """Two sensors keep their own incidents: a sink that fails delays no other."""
    good, bad = Sink(), Sink(error=ConnectionError())
    defs = project(good)
    other = dg.Definitions(assets=[rates, returns], sensors=[build_alert_sensor(bad, name="other")])
    run(defs, instance, "2026-01-12", fail=True)
    with pytest.raises(AlertNotSentError):
        tick(other, "other", instance, NOON)
    look(defs, instance)
    assert good.titles == ["Run failed: rates and 1 more 2026-01-12"]


def test_code_locations_are_apart(instance: dg.DagsterInstance) -> None:
    """A sensor of the same name in another code location keeps its own incidents."""
    for location in ("one", "two"):
        known = OpenIncidents(instance, "alerts", location)
        assert len(known) == 0
        known.add(known.numbered(Incident("source x", "source_down", "x is down", "")))
    assert [each.id for each in OpenIncidents(instance, "alerts", "one").of("source_down")] == [
        "source x"
    ]


def test_another_check_is_refused() -> None:
    """Only freshness checks say which day is late."""

    @dg.asset_check(asset=rates)
    def positive() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    for build in (
        lambda: build_alert_sensor(Sink(), freshness=[positive]),
        lambda: build_workday_freshness_sensor("fresh", [positive]),
    ):
        with pytest.raises(InvalidInputError, match="rates:positive is no workday freshness"):
            build()


@pytest.mark.parametrize("options", [{"retry_failed": -1}, {"calendar_days": -1}], ids=str)
def test_refused_options(options: dict[str, int]) -> None:
    """A negative number is refused when the sensor is built."""
    with pytest.raises(InvalidInputError, match="is negative"):
        build_alert_sensor(Sink(), **options)  # type: ignore[arg-type]
