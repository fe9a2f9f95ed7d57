"""`dagster dev`, started, asked and stopped as a person would."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from support.processes import heed_ctrl_c, wait_until


class Dev:
    """A running `dagster dev` with its web server on a free port."""

    def __init__(self, project: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = project / "dev.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dagster", "dev", "-p", str(self.port)],
                cwd=project,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=heed_ctrl_c,  # noqa: PLW1509
            )

    def query(self, query: str) -> dict[str, Any] | None:
        """The data that answer a GraphQL query; `None` before the web server answers."""
        assert self.process.poll() is None, self.log.read_text()
        request = urllib.request.Request(  # noqa: S310
            f"{self.url}/graphql",
            json.dumps({"query": query}).encode(),
            {"Content-Type": "application/json"},
        )
        with suppress(OSError), urllib.request.urlopen(request) as answer:  # noqa: S310
            data: dict[str, Any] = json.load(answer)["data"]
            return data
        return None

    def runs(self) -> dict[str, str]:
        """Status by run id; empty before the web server answers."""
        data = self.query("{ runsOrError { ... on Runs { results { runId status } } } }")
        found = data["runsOrError"]["results"] if data else []
        return {run["runId"]: run["status"] for run in found}

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
