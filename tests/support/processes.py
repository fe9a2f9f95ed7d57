"""Processes that share an embedded server, and what runs below a folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

_USER = Path(__file__).parents[1] / "storage" / "user.py"


class User:
    """A running `user.py`; `server` is the process id of the server it uses."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(_USER), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,  # noqa: PLW1509
        )

    @property
    def server(self) -> int:
        """Wait until the server is used; called once."""
        return int(self._line())

    def tell(self, line: str) -> str:
        """The answer to one line."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._line()

    def end(self) -> None:
        """Let it end by itself, and wait for that."""
        self.process.stdin.close()
        assert self.process.wait(30) == 0

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()
        self.process.wait(30)

    def interrupt(self) -> None:
        """Ctrl-C in its terminal, that is for its whole process group; wait for its end."""
        os.killpg(self.process.pid, signal.SIGINT)
        assert self.process.wait(30) == 0

    def _line(self) -> str:
        line = self.process.stdout.readline()
        assert line, f"user.py ended with exit code {self.process.wait(30)}"
        return line.strip()


def heed_ctrl_c() -> None:
    """For a child before it starts: a parent in the background may ignore Ctrl-C, and it then."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Return as soon as the condition holds; fail when it does not for a long time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds: {what}"
        time.sleep(0.02)


def servers(folder: Path) -> list[psutil.Process]:
    """The processes of Postgres that work somewhere below a folder."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error, FileNotFoundError):  # it may end while it is looked at
            if process.info["name"] == "postgres" and Path(process.cwd()).is_relative_to(folder):
                found.append(process)
    return found


def keepers(folder: Path) -> list[psutil.Process]:
    """The keepers of servers below a folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(word.endswith("keeper.py") for word in words) and str(folder) in " ".join(words):
            found.append(process)
    return found


def wait_until_stopped(folder: Path) -> None:
    """Return as soon as neither a server nor a keeper runs below a folder."""
    wait_until(lambda: not servers(folder) + keepers(folder), f"no Postgres below {folder}")
