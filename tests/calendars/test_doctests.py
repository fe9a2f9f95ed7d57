"""The examples in the docstrings of the calendars."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["arithmetic", "calendar"])
def test_examples_are_true(module: str) -> None:
    """Every example gives the answer that stands below it, and there are examples."""
    found = doctest.testmod(importlib.import_module(f"workday_assets.calendars.{module}"))
    assert (found.failed, found.attempted > 2) == (0, True)
