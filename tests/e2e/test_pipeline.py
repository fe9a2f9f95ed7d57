"""The main job as a stranger sees it: `dagster dev`, untouched, then the files and the pages."""

from __future__ import annotations

import math
import os
import shutil
import statistics
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from support.dev import Dev
from support.ecb import read_history
from support.processes import wait_until

pytestmark = pytest.mark.daemon

HISTORY = read_history()
NEWEST = list(HISTORY)[-5:]
#: The 20 returns of the oldest of the newest five days need 21 days of rates up to it.
RATES_OF = list(HISTORY)[-25:]
RETURNS_OF = RATES_OF[1:]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
LOCATION = "workday_assets.definitions"
TICKS = """{ sensorOrError(sensorSelector: {
    repositoryLocationName: "workday_assets.definitions",
    repositoryName: "__repository__", sensorName: "ecb_workdays"}) {
  ... on Sensor { sensorState { ticks(limit: 20) { status skipReason timestamp } } } } }"""


def ticks(dev: Dev) -> list[dict[str, Any]]:
    """The sensor's ticks, newest first."""
    data = dev.query(TICKS)
    if not data or "sensorState" not in data["sensorOrError"]:
        return []
    found: list[dict[str, Any]] = data["sensorOrError"]["sensorState"]["ticks"]
    return found


def skips(dev: Dev) -> list[str]:
    """The reasons of the ticks that asked for nothing, newest first."""
    return [tick["skipReason"] for tick in ticks(dev) if tick["status"] == "SKIPPED"]


def nothing_due(dev: Dev) -> bool:
    """Whether the newest tick has found everything done, and no run is left."""
    found = bool(skips(dev)) and skips(dev)[0].startswith("nothing is due")
    return found and set(dev.runs().values()) == {"SUCCESS"}


@pytest.fixture(scope="module")
def materialized(dev: list[Dev]) -> Dev:
    """`dagster dev` once its sensor has found everything done."""
    wait_until(lambda: nothing_due(dev[-1]), "the sensor finds everything done", 600)
    return dev[-1]


def stored(project: Path, asset: str) -> dict[date, dict[str, float]]:
    """What lies in an asset's Parquet files: by date, then by currency."""
    folder = project / ".workday_assets" / "data" / "ecb" / asset
    found = {}
    for file in sorted(folder.glob("*.parquet")):
        table = pd.read_parquet(file)
        assert set(table["date"].astype(str)) == {file.stem}
        found[date.fromisoformat(file.stem)] = dict(
            zip(table["currency"], table.iloc[:, 2], strict=True)
        )
    return found


def log_returns(day: date) -> dict[str, float]:
    """By currency, the logarithm of the quotient with the row before."""
    before = HISTORY[RATES_OF[RATES_OF.index(day) - 1]]
    return {c: math.log(rate / before[c]) for c, rate in HISTORY[day].items() if c in before}


def test_rates_are_those_of_the_ecbs_file(materialized: Dev, project: Path) -> None:
    """The newest five published workdays and those that the volatility needs, value for value."""
    assert materialized.process.poll() is None
    expected = {day: HISTORY[day] for day in RATES_OF}
    assert stored(project, "reference_rates") == expected


def test_crosses_are_the_quotients(materialized: Dev, project: Path) -> None:
    """Units per US dollar, the euro included and the dollar not."""
    assert materialized.process.poll() is None
    expected = {
        day: {
            currency: rate / HISTORY[day]["USD"]
            for currency, rate in {**HISTORY[day], "EUR": 1.0}.items()
            if currency != "USD"
        }
        for day in NEWEST
    }
    found = stored(project, "usd_crosses")
    assert found.keys() == expected.keys()
    for day in NEWEST:
        assert found[day] == pytest.approx(expected[day], rel=1e-12)


def test_returns_are_against_the_previous_workday(materialized: Dev, project: Path) -> None:
    """Logarithms of the quotient with the row before, whatever lies between the two dates."""
    assert materialized.process.poll() is None
    found = stored(project, "returns")
    assert list(found) == RETURNS_OF
    for day in RETURNS_OF:
        assert found[day] == pytest.approx(log_returns(day), rel=1e-9, abs=1e-15)


def test_volatility_is_of_twenty_workdays(materialized: Dev, project: Path) -> None:
    """A sample standard deviation of the 20 newest returns, 252 workdays a year."""
    assert materialized.process.poll() is None
    found = stored(project, "volatility_20d")
    assert list(found) == NEWEST
    for day in NEWEST:
        last = RETURNS_OF.index(day)
        window = [log_returns(d) for d in RETURNS_OF[last - 19 : last + 1]]
        assert len(window) == 20
        expected = {
            currency: statistics.stdev(r[currency] for r in window) * math.sqrt(252)
            for currency in log_returns(day)
        }
        assert found[day] == pytest.approx(expected, rel=1e-9)


def test_every_run_says_what_it_is_of(materialized: Dev) -> None:
    """Each asset is asked for each day once, by the sensor, in runs that name their intervals."""
    data = materialized.query(
        "{ runsOrError { ... on Runs { results { assetSelection { path } tags { key value } } } } }"
    )
    assert data is not None
    found: dict[str, list[date]] = {}
    for run in data["runsOrError"]["results"]:
        tags = {tag["key"]: tag["value"] for tag in run["tags"]}
        if tags["workday/trigger"] != "ecb_workdays":
            continue
        first = tags.get("workday/logical_date") or tags["workday/logical_date_first"]
        last = tags.get("workday/logical_date") or tags["workday/logical_date_last"]
        days = [day for day in RATES_OF if first <= str(day) <= last]
        for asset in run["assetSelection"]:
            found.setdefault(asset["path"][-1], []).extend(days)
    assert {asset: sorted(days) for asset, days in found.items()} == {
        "reference_rates": RATES_OF,
        "usd_crosses": NEWEST,
        "returns": RETURNS_OF,
        "volatility_20d": NEWEST,
        "spot_value_dates": NEWEST,
    }


def test_weeks_close_with_their_last_workday(materialized: Dev, project: Path) -> None:
    """Of the newest two weeks those that the history completes are made, of all their workdays."""
    monday = NEWEST[-1] - timedelta(days=NEWEST[-1].weekday())
    whole = [monday - timedelta(days=7), *([monday] if NEWEST[-1].weekday() == 4 else [])]
    folder = project / ".workday_assets" / "data" / "ecb" / "weekly_summary"
    wait_until(
        lambda: sorted(file.stem for file in folder.glob("*")) == [str(week) for week in whole],
        "the weeks close",
    )
    query = """{ assetNodes(assetKeys: [{path: ["ecb", "weekly_summary"]}]) {
      assetMaterializations { partition metadataEntries { label
        ... on TextMetadataEntry { text } } } } }"""
    data = materialized.query(query)
    assert data is not None
    shown = {
        made["partition"]: {entry["label"]: entry.get("text") for entry in made["metadataEntries"]}
        for made in data["assetNodes"][0]["assetMaterializations"]
    }
    for week in whole:
        days = [day for day in HISTORY if week <= day < week + timedelta(days=7)]
        completeness = shown[str(week)]["workday/completeness"]
        assert completeness == f"expected {len(days)}, found {len(days)}"


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Page]:
    """A page of a headless Chromium from the `PATH`."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium on the PATH: CI must install it")
        pytest.skip("no chromium on the PATH; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser.new_page(viewport={"width": 1440, "height": 900})
        browser.close()


def test_partitions_page_shows_workdays_only(materialized: Dev, browser_page: Page) -> None:
    """The asset's page lists the materialized workday, and no day of the weekend after it."""
    friday = next(day for day in reversed(NEWEST) if day.weekday() == 4)
    browser_page.goto(f"{materialized.url}/assets/ecb/returns?view=partitions&partition={friday}")
    expect(browser_page.get_by_text("Materialized", exact=True).first).to_be_visible(timeout=60000)
    expect(browser_page.get_by_text(str(friday)).first).to_be_visible()
    expect(browser_page.get_by_text(str(friday + timedelta(days=1)))).to_have_count(0)
    expect(browser_page.get_by_text("log_return").first).to_be_visible()


def test_sensor_page_says_why_nothing_runs(materialized: Dev, browser_page: Page) -> None:
    """A tick that asked for nothing shows its reason."""
    browser_page.goto(f"{materialized.url}/locations/{LOCATION}/sensors/ecb_workdays")
    tick = browser_page.get_by_role("button", name="0 runs requested", exact=True).first
    expect(tick).to_be_visible(timeout=60000)
    tick.click()
    expect(
        browser_page.get_by_text("nothing is due of the newest 5 workdays: all 5 assets")
    ).to_be_visible()
    expect(browser_page.get_by_text(f"ends {NEWEST[-1]}")).to_be_visible()


def test_a_restart_keeps_everything_and_runs_nothing_twice(
    materialized: Dev, dev: list[Dev], start_dev: Callable[[], Dev]
) -> None:
    """After Ctrl-C and a new start the same runs are there, and new ticks ask for nothing."""
    before = materialized.runs()
    newest = ticks(materialized)[0]["timestamp"]
    materialized.interrupt()
    dev.append(start_dev())
    wait_until(
        lambda: any(tick["timestamp"] > newest + 30 for tick in ticks(dev[-1])[:1]),
        "a tick after the restart",
        300,
    )
    assert nothing_due(dev[-1])
    assert dev[-1].runs() == before
