"""Alerts and freshness in the real daemon: a failure, its repair, and a sink that is dead."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest
from pytest_httpserver import HTTPServer
from support.dev import Dev
from support.processes import wait_until
from support.projects import dev_starter, temporary_project

from workday_assets.storage.state import find_instance

pytestmark = pytest.mark.daemon

DEFINITIONS = """
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import dagster as dg
from workday_assets import (
    CatchupPolicy, WorkdayCalendar, WorkdayPartitionsDefinition, WorkdayTimetable,
    build_alert_sensor, build_interval_sensor, build_workday_freshness_checks,
    build_workday_freshness_sensor,
)
from workday_assets.alerts.sinks import webhook

today = datetime.now(UTC).date()
calendar = WorkdayCalendar.build(
    "EVERY", today - timedelta(days=9), today + timedelta(days=200), weekend=()
)
days = WorkdayPartitionsDefinition(calendar, "UTC")

@dg.asset(partitions_def=days)
def rates() -> None:
    if Path("broken").exists():
        raise ValueError("no rates")

checks = build_workday_freshness_checks([rates], deadline=time(0))
soon = {"minimum_interval_seconds": 5}
defs = dg.Definitions(
    assets=[rates, *checks],
    sensors=[
        build_interval_sensor(
            "days", [rates], WorkdayTimetable(calendar, "UTC"), policy=CatchupPolicy.latest(),
            retry_failed=1, **soon,
        ),
        build_workday_freshness_sensor("fresh", checks, **soon),
        build_alert_sensor(webhook(dg.EnvVar("ALERT_HOOK")), retry_failed=1, **soon),
        build_alert_sensor(
            webhook("http://127.0.0.1:1/dead"), name="dead_end", retry_failed=1, **soon
        ),
    ],
    executor=dg.in_process_executor,
)
"""
TICKS = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
    sensors { name sensorState { ticks { status } } }
} } } }"""
REPAIR = """mutation { launchPartitionBackfill(backfillParams: {
    assetSelection: [{path: ["rates"]}], partitionNames: ["%s"], fromFailure: false
}) { __typename } }"""


def test_a_failure_and_its_repair(monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer) -> None:
    """Two messages in all, though a dead sink's sensor fails at each tick; the check recovers."""
    httpserver.expect_request("/hook").respond_with_data("ok")
    monkeypatch.setenv("ALERT_HOOK", httpserver.url_for("/hook"))
    yesterday = str(datetime.now(UTC).date() - timedelta(days=1))
    with temporary_project(monkeypatch) as project:
        (project / "alert_definitions.py").write_text(DEFINITIONS)
        (project / "workspace.yaml").write_text(
            "load_from:\n  - python_module: alert_definitions\n"
        )
        (project / "broken").touch()
        with dev_starter(project) as start:
            dev = start()
            wait_until(lambda: len(httpserver.log) == 1, "the failure is told", 300)
            assert sorted(dev.runs().values()) == ["FAILURE", "FAILURE"]
            wait_until(lambda: said() == [False], "the check is red", 60)
            (project / "broken").unlink()
            launched = dev.query(REPAIR % yesterday)
            assert launched == {"launchPartitionBackfill": {"__typename": "LaunchBackfillSuccess"}}
            wait_until(lambda: len(httpserver.log) == 2, "the repair is told", 300)
            wait_until(lambda: said()[-1], "the check is green", 60)
            seen = len(ticks(dev)["workday_alerts"])
            wait_until(lambda: len(ticks(dev)["workday_alerts"]) > seen + 2, "more ticks", 120)
            assert set(ticks(dev)["workday_alerts"]) == {"SKIPPED"}
            assert "FAILURE" in ticks(dev)["dead_end"]
            dev.interrupt()
    told = [json.loads(request.data) for request, _ in httpserver.log]
    title = f"Run failed: rates {yesterday}"
    assert [(body["state"], body["title"]) for body in told] == [
        ("open", title),
        ("cleared", f"Cleared: {title}"),
    ]
    assert "Step rates: ValueError: no rates" in told[0]["text"]


def said() -> list[bool]:
    """What the freshness check said, oldest first, without what it said again."""
    key = dg.AssetCheckKey(dg.AssetKey("rates"), "workday_freshness")
    with find_instance().open() as instance:
        history = instance.event_log_storage.get_asset_check_execution_history(key, limit=50)
    found: list[bool] = []
    for record in reversed(history):
        event = record.event.dagster_event if record.event else None
        data = event.event_specific_data if event else None
        if isinstance(data, dg.AssetCheckEvaluation) and found[-1:] != [data.passed]:
            found.append(data.passed)
    return found


def ticks(dev: Dev) -> dict[str, list[str]]:
    """The status of each tick so far, by sensor; one that still runs is left out."""
    data: Any = dev.query(TICKS)
    return {
        sensor["name"]: [
            tick["status"] for tick in sensor["sensorState"]["ticks"] if tick["status"] != "STARTED"
        ]
        for sensor in data["repositoriesOrError"]["nodes"][0]["sensors"]
    }
