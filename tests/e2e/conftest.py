"""One `dagster dev` of the real project for all tests of this folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.dev import Dev
from support.processes import wait_until_stopped

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def project() -> Iterator[Path]:
    """A fresh project folder, as a clone has it, with its own state root."""
    for variable in ("DAGSTER_HOME", "WORKDAY_ASSETS_HOME", "WORKDAY_ASSETS_POSTGRES_URL"):
        os.environ.pop(variable, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve()
        path.chmod(0o755)
        for name in ("dagster.yaml", "workspace.yaml"):
            shutil.copy(REPOSITORY / name, path)
        yield path
        wait_until_stopped(path)


@pytest.fixture(scope="session")
def dev(project: Path) -> Iterator[list[Dev]]:
    """The running `dagster dev`: the last of the list, so that a test can start it again."""
    started = [Dev(project)]
    yield started
    for each in started:
        each.kill()
