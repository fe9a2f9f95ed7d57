"""The sensor in the real daemon: slow upstream runs, and everything killed in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.dev import Dev
from support.processes import wait_until
from support.projects import dev_starter, temporary_project

from workday_assets.storage.state import find_instance

pytestmark = pytest.mark.daemon

DEFINITIONS = """
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from workday_assets import (
    CatchupPolicy, WorkdayCalendar, WorkdayPartitionsDefinition, WorkdayTimetable,
    build_interval_sensor, trailing_workdays,
)

today = datetime.now(UTC).date()
calendar = WorkdayCalendar.build(
    "DAILY", today - timedelta(days=9), today + timedelta(days=9), weekend=()
)
days = WorkdayPartitionsDefinition(calendar, "UTC")
here = Path(__file__).parent

@dg.asset(partitions_def=days)
def rates(context: dg.AssetExecutionContext) -> None:
    (here / f"started-{context.partition_key}-{context.run_id}").touch()
    time.sleep(5)

@dg.asset(
    partitions_def=days,
    deps=[dg.AssetDep(rates, partition_mapping=trailing_workdays(2))],
)
def returns() -> None:
    pass

sensor = build_interval_sensor(
    "days", [rates, returns], WorkdayTimetable(calendar, "UTC"),
    policy=CatchupPolicy.last(3), retry_failed=2, minimum_interval_seconds=5,
)
defs = dg.Definitions(
    assets=[rates, returns], sensors=[sensor], executor=dg.in_process_executor
)
"""
STATUS = """{ assetNodes { assetKey { path } partitionStats {
  numMaterialized numFailed numMaterializing } } }"""


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with ten places for runs, and nothing else than the definitions above."""
    with temporary_project(monkeypatch) as path:
        config = (path / "dagster.yaml").read_text()
        assert "max_concurrent_runs: 4" in config
        (path / "dagster.yaml").write_text(
            config.replace("max_concurrent_runs: 4", "max_concurrent_runs: 10")
        )
        (path / "slow_definitions.py").write_text(DEFINITIONS)
        (path / "workspace.yaml").write_text("load_from:\n  - python_module: slow_definitions\n")
        yield path


@pytest.fixture
def start_dev(project: Path) -> Iterator[Callable[[], Dev]]:
    """Starts `dagster dev` in the project."""
    with dev_starter(project) as start:
        yield start


def materialized(dev: Dev) -> dict[str, int]:
    """How many partitions of each asset are materialized."""
    data = dev.query(STATUS)
    return {
        node["assetKey"]["path"][0]: node["partitionStats"]["numMaterialized"]
        for node in (data or {}).get("assetNodes", [])
    }


def test_slow_upstream_fails_no_run(start_dev: Callable[[], Dev]) -> None:
    """Upstream takes five seconds and ten places are free: children wait, and nothing fails."""
    dev = start_dev()
    wait_until(lambda: materialized(dev) == {"rates": 4, "returns": 3}, "all days are made", 400)
    wait_until(lambda: "STARTED" not in dev.runs().values(), "the last runs end", 60)
    assert set(dev.runs().values()) == {"SUCCESS"}
    dev.interrupt()


def test_everything_killed_in_mid_step_is_made_up(
    start_dev: Callable[[], Dev], project: Path
) -> None:
    """After `kill -9` of all processes during a step, a new start makes up every day by itself."""
    first = start_dev()
    wait_until(lambda: len(list(project.glob("started-*"))) >= 2, "two steps run", 200)
    first.kill()
    with find_instance().open() as instance:
        unfinished = {run.run_id for run in instance.get_runs() if not run.is_finished}
    assert unfinished
    second = start_dev()
    done = {"rates": 4, "returns": 3}
    wait_until(lambda: materialized(second) == done, "all days are made", 500)
    statuses = second.runs()
    killed = {path.name.split("-", 4)[4] for path in project.glob("started-*")} & unfinished
    assert {statuses[run_id] for run_id in killed} <= {"FAILURE", "SUCCESS"}
    assert "FAILURE" in {statuses[run_id] for run_id in killed}
    second.interrupt()
