"""The period-close sensor in the real daemon: week and month close early, each in its own run."""

from __future__ import annotations

import pytest
from support.processes import wait_until
from support.projects import dev_starter, temporary_project

from workday_assets.storage.state import find_instance

pytestmark = pytest.mark.daemon

DEFINITIONS = """
from datetime import UTC, datetime, timedelta

import dagster as dg
from workday_assets import (
    CatchupPolicy, WorkdayCalendar, WorkdayPartitionsDefinition, WorkdayTimetable,
    build_interval_sensor, build_period_close_sensor, rollup,
)

# Yesterday was the last workday for a month, so that its week and its month have just closed.
today = datetime.now(UTC).date()
yesterday = today - timedelta(days=1)
month = yesterday.replace(day=1)
monday = yesterday - timedelta(days=yesterday.weekday())
first = min(month, monday)
calendar = WorkdayCalendar.build(
    "HOLIDAYS", first, today + timedelta(days=60), weekend=(),
    closures={today + timedelta(days=n): "holidays" for n in range(32)},
)
days = WorkdayPartitionsDefinition(calendar, "UTC")
months = dg.MonthlyPartitionsDefinition(month.isoformat(), timezone="UTC", end_offset=1)
weeks = dg.WeeklyPartitionsDefinition(
    monday.isoformat(), day_offset=1, timezone="UTC", end_offset=1
)
single_run = dg.BackfillPolicy.single_run()

@dg.asset(partitions_def=days, backfill_policy=single_run)
def rates() -> None: ...

@dg.asset(partitions_def=weeks, deps=[dg.AssetDep(rates, partition_mapping=rollup())])
def weekly() -> None: ...

@dg.asset(partitions_def=months, deps=[dg.AssetDep(rates, partition_mapping=rollup())])
def monthly() -> None: ...

table = WorkdayTimetable(calendar, "UTC")
defs = dg.Definitions(
    assets=[rates, weekly, monthly],
    sensors=[
        build_interval_sensor(
            "days", [rates], table, policy=CatchupPolicy.all(), minimum_interval_seconds=5
        ),
        build_period_close_sensor(
            "closes", [weekly, monthly], table, minimum_interval_seconds=5
        ),
    ],
    executor=dg.in_process_executor,
)
"""
STATUS = "{ assetNodes { assetKey { path } partitionStats { numMaterialized } } }"


def test_a_week_and_a_month_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the days are there, both are launched by one sensor, in their own runs, and succeed."""
    with temporary_project(monkeypatch) as project:
        (project / "close_definitions.py").write_text(DEFINITIONS)
        (project / "workspace.yaml").write_text(
            "load_from:\n  - python_module: close_definitions\n"
        )
        with dev_starter(project) as start:
            dev = start()

            def periods() -> dict[str, int]:
                nodes = (dev.query(STATUS) or {}).get("assetNodes", [])
                return {
                    node["assetKey"]["path"][0]: node["partitionStats"]["numMaterialized"]
                    for node in nodes
                    if node["assetKey"]["path"] != ["rates"]
                }

            wait_until(lambda: periods() == {"weekly": 1, "monthly": 1}, "both are made", 300)
            with find_instance().open() as instance:
                runs = [r for r in instance.get_runs() if r.tags["workday/trigger"] == "closes"]
            dev.interrupt()
    keys = [key.to_user_string() for run in runs for key in run.asset_selection or ()]
    assert sorted(keys) == ["monthly", "weekly"]
