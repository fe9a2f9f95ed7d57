"""A history that is made once; each test gets a copy to damage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.audited import Audited, copy_of, fill


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The history as it was made."""
    folder = tmp_path_factory.mktemp("audited")
    fill(folder)
    return folder


@pytest.fixture
def history(template: Path, tmp_path: Path) -> Iterator[Audited]:
    """A copy of it."""
    with copy_of(template, tmp_path) as instance:
        yield Audited(tmp_path, instance)
