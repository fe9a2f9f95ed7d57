"""A backfill of some days, launched as the UI does it, of assets whose windows reach past them."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.dev import Dev
from support.ecb import read_history
from support.processes import wait_until

pytestmark = pytest.mark.daemon

FIRST, LAST = "2025-03-03", "2025-04-30"
#: 21 weekdays of March and 22 of April, less Good Friday and Easter Monday.
DAYS = [str(day) for day in read_history() if FIRST <= str(day) <= LAST]
ASSETS = ["reference_rates", "returns", "volatility_20d", "weekly_summary"]
ENDED = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}


def nodes(names: list[str], fields: str) -> str:
    """A query for fields of assets."""
    keys = ", ".join(f'{{path: ["ecb", "{name}"]}}' for name in names)
    return f"{{ assetNodes(assetKeys: [{keys}]) {{ assetKey {{ path }} {fields} }} }}"


def ask(dev: Dev, query: str) -> dict[str, Any]:
    """The web server's answer."""
    data = dev.query(query)
    assert data is not None
    return data


@pytest.fixture(scope="module")
def backfill(dev: list[Dev]) -> str:
    """The id of the backfill, ended."""
    wait_until(lambda: dev[-1].query("{ version }") is not None, "the web server answers")
    selection = ", ".join(f'{{path: ["ecb", "{name}"]}}' for name in ASSETS)
    launched = ask(
        dev[-1],
        f"mutation {{ launchPartitionBackfill(backfillParams: {{assetSelection: [{selection}],"
        f" partitionNames: {json.dumps(DAYS)}}})"
        " { ... on LaunchBackfillSuccess { backfillId } } }",
    )
    identifier: str = launched["launchPartitionBackfill"]["backfillId"]
    status = f"""{{ partitionBackfillOrError(backfillId: "{identifier}") {{
        ... on PartitionBackfill {{ status }} }} }}"""
    wait_until(
        lambda: ask(dev[-1], status)["partitionBackfillOrError"]["status"] in ENDED,
        "the backfill ends",
        600,
    )
    return identifier


def made(project: Path, asset: str) -> list[str]:
    """The partitions of the backfill's dates, and of those soon after, that have a file."""
    folder = project / ".workday_assets" / "data" / "ecb" / asset
    return sorted(f.stem for f in folder.glob("*.parquet") if FIRST <= f.stem <= "2025-07-01")


def test_no_day_is_made_of_missing_input(backfill: str, project: Path) -> None:
    """Each asset has the days whose inputs are there, and neither the first nor those beyond."""
    assert backfill
    assert len(DAYS) == 21 + 22 - 2
    assert made(project, "reference_rates") == DAYS
    assert made(project, "returns") == DAYS[1:]  # 2025-02-28 is not there, nor is 2025-05-02
    assert made(project, "volatility_20d") == DAYS[20:]  # 20 returns: of DAYS[1] to DAYS[20]


def test_days_beyond_read_as_missing_and_no_run_failed(backfill: str, dev: list[Dev]) -> None:
    """The runs of the days that Dagster added succeed, say which they left out, and fail none."""
    tag = f'tags: [{{key: "dagster/backfill", value: "{backfill}"}}]'
    runs = ask(
        dev[-1],
        f"{{ runsOrError(filter: {{{tag}}}) {{ ... on Runs {{ results {{"
        " status assetSelection { path } tags { key value } } } } }",
    )["runsOrError"]["results"]
    assert {run["status"] for run in runs} == {"SUCCESS"}
    left_out = {
        asset["path"][-1]: tag["value"]
        for run in runs
        for tag in run["tags"]
        if tag["key"] == "workday/not_ready"
        for asset in run["assetSelection"]
    }
    assert left_out["returns"] == "2025-03-03 to 2025-05-02"
    stats = ask(dev[-1], nodes(ASSETS, "partitionStats { numFailed numMaterializing }"))
    found = {
        node["assetKey"]["path"][-1]: set(node["partitionStats"].values())
        for node in stats["assetNodes"]
    }
    assert found == {name: {0} for name in ASSETS}


def test_a_week_says_which_day_it_has_not(backfill: str, project: Path, dev: list[Dev]) -> None:
    """The week of 28 April has three of its four workdays: 2 May is not in the backfill."""
    assert backfill
    mondays = [date(2025, 3, 3) + timedelta(weeks=n) for n in range(9)]
    assert made(project, "weekly_summary") == [str(monday) for monday in mondays]
    fields = """assetMaterializations(partitions: ["2025-04-28"]) { metadataEntries {
      label ... on TextMetadataEntry { text } } }"""
    node = ask(dev[-1], nodes(["weekly_summary"], fields))["assetNodes"][0]
    entries = node["assetMaterializations"][0]["metadataEntries"]
    texts = {entry["label"]: entry.get("text") for entry in entries}
    assert texts["workday/completeness"] == "expected 4, found 3: 2025-05-02"
    file = project / ".workday_assets" / "data" / "ecb" / "weekly_summary" / "2025-04-28.parquet"
    table = pd.read_parquet(file)
    assert set(table["days"]) == {3}
