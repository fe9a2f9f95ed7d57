"""`dagster dev` as a person starts and stops it, on the embedded Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.dev import Dev
from support.processes import wait_until_stopped
from support.projects import dev_starter

from workday_assets.storage.state import find_instance

pytestmark = pytest.mark.daemon

DEFINITIONS = """
import dagster as dg

@dg.op
def talk():
    print("said by the op")

@dg.job(executor_def=dg.in_process_executor)
def talking():
    talk()

@dg.sensor(job=talking, default_status=dg.DefaultSensorStatus.RUNNING)
def once():
    yield dg.RunRequest(run_key="once")

defs = dg.Definitions(jobs=[talking], sensors=[once])
"""


@pytest.fixture
def start_dev(project: Path) -> Iterator[Callable[[], Dev]]:
    """Starts `dagster dev` in the project, with one job that a sensor starts once."""
    (project / "tiny_definitions.py").write_text(DEFINITIONS)
    (project / "workspace.yaml").write_text("load_from:\n  - python_module: tiny_definitions\n")
    with dev_starter(project) as start:
        yield start


def test_runs_and_logs_outlive_kill_and_ctrl_c(project: Path, start_dev: Callable[[], Dev]) -> None:
    """The run of the first start is there, alone, after `kill -9` and after Ctrl-C."""
    killed = start_dev()
    run_id = killed.wait_for_the_run()
    assert killed.listening_addresses() == {"127.0.0.1"}
    killed.kill()
    interrupted = start_dev()
    assert interrupted.wait_for_the_run() == run_id
    interrupted.interrupt()
    wait_until_stopped(project)
    with find_instance().open() as instance:
        assert [run.run_id for run in instance.get_runs()] == [run_id]
    logs = (project / ".workday_assets" / "compute_logs" / run_id).rglob("*.out")
    assert [log.read_text() for log in logs] == ["said by the op\n"]
