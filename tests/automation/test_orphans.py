"""Runs whose worker was killed, with a real process and the real Postgres."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from support.processes import wait_until
from support.projects import temporary_project

from workday_assets.automation.orphans import GRACE, fail_orphans
from workday_assets.storage.state import find_instance


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: a project with this repository's `dagster.yaml`."""
    with temporary_project(monkeypatch) as path:
        yield path


def statuses(instance: dg.DagsterInstance) -> list[dg.DagsterRunStatus]:
    """The statuses of all runs."""
    return [run.status for run in instance.get_runs()]


def test_a_run_whose_worker_was_killed_is_failed(folder: Path) -> None:
    """A run is left alone while its process lives, and failed once it is gone and silent."""
    started = folder / "started"
    with find_instance().open() as instance:
        worker = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash.py")), str(started)]
        )
        try:
            wait_until(started.exists, "the step runs")
            later = datetime.now(UTC) + GRACE + timedelta(seconds=30)
            assert fail_orphans(instance, later) == []
        finally:
            worker.kill()
            worker.wait(30)
        assert fail_orphans(instance, datetime.now(UTC)) == []
        assert statuses(instance) == [dg.DagsterRunStatus.STARTED]
        assert fail_orphans(instance, later) == []  # the server itself is younger than the grace
        young = timedelta(0)
        wait_until(
            lambda: len(fail_orphans(instance, later, uptime=young)) == 1, "the run is failed"
        )
        assert statuses(instance) == [dg.DagsterRunStatus.FAILURE]


def test_other_event_logs_are_left_alone() -> None:
    """On an instance that does not know who lives, no run is failed."""
    with dg.instance_for_test() as instance:
        assert fail_orphans(instance, datetime.now(UTC)) == []
