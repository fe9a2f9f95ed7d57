"""A holiday declared while a backfill runs: nothing is lost, and the closed day is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.dev import Dev
from support.processes import wait_until
from support.projects import dev_starter, temporary_project

pytestmark = pytest.mark.daemon

PROJECT = """
import time
from pathlib import Path

import dagster as dg

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition

declared = Path(__file__).with_name("closures.txt").read_text().split()
calendar = WorkdayCalendar.build("OWN", "2026-01-01", "2026-12-31")
workdays = WorkdayPartitionsDefinition(
    calendar.with_closures({day: "National mourning" for day in declared}), "Europe/Berlin"
)


@dg.asset(partitions_def=workdays)
def positions() -> None:
    time.sleep(3)


defs = dg.Definitions(assets=[positions], executor=dg.in_process_executor)
"""
# 2026-01-05 is a Monday; the 12th, the Monday after, is declared closed.
DAYS = ["2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08", "2026-01-09", "2026-01-12"]
LAUNCH = """mutation { launchPartitionBackfill(backfillParams: {
    assetSelection: [{path: ["positions"]}], partitionNames: DAYS }) {
  ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }""".replace(
    "DAYS", json.dumps(DAYS)
)
RUNS = """{ runsOrError { ... on Runs { results { runId status tags { key value } } } } }"""
MATERIALIZATIONS = """{ assetOrError(assetKey: {path: ["positions"]}) { ... on Asset {
    assetMaterializations { partition } } } }"""


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`dagster dev` on the project, one run at a time."""
    with temporary_project(monkeypatch) as project:
        config = (project / "dagster.yaml").read_text()
        one = config.replace("max_concurrent_runs: 4", "max_concurrent_runs: 1")
        assert one != config
        (project / "dagster.yaml").write_text(one)
        (project / "project.py").write_text(PROJECT)
        (project / "closures.txt").write_text("")
        (project / "workspace.yaml").write_text("load_from: [{python_file: project.py}]")
        with dev_starter(project) as start:
            yield start()


def status_of_days(dev: Dev) -> dict[str, str]:
    """The status of each day's run."""
    found = {}
    data = dev.query(RUNS)
    for run in data["runsOrError"]["results"] if data else []:
        tags = {tag["key"]: tag["value"] for tag in run["tags"]}
        found[tags["dagster/partition"]] = run["status"]
    return found


def error_of(dev: Dev, day: str) -> str:
    """The message of the failure of a day's run, with its causes."""
    data = dev.query(RUNS)
    assert data is not None
    run = next(
        run["runId"]
        for run in data["runsOrError"]["results"]
        if {"key": "dagster/partition", "value": day} in run["tags"]
    )
    logs = dev.query(
        f'{{ logsForRun(runId: "{run}") {{ ... on EventConnection {{ events {{'
        " ... on ExecutionStepFailureEvent { error { message causes { message } } } } } } }"
    )
    assert logs is not None
    errors = [event["error"] for event in logs["logsForRun"]["events"] if event.get("error")]
    return " ".join([errors[0]["message"], *(cause["message"] for cause in errors[0]["causes"])])


def test_holiday_declared_while_a_backfill_runs(dev: Dev) -> None:
    """The open days are made; the closed one's run fails and says why; the backfill ends."""
    wait_until(lambda: (dev.query("{ version }") or {}).get("version"), "the server answers", 60)
    wait_until(
        lambda: "positions" in str(dev.query("{ assetNodes { assetKey { path } } }")), "loaded", 60
    )
    launched = dev.query(LAUNCH)
    assert launched is not None
    backfill = launched["launchPartitionBackfill"]["backfillId"]
    wait_until(lambda: "SUCCESS" in status_of_days(dev).values(), "the first day is made", 120)
    assert status_of_days(dev)["2026-01-12"] == "QUEUED"
    (Path.cwd() / "closures.txt").write_text("2026-01-12")
    dev.query(
        'mutation { reloadRepositoryLocation(repositoryLocationName: "project.py") { __typename } }'
    )
    state = f'{{ partitionBackfillOrError(backfillId: "{backfill}")'
    state += " { ... on PartitionBackfill { status error { message } } } }"

    def ended() -> bool:
        data = dev.query(state)
        return data is not None and "COMPLETED" in data["partitionBackfillOrError"]["status"]

    wait_until(ended, "the backfill ends", 180)
    assert status_of_days(dev) == {
        **dict.fromkeys(DAYS[:5], "SUCCESS"),
        "2026-01-12": "FAILURE",
    }
    assert "day=2026-01-12 is closed in OWN (National mourning)" in error_of(dev, "2026-01-12")
    data = dev.query(MATERIALIZATIONS)
    assert data is not None
    made = data["assetOrError"]["assetMaterializations"]
    assert sorted(event["partition"] for event in made) == DAYS[:5]
