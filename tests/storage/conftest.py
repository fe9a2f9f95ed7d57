"""Projects in temporary folders, and processes that share their embedded server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

REPOSITORY = Path(__file__).parents[2]
VARIABLES = ("DAGSTER_HOME", "WORKDAY_ASSETS_HOME", "WORKDAY_ASSETS_POSTGRES_URL")


class User:
    """A running `user.py`; `server` is the process id of the server it uses."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("user.py")), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
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


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return as soon as the condition holds; fail after a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"not within a minute: {what}"
        time.sleep(0.02)


def servers(folder: Path) -> list[psutil.Process]:
    """The processes of Postgres that work somewhere below a folder."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error):
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


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A temporary folder outside pytest's.

    Every pytest session closes its common folder to other users, and the server of a test that
    runs as root is another user.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A state root that does not exist yet; at the end no server is left in it."""
    yield tmp_path / "root"
    wait_until_stopped(tmp_path)


@pytest.fixture
def start_user(root: Path) -> Iterator[Callable[..., User]]:
    """Starts a user of the server of `root` or of another root."""
    users: list[User] = []

    def start(of: Path = root) -> User:
        users.append(User(of))
        return users[-1]

    yield start
    for user in users:
        user.process.kill()
        user.process.wait(30)
        user.process.stdout.close()
        with suppress(BrokenPipeError):
            user.process.stdin.close()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: a project with this repository's `dagster.yaml` and nothing else."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", folder)
    monkeypatch.chdir(folder)
    yield folder
    wait_until_stopped(tmp_path)
