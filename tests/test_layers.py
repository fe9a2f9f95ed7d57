"""The layer rule: what the cheap public names may load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workday_assets

PURE = [
    "workday_assets",
    "workday_assets.calendars",
    "workday_assets.timetable",
    "workday_assets.planner",
    "workday_assets.automation.deadlines",
    "workday_assets.zones",
]


@pytest.mark.parametrize("module", PURE)
def test_pure_layer_loads_neither_dagster_nor_pandas(module: str) -> None:
    """A fresh process that imports a pure layer has neither Dagster nor pandas in it."""
    code = f"import sys, {module}; print(sorted({{'dagster', 'pandas'}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_resolves() -> None:
    """Each name in `__all__` exists, also those that are loaded on first use."""
    code = (
        "import workday_assets as w; print([n for n in w.__all__ if getattr(w, n, None) is None])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that the package does not have is refused by its name."""
    with pytest.raises(AttributeError, match="no_such_name"):
        workday_assets.no_such_name  # noqa: B018 - the access is the test
