"""Projects of a test's own with this repository's configuration, and `dagster dev` in them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.dev import Dev
from support.processes import wait_until_stopped

REPOSITORY = Path(__file__).parents[2]
VARIABLES = ("DAGSTER_HOME", "WORKDAY_ASSETS_HOME", "WORKDAY_ASSETS_POSTGRES_URL")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder outside pytest's, in which at the end no embedded server may be left.

    Every pytest session closes its common folder to other users, and the server of a test that
    runs as root is another user.
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name).resolve()
        path.chmod(0o755)
        yield path
        wait_until_stopped(path)


@contextmanager
def temporary_project(monkeypatch: pytest.MonkeyPatch, *more: str) -> Iterator[Path]:
    """A project with the repository's `dagster.yaml` and `more` files, as the current folder."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    with temporary_folder() as path:
        for name in ("dagster.yaml", *more):
            shutil.copy(REPOSITORY / name, path)
        monkeypatch.chdir(path)
        yield path
        monkeypatch.undo()


@contextmanager
def dev_starter(project: Path) -> Iterator[Callable[[], Dev]]:
    """Starts `dagster dev` in a project, as often as it is called; at the end none is left."""
    started: list[Dev] = []

    def start() -> Dev:
        started.append(Dev(project))
        return started[-1]

    yield start
    for dev in started:
        dev.kill()
