"""Temporary projects and state roots; after each test none of their servers may be left."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.processes import User
from support.projects import REPOSITORY, VARIABLES, temporary_folder


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A temporary folder outside pytest's; at the end no server is left in it."""
    with temporary_folder() as path:
        yield path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A state root that does not exist yet."""
    return tmp_path / "root"


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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with this repository's `dagster.yaml` and nothing else."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", folder)
    monkeypatch.chdir(folder)
    return folder
