"""`dagster dev` as a person starts and stops it, on the embedded Postgres."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from conftest import wait_until, wait_until_stopped

from workday_assets.storage.state import find_instance

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
RUNS = "{ runsOrError { ... on Runs { results { runId status } } } }"


class Dev:
    """A running `dagster dev` with its web server on a free port."""

    def __init__(self, project: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = project / "dev.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dagster", "dev", "-p", str(self.port)],
                cwd=project,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def runs(self) -> dict[str, str]:
        """Status by run id; empty before the web server answers."""
        assert self.process.poll() is None, self.log.read_text()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": RUNS}).encode(),
            {"Content-Type": "application/json"},
        )
        with suppress(OSError), urllib.request.urlopen(request) as answer:  # noqa: S310
            runs = json.load(answer)["data"]["runsOrError"]["results"]
            return {run["runId"]: run["status"] for run in runs}
        return {}

    def wait_for_the_run(self) -> str:
        """The id of the one run, once it has succeeded."""
        wait_until(lambda: list(self.runs().values()) == ["SUCCESS"], "one run succeeded")
        return next(iter(self.runs()))

    def listening_addresses(self) -> set[str]:
        """The addresses on which it and its children accept connections."""
        mine = [
            psutil.Process(self.process.pid),
            *psutil.Process(self.process.pid).children(recursive=True),
        ]
        connections = [c for process in mine for c in process.net_connections(kind="inet")]
        return {c.laddr.ip for c in connections if c.status == "LISTEN"}

    def interrupt(self) -> None:
        """Ctrl-C in its terminal; wait for its end."""
        os.killpg(self.process.pid, signal.SIGINT)
        assert self.process.wait(60) == 0

    def kill(self) -> None:
        """`kill -9` of it and of all its children."""
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                child.kill()
        self.process.kill()
        self.process.wait(60)


@pytest.fixture
def start_dev(project: Path) -> Iterator[Callable[[], Dev]]:
    """Starts `dagster dev` in the project, with one job that a sensor starts once."""
    (project / "tiny_definitions.py").write_text(DEFINITIONS)
    (project / "workspace.yaml").write_text("load_from:\n  - python_module: tiny_definitions\n")
    started: list[Dev] = []

    def start() -> Dev:
        started.append(Dev(project))
        return started[-1]

    yield start
    for dev in started:
        dev.kill()


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
