"""A page of a headless Chromium from the `PATH`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, sync_playwright


@contextmanager
def browser_page(width: int, height: int) -> Iterator[Page]:
    """The page; where there is no Chromium the test is skipped, in CI it fails."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium on the PATH: CI must install it")
        pytest.skip("no chromium on the PATH; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": width, "height": height})
        browser.close()
