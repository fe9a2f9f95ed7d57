"""Whatever happens between ticks, in any order, no workday is lost, doubled or asked for early."""

import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.execution.api import execute_run
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from outage_project import FIRST, LAST, RATES, RETURNS, WEEKDAYS, Project

from workday_assets import CatchupPolicy
from workday_assets.automation.plans import AssetPlans, plan_assets
from workday_assets.automation.requests import run_requests

STANDS = {"done", "in_flight", "failed", "not_ready", "skipped", "due"}
RUN_KEY, PARTITION = "dagster/run_key", "dagster/partition"
AssetDay = tuple[dg.AssetKey, date]


class Events(RuleBasedStateMachine):
    """Ticks, runs, people and calendars in any order; the design's law after each."""

    def __init__(self) -> None:
        super().__init__()
        logging.getLogger("dagster").setLevel(logging.CRITICAL)
        self.instance = dg.DagsterInstance.ephemeral()
        self.project = Project()
        self.now = datetime.combine(FIRST, time(12), UTC)
        self.flying: dict[str, frozenset[AssetDay]] = {}

    def teardown(self) -> None:
        """Whatever has happened: when runs succeed, every workday is soon done, and in effect."""
        for run_id in list(self.flying):
            self._execute(run_id)
        self.now = datetime.combine(LAST + timedelta(days=2), time(0), UTC)
        for _ in range(8):
            asked = self._tick(retry_failed=10_000)
            for run_id in asked:
                self._execute(run_id)
            if not asked:
                break
        verdicts = self.verdicts(self.plan(retry_failed=10_000))
        days = self.project.workdays()
        assert verdicts == {(key, day): "done" for key in (RATES, RETURNS) for day in days}
        for day in days:
            read = self.project.returns[day]
            # A calendar that has changed since leaves another day in what was read then.
            assert all(
                self.project.rates[other] == made
                for other, made in read.items()
                if other in self.project.needed(day)
            ), day
        self.instance.dispose()

    @rule(hours=st.integers(6, 96))
    def time_passes(self, hours: int) -> None:
        """Up to four days without a tick."""
        self.now += timedelta(hours=hours)

    @rule()
    def an_ordinary_day(self) -> None:
        """A day passes, and what is due then succeeds."""
        self.now += timedelta(days=1)
        for run_id in self._tick(retry_failed=1):
            self._execute(run_id)

    @rule()
    def tick(self) -> None:
        """Everything that is due is launched."""
        self._tick(retry_failed=1)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), failing=st.sampled_from([None, None, RATES, RETURNS]))
    def a_run_ends(self, data: st.DataObject, failing: dg.AssetKey | None) -> None:
        """A run in flight succeeds, or fails in one of the assets."""
        run_id = data.draw(st.sampled_from(list(self.flying)))
        self.project.failing = failing
        self._execute(run_id)
        self.project.failing = None

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def a_run_crashes(self, data: st.DataObject) -> None:
        """The process of a run is gone: the run stays started."""
        run_id = data.draw(st.sampled_from(list(self.flying)))
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        if run.status == dg.DagsterRunStatus.NOT_STARTED:
            event = dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, job_name=run.job_name)
            self.instance.report_dagster_event(event, run_id)

    @precondition(lambda self: self._crashed())
    @rule(data=st.data())
    def a_crash_is_noticed(self, data: st.DataObject) -> None:
        """Somebody reports a crashed run as failed."""
        self.report_failed(data.draw(st.sampled_from(self._crashed())))

    @precondition(lambda self: self._idle())
    @rule(data=st.data(), both=st.booleans(), at_once=st.booleans())
    def a_person_runs_a_day(self, data: st.DataObject, both: bool, at_once: bool) -> None:
        """A run by hand of a complete day of which no run is in flight; it may end at once."""
        day = data.draw(st.sampled_from(self._idle()))
        there = set(self.project.needed(day)) <= {day} | self.project.rates.keys()
        assets = {RATES, RETURNS} if both and there else {RATES}
        run_id = self.launch(day, assets, {})
        if at_once:
            self._execute(run_id)

    @rule(asset=st.sampled_from([RATES, RETURNS]))
    def an_asset_is_wiped(self, asset: dg.AssetKey) -> None:
        """All of an asset's materializations go, unless a run of it is in flight."""
        if not any(key == asset for pairs in self.flying.values() for key, _ in pairs):
            self.instance.wipe_assets([asset])

    @rule(data=st.data())
    def a_run_is_deleted(self, data: st.DataObject) -> None:
        """A finished run goes, and with it what it recorded."""
        runs = [run.run_id for run in self.instance.get_runs(ascending=True) if run.is_finished]
        if runs:
            self.instance.delete_run(data.draw(st.sampled_from(runs)))

    @rule(day=st.sampled_from(WEEKDAYS[1:]))
    def a_holiday_is_declared(self, day: date) -> None:
        """The calendar gains a closure, in the future or in the past."""
        if len(self.project.closures) < 4:
            self.project.closures.add(day)
            self.project.reload()

    @invariant()
    def every_complete_workday_stands_in_the_plan(self) -> None:
        """One verdict for each, in flight when a run has it, done only when it is materialized."""
        verdicts = self.verdicts(self.plan(retry_failed=1))
        complete = set(self._complete())
        assert verdicts.keys() == {(key, day) for key in (RATES, RETURNS) for day in complete}
        assert set(verdicts.values()) <= STANDS
        flying = {pair for pairs in self.flying.values() for pair in pairs if pair[1] in complete}
        assert {pair for pair in verdicts if verdicts[pair] == "in_flight"} == flying
        assert {pair for pair in verdicts if verdicts[pair] == "done"} <= self._materialized()

    def _tick(self, retry_failed: int) -> list[str]:
        """Launch what is due; the ids of the runs."""
        launched = []
        materialized = self._materialized()
        requests = run_requests(
            self.plan(retry_failed), self.project.table, self.instance, trigger="machine"
        )
        for request in requests:
            assert request.partition_key is not None
            day = date.fromisoformat(request.partition_key)
            assets = set(request.asset_selection or ())
            assert day in self._complete()
            flying = {pair for pairs in self.flying.values() for pair in pairs}
            assert not flying & {(key, day) for key in assets}
            if RETURNS in assets:
                together = {day} if RATES in assets else set()
                for other in self.project.needed(day):
                    assert other in together or (RATES, other) in materialized
            taken = dg.RunsFilter(tags={RUN_KEY: str(request.run_key)})
            assert self.instance.get_runs_count(taken) == 0  # the daemon would drop it
            tags = {**request.tags, RUN_KEY: str(request.run_key)}
            launched.append(self.launch(day, assets, tags))
        return launched

    def plan(self, retry_failed: int) -> AssetPlans:
        """The plan of both assets now."""
        return plan_assets(
            self.project.graph,
            self.instance,
            [RATES, RETURNS],
            self.project.table,
            as_of=self.now,
            policy=CatchupPolicy.all(),
            retry_failed=retry_failed,
        )

    def verdicts(self, plans: AssetPlans) -> dict[AssetDay, str]:
        """The verdicts on complete days, each of which has one decision."""
        found = [
            ((key, decision.day), decision.verdict)
            for key, plan in plans.plans.items()
            for decision in plan.decisions
            if decision.verdict not in ("closed", "waiting")
        ]
        assert len(dict(found)) == len(found)
        return dict(found)

    def _complete(self) -> list[date]:
        return [
            day
            for day in self.project.workdays()
            if datetime.combine(day + timedelta(days=1), time(0), UTC) <= self.now
        ]

    def _idle(self) -> list[date]:
        busy = {day for pairs in self.flying.values() for _, day in pairs}
        return [day for day in self._complete() if day not in busy]

    def _materialized(self) -> set[AssetDay]:
        return {
            (key, date.fromisoformat(partition))
            for key in (RATES, RETURNS)
            for partition in self.instance.get_materialized_partitions(key)
        }

    def _crashed(self) -> list[str]:
        started = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
        return [run.run_id for run in self.instance.get_runs(started, ascending=True)]

    def launch(self, day: date, assets: set[dg.AssetKey], tags: dict[str, str]) -> str:
        """Create a run as the daemon and the web server do; its id."""
        with partition_loading_context(self.now):
            run = self.instance.create_run_for_job(
                self.project.job.get_subset(asset_selection=assets),
                asset_selection=frozenset(assets),
                tags={PARTITION: day.isoformat(), **tags},
            )
        self.flying[run.run_id] = frozenset((key, day) for key in assets)
        return run.run_id

    def _execute(self, run_id: str) -> None:
        """Let a run end by itself; one that has crashed, or whose day has been closed, fails."""
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        day = date.fromisoformat(run.tags[PARTITION])
        if run.status != dg.DagsterRunStatus.NOT_STARTED or day in self.project.closures:
            self.report_failed(run_id)
            return
        with partition_loading_context(self.now):
            execute_run(InMemoryJob(self.project.job), run, self.instance)
        del self.flying[run_id]

    def report_failed(self, run_id: str) -> None:
        """A run is failed from outside."""
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        self.instance.report_run_failed(run)
        del self.flying[run_id]


TestEvents = Events.TestCase
TestEvents.settings = settings(
    max_examples=8,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


MONDAY = date(2024, 12, 16)


@pytest.fixture
def machine() -> Iterator[Events]:
    """At noon of the Tuesday: one workday is complete."""
    events = Events()
    events.time_passes(24)
    yield events
    events.instance.dispose()


def test_an_older_run_in_flight_holds_its_day(machine: Events) -> None:
    """Of two runs of a day the newer fails: the older one still has the day."""
    machine.launch(MONDAY, {RATES}, {})
    newer = machine.launch(MONDAY, {RATES}, {})
    machine.report_failed(newer)
    assert machine.verdicts(machine.plan(retry_failed=1))[RATES, MONDAY] == "in_flight"


def test_a_run_in_flight_holds_its_day_after_a_wipe(machine: Events) -> None:
    """An asset is wiped while a run of it goes on: that run still has its day."""
    machine.launch(MONDAY, {RATES}, {})
    machine.instance.wipe_assets([RATES])
    assert machine.verdicts(machine.plan(retry_failed=1))[RATES, MONDAY] == "in_flight"
