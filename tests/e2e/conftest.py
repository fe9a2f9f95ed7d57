"""One `dagster dev` of the real project for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.dev import Dev
from support.projects import dev_starter, temporary_project


@pytest.fixture(scope="session")
def project() -> Iterator[Path]:
    """A fresh project folder, as a clone has it, with its own state root."""
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        temporary_project(monkeypatch, "workspace.yaml") as path,
    ):
        yield path


@pytest.fixture(scope="session")
def start_dev(project: Path) -> Iterator[Callable[[], Dev]]:
    """Starts `dagster dev` in the project."""
    with dev_starter(project) as start:
        yield start


@pytest.fixture(scope="session")
def dev(start_dev: Callable[[], Dev]) -> list[Dev]:
    """The running `dagster dev`: the last of the list, so that a test can start it again."""
    return [start_dev()]
