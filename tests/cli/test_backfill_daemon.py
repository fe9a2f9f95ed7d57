"""`workday-assets backfill` while a daemon is up, and while one only seems to be."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from dagster._daemon.types import DaemonHeartbeat
from rich.console import Console
from support.command import Project
from support.dev import Dev
from support.processes import wait_until, wait_until_stopped
from support.projects import dev_starter, temporary_project

from workday_assets.cli.backfill_plan import Request, plan_backfill
from workday_assets.cli.daemon_backfill import launch, wait
from workday_assets.cli.project import open_project
from workday_assets.storage.state import find_instance

pytestmark = pytest.mark.daemon

#: The project's assets in a code location of another name, without its sensors.
DEFINITIONS = """
import dagster as dg
import workday_assets.definitions as project

defs = dg.Definitions(
    assets=project.defs.assets,
    resources=project.defs.resources,
    executor=project.defs.executor,
)
"""
HEALTH = '{ instance { daemonHealth { daemonStatus(daemonType: "BACKFILL") { healthy } } } }'
BACKFILL = """{ partitionBackfillOrError(backfillId: "ID") { ... on PartitionBackfill {
  status title
  assetBackfillData { assetBackfillStatuses { ... on AssetPartitionsStatusCounts {
    assetKey { path } numPartitionsTargeted numPartitionsMaterialized numPartitionsFailed } } } } }
}"""
#: The workdays of two weeks around Easter 2024: Good Friday and Easter Monday are closed.
EASTER = [
    *("2024-03-25", "2024-03-26", "2024-03-27", "2024-03-28"),
    *("2024-04-02", "2024-04-03", "2024-04-04", "2024-04-05"),
]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project's folder, with the definitions above as its code location."""
    with temporary_project(monkeypatch) as path:
        (path / "quiet_definitions.py").write_text(DEFINITIONS)
        (path / "workspace.yaml").write_text("load_from:\n  - python_module: quiet_definitions\n")
        monkeypatch.setenv("WORKDAY_ASSETS_HOME", str(path / ".workday_assets"))
        yield path


@pytest.fixture
def start_dev(folder: Path) -> Iterator[Callable[[], Dev]]:
    """Starts `dagster dev` in the folder."""
    with dev_starter(folder) as start:
        yield start


def is_healthy(dev: Dev) -> bool:
    """Whether the daemon with the backfills has said that it lives."""
    data = dev.query(HEALTH)
    return bool(data and data["instance"]["daemonHealth"]["daemonStatus"]["healthy"])


def state(dev: Dev, backfill_id: str) -> dict[str, Any]:
    """The status of a backfill, and by asset how many partitions it targets, made and failed."""
    data = dev.query(BACKFILL.replace("ID", backfill_id)) or {}
    backfill = data["partitionBackfillOrError"]
    return {
        "status": backfill["status"],
        **{
            "/".join(row["assetKey"]["path"]): (
                row["numPartitionsTargeted"],
                row["numPartitionsMaterialized"],
                row["numPartitionsFailed"],
            )
            for row in backfill["assetBackfillData"]["assetBackfillStatuses"]
        },
    }


def test_through_the_daemon(folder: Path, start_dev: Callable[[], Dev]) -> None:
    """The web server shows one backfill of exactly the plan's partitions, and nothing else is made.

    A failure is told as in this process. Ctrl-C leaves the next backfill to the daemon, and the
    same command waits for it instead of making its days twice.
    """
    dev = start_dev()
    wait_until(lambda: is_healthy(dev), "the daemon is up")
    project = Project(folder / ".workday_assets")
    blocked = project.root / "data" / "ecb" / "usd_crosses"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way")
    data = project.data(
        *("backfill", "--from", EASTER[0], "--to", EASTER[-1]),
        *("--asset", "ecb/reference_rates", "--asset", "ecb/returns"),
        *("--asset", "ecb/usd_crosses", "--asset", "ecb/weekly_summary"),
        code=1,
    )
    assert project.files("reference_rates") == ["2024-03-22", *EASTER]
    assert project.files("returns") == EASTER
    assert project.files("weekly_summary") == ["2024-03-25", "2024-04-01"]
    assert project.files("spot_value_dates") == project.files("volatility_20d") == []
    assert state(dev, data["backfill_id"]) == {
        "status": "COMPLETED_FAILED",
        "ecb/reference_rates": (9, 9, 0),
        "ecb/returns": (8, 8, 0),
        "ecb/usd_crosses": (8, 0, 8),
        "ecb/weekly_summary": (2, 2, 0),
    }
    crosses = next(row for row in data["assets"] if row["asset"] == "ecb/usd_crosses")
    assert (crosses["requested"], crosses["materialized"]) == (8, 0)
    assert crosses["failed"] == [["2024-03-25", "2024-04-05"]]
    assert "ecb__usd_crosses failed" in data["errors"][0]
    assert data["retry"] == (
        "workday-assets backfill --from 2024-03-25 --to 2024-04-05 --asset ecb/usd_crosses"
    )
    blocked.unlink()
    with project.start(*data["retry"].split()[1:], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("Through the daemon"))
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
    assert process.returncode == 130
    assert "The daemon goes on without this command" in said
    backfill_id = line.partition("/runs/b/")[2].strip(".\n")
    again = project.run(*data["retry"].split()[1:])
    assert f"Backfill {backfill_id} makes some of it, in the daemon: waiting for it." in again
    assert "Nothing to do" in again
    assert state(dev, backfill_id) == {
        "status": "COMPLETED_SUCCESS",
        "ecb/usd_crosses": (8, 8, 0),
    }
    assert project.files("usd_crosses") == EASTER
    here = project.run(
        *("backfill", "--asset", "ecb/reference_rates", "--in-process"),
        *("--from", "2024-04-08", "--to", "2024-04-08"),
    )
    assert "In this process, as asked" in here
    dev.interrupt()


@pytest.mark.usefixtures("folder")
def test_a_backfill_that_no_daemon_takes_up_is_withdrawn() -> None:
    """A killed daemon's last heartbeat is a minute old: soon nobody waits for it, nor finds it."""
    request = Request(date(2024, 3, 25), date(2024, 3, 26), ["ecb/reference_rates"])
    with open_project() as project:
        beat = DaemonHeartbeat(time.time() - 70, "BACKFILL", "killed", [])
        project.instance.add_daemon_heartbeat(beat)
        plan = plan_backfill(project, request)
        backfill_id = launch(project, plan)
        assert wait(project, plan, backfill_id, 0, Console(quiet=True)) is None
        backfill = project.instance.get_backfill(backfill_id)
        assert backfill is not None
        assert backfill.status.value == "CANCELED"
        data = backfill.get_asset_backfill_data(project.repository.asset_graph)
        targets = data.target_subset.iterate_asset_partitions()
        assert {(t.asset_key.to_user_string(), t.partition_key) for t in targets} == {
            ("ecb/reference_rates", "2024-03-25"),
            ("ecb/reference_rates", "2024-03-26"),
        }


def test_a_daemon_of_an_earlier_database_is_no_daemon(folder: Path) -> None:
    """`dagster dev` was ended a moment ago, and with it the embedded database: run here."""
    with find_instance().open() as instance:
        instance.add_daemon_heartbeat(DaemonHeartbeat(time.time(), "BACKFILL", "ended", []))
    wait_until_stopped(folder)
    project = Project(folder / ".workday_assets")
    words = ("--from", "2024-03-25", "--to", "2024-03-25", "--asset", "ecb/reference_rates")
    said = project.run("backfill", *words)
    assert "In this process, since no daemon is up" in said
    assert project.files("reference_rates") == ["2024-03-25"]
