"""Outages in Dagster's own daemons at injected times: every workday once in effect at the end.

Windows of days are injected; processes that are killed are real ones.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import outage_definitions
import pyarrow.parquet as pq
import pytest
from outage_daemon import EXECUTED_HERE, daemon_of, frozen, now, tick_and_die

from workday_assets import CatchupPolicy
from workday_assets.automation.plans import plan_assets

RATES, RETURNS = dg.AssetKey("rates"), dg.AssetKey("returns")
HOURS = timedelta(hours=6)
BEFORE = ["2024-12-16", "2024-12-17", "2024-12-18", "2024-12-19"]
# The calendar has no other closed days than weekends, 25 December and 1 January.
NEW_YEAR = ["2024-12-23", "2024-12-24", "2024-12-26", "2024-12-27", "2024-12-30", "2024-12-31"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The folder where the assets are stored."""
    return tmp_path / "store"


@pytest.fixture
def instance(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """A real instance of its own, whose daemon executes runs itself."""
    monkeypatch.setenv("OUTAGE_STORE", str(store))
    with dg.instance_for_test(overrides=EXECUTED_HERE) as found:
        yield found


def materializations(instance: dg.DagsterInstance, asset: dg.AssetKey) -> dict[str, int]:
    """How often each day of an asset was materialized."""
    records = instance.fetch_materializations(asset, 1000).records
    return dict(Counter(str(record.partition_key) for record in records))


def assert_once(instance: dg.DagsterInstance, days: list[str]) -> None:
    """Each of these days of both assets was materialized one time, and no other day."""
    once = dict.fromkeys(days, 1)
    assert materializations(instance, RATES) == once
    assert materializations(instance, RETURNS) == once


def returned(store: Path) -> dict[str, list[float]]:
    """The values that are stored of `returns`, by day."""
    return {
        path.stem: pq.read_table(path)["value"].to_pylist()
        for path in sorted((store / "returns").glob("*.parquet"))
    }


def test_down_over_a_weekend(instance: dg.DagsterInstance) -> None:
    """Down from Friday noon to Monday noon: Friday is made up, and nothing else is asked for."""
    with daemon_of(instance, "everything") as daemon:
        daemon.ticks("2024-12-17T00:00", "2024-12-20T12:00", HOURS)
        assert_once(instance, BEFORE)
        assert daemon.settle("2024-12-23T12:00") == ["2024-12-20#0"]
    assert_once(instance, [*BEFORE, "2024-12-20"])


def test_down_over_new_year(instance: dg.DagsterInstance) -> None:
    """Down for ten days over two holidays: the six workdays are made up, each one time."""
    with daemon_of(instance, "everything") as daemon:
        daemon.ticks("2024-12-21T00:00", "2024-12-23T12:00", HOURS)
        daemon.settle("2025-01-02T12:00")
    assert_once(instance, [*BEFORE, "2024-12-20", *NEW_YEAR])


def test_a_day_that_the_policy_drops_is_reported(instance: dg.DagsterInstance) -> None:
    """Of six missed days the newest five are made up; the plan names the sixth, and why."""
    with daemon_of(instance, "newest_five") as daemon:
        daemon.ticks("2024-12-21T00:00", "2024-12-23T12:00", HOURS)
        daemon.settle("2025-01-02T12:00")
    done = [*BEFORE, "2024-12-20", *NEW_YEAR]
    assert materializations(instance, RATES) == dict.fromkeys(done, 1)  # the sixth is warm-up
    assert materializations(instance, RETURNS) == dict.fromkeys(set(done) - {"2024-12-23"}, 1)
    plans = plan_assets(
        outage_definitions.newest_five.resolve_asset_graph(),
        instance,
        [RATES, RETURNS],
        outage_definitions.TABLE,
        as_of=now("2025-01-02T12:00"),
        policy=CatchupPolicy.last(5),
    )
    left = {
        (key.to_user_string(), str(decision.day), decision.verdict): decision.reason
        for key, plan in plans.plans.items()
        for decision in plan.decisions
        if decision.verdict not in ("done", "closed", "waiting")
    }
    assert left == {
        ("returns", "2024-12-23", "skipped"): (
            "only the newest 5 workdays are made up, from 2024-12-24 on"
        )
    }


def test_a_sensor_that_was_off_for_ten_days(instance: dg.DagsterInstance) -> None:
    """Off it asks for nothing; on again it makes up what its policy keeps of the eight days."""
    with daemon_of(instance, "newest_five") as daemon:
        daemon.ticks("2025-01-06T00:00", "2025-01-06T12:00", HOURS)
        first = {"2024-12-27", "2024-12-30", "2024-12-31", "2025-01-02", "2025-01-03"}
        assert materializations(instance, RETURNS) == dict.fromkeys(first, 1)
        sensor = daemon.sensor("first")
        instance.stop_sensor(sensor.get_remote_origin_id(), sensor.selector_id, sensor)
        assert daemon.ticks("2025-01-07T00:00", "2025-01-16T00:00", timedelta(days=1)) == []
        instance.start_sensor(sensor)
        daemon.settle("2025-01-16T12:00")
    made_up = {"2025-01-09", "2025-01-10", "2025-01-13", "2025-01-14", "2025-01-15"}
    assert materializations(instance, RETURNS) == dict.fromkeys(first | made_up, 1)
    warm_up = {"2024-12-26", "2025-01-08"}
    assert materializations(instance, RATES) == dict.fromkeys(first | made_up | warm_up, 1)


def test_a_wiped_asset_is_made_again(instance: dg.DagsterInstance, store: Path) -> None:
    """After a wipe of all its days an asset is made again, each day one time."""
    with daemon_of(instance, "everything") as daemon:
        daemon.settle("2024-12-20T12:00")
        with frozen(now("2024-12-20T12:30")):
            instance.wipe_assets([RETURNS])
        again = ["2024-12-16#1", "2024-12-17#2", "2024-12-18#2", "2024-12-19#2"]
        assert daemon.settle("2024-12-20T13:00") == again
    assert_once(instance, BEFORE)
    assert returned(store) == dict(zip(BEFORE, [[0.0], [1.0], [1.0], [1.0]], strict=True))


def test_a_day_whose_run_is_deleted_is_made_again(instance: dg.DagsterInstance) -> None:
    """Deleting a run takes its materializations away: that day is made again, and what needs it."""
    with daemon_of(instance, "everything") as daemon:
        for hour, day in enumerate(BEFORE):
            assert daemon.settle(f"2024-12-{17 + hour}T12:00") == [f"{day}#0"]
        (run,) = instance.get_runs(dg.RunsFilter(tags={"dagster/partition": "2024-12-18"}))
        instance.delete_run(run.run_id)
        assert daemon.settle("2024-12-20T13:00") == ["2024-12-18#0", "2024-12-19#1"]
    assert materializations(instance, RATES) == dict.fromkeys(BEFORE, 1)
    assert materializations(instance, RETURNS) == {**dict.fromkeys(BEFORE, 1), "2024-12-19": 2}


def test_a_deleted_run_gives_no_run_key_back(instance: dg.DagsterInstance) -> None:
    """A run key that a later run still holds is not asked for again after an earlier is deleted."""
    with daemon_of(instance, "everything") as daemon:
        assert daemon.settle("2024-12-17T12:00") == ["2024-12-16#0"]
        with frozen(now("2024-12-17T12:30")):
            instance.wipe_assets([RATES, RETURNS])
        assert daemon.settle("2024-12-17T13:00") == ["2024-12-16#1"]
        first = instance.get_runs(ascending=True)[0]
        with frozen(now("2024-12-17T13:30")):
            instance.delete_run(first.run_id)
            instance.wipe_assets([RATES, RETURNS])
        assert daemon.settle("2024-12-17T14:00") == ["2024-12-16#2"]
    assert_once(instance, ["2024-12-16"])


def test_the_clock_is_set_back(instance: dg.DagsterInstance) -> None:
    """An hour set back over midnight: nothing runs twice, and the next day runs as ever."""
    with daemon_of(instance, "everything") as daemon:
        assert len(daemon.settle("2024-12-20T00:00")) == 7
        for minutes in range(0, 120, 10):
            assert daemon.tick(now("2024-12-19T23:01") + timedelta(minutes=minutes)) == []
    with daemon_of(instance, "two_sensors") as daemon:  # a sensor that has not ticked yet
        assert daemon.tick(now("2024-12-19T23:30")) == []
        assert daemon.settle("2024-12-21T00:00") == ["2024-12-20#0"]
    assert_once(instance, [*BEFORE, "2024-12-20"])


@pytest.mark.parametrize(
    "definitions", ["two_sensors", "sensor_and_schedule"], ids=lambda name: name
)
def test_two_triggers_at_the_same_instant(
    instance: dg.DagsterInstance,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    definitions: str,
) -> None:
    """Both ask for the same days before either has launched: runs double, what is stored does not.

    Afterwards every day is done and neither asks again.
    """
    with daemon_of(instance, definitions) as daemon:
        assert daemon.schedule_tick(now("2024-12-18T07:59")) == []  # the scheduler's first look
        meeting = threading.Barrier(2)
        monkeypatch.setattr(outage_definitions.SOURCE, "meeting", meeting)
        keys = daemon.tick_all_at_once(now("2024-12-18T08:00"))
        assert keys == ["2024-12-16#0", "2024-12-16#0", "2024-12-17#0", "2024-12-17#0"]
        monkeypatch.setattr(outage_definitions.SOURCE, "meeting", None)
        daemon.settle("2024-12-18T08:01")
        assert daemon.schedule_tick(now("2024-12-18T08:30")) == []
    days = {"2024-12-16", "2024-12-17"}
    assert materializations(instance, RATES).keys() == days
    assert materializations(instance, RETURNS).keys() == days
    assert returned(store) == {"2024-12-16": [0.0], "2024-12-17": [1.0]}


def kill_at(where: str, instance: dg.DagsterInstance, at: str) -> None:
    """Tick in a process of its own, killed at that point of the daemon."""
    worker = multiprocessing.get_context("spawn").Process(
        target=tick_and_die, args=(instance.get_ref(), "everything", now(at), where)
    )
    worker.start()
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL


POINTS = ["TICK_CREATED", "RUN_IDS_RESERVED", "RUN_CREATED", "RUN_LAUNCHED"]


@pytest.mark.parametrize("where", POINTS, ids=str.lower)
def test_killed_in_a_tick(instance: dg.DagsterInstance, where: str) -> None:
    """Killed between creating a tick and recording its runs: each day still runs one time."""
    kill_at(where, instance, "2024-12-17T12:00")
    with daemon_of(instance, "everything") as daemon:
        daemon.settle("2024-12-17T12:02")
    assert_once(instance, ["2024-12-16"])


def test_killed_after_queueing_and_down_for_days(instance: dg.DagsterInstance) -> None:
    """A queued run whose tick was never recorded, and is too old to resume, is not doubled."""
    kill_at("RUN_LAUNCHED", instance, "2024-12-17T12:00")
    with daemon_of(instance, "everything") as daemon:
        daemon.settle("2024-12-20T12:00")
    assert_once(instance, BEFORE)


def test_killed_before_launching_and_down_for_days(instance: dg.DagsterInstance) -> None:
    """A run that was created and never launched does not hold its day back for ever."""
    kill_at("RUN_CREATED", instance, "2024-12-17T12:00")
    with daemon_of(instance, "everything") as daemon:
        daemon.settle("2024-12-20T12:00")
        daemon.settle("2024-12-23T12:00")
    assert_once(instance, [*BEFORE, "2024-12-20"])
