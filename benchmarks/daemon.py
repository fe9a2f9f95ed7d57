"""The whole graph over the whole history, launched in the web server and run by the daemon.

`measure` starts `dagster dev` on a new instance, stops its sensors, launches one backfill of all
assets as the UI does, waits for its end, and asks for each asset's partitions page twice.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from instances import REPOSITORY
from report import Row

sys.path.insert(0, str(REPOSITORY / "tests"))

from support.dev import Dev

LAST = "2026-10-30"
NODES = "{ assetNodes { assetKey { path } isPartitioned isMaterializable } }"
SENSORS = """{ sensorsOrError(repositorySelector: {
    repositoryLocationName: "workday_assets.definitions", repositoryName: "__repository__"}) {
  ... on Sensors { results { id name sensorState { status } } } } }"""
KEYS = """{ assetNodes(assetKeys: [{path: ["ecb", "reference_rates"]}]) { partitionKeys } }"""
PAGE = """{ assetNodes(assetKeys: [KEY]) {
  partitionKeysByDimension { partitionKeys }
  assetPartitionStatuses { ... on TimePartitionStatuses { ranges { status startKey endKey } } }
  partitionStats { numMaterialized numPartitions numFailed } } }"""


@contextmanager
def dev() -> Iterator[Dev]:
    """`dagster dev` on a new instance of the project, with no sensor running."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the embedded server of a user root is another user
        for file in ("dagster.yaml", "workspace.yaml"):
            shutil.copy(REPOSITORY / file, folder)
        started = Dev(folder)
        try:
            while not (sensors := _sensors(started)):
                time.sleep(1)
            for sensor in sensors:
                started.query(f'mutation {{ stopSensor(id: "{sensor["id"]}") {{ __typename }} }}')
            yield started
            started.interrupt()
        finally:
            started.kill()


def _sensors(started: Dev) -> list[dict[str, Any]]:
    data = started.query(SENSORS)
    found: list[dict[str, Any]] = data["sensorsOrError"].get("results", []) if data else []
    return found


def ask(started: Dev, query: str) -> dict[str, Any]:
    """The answer of the web server, which is asked until it gives one."""
    while (data := started.query(query)) is None:
        time.sleep(1)
    return data


def launch(started: Dev) -> tuple[str, float]:
    """The id of a backfill of every partitioned asset up to `LAST`, and when it was asked for."""
    nodes, keys = ask(started, NODES), ask(started, KEYS)
    paths = [
        node["assetKey"]["path"]
        for node in nodes["assetNodes"]
        if node["isPartitioned"] and node["isMaterializable"]
    ]
    days = [key for key in keys["assetNodes"][0]["partitionKeys"] if key <= LAST]
    selection = ", ".join(f"{{path: {json.dumps(path)}}}" for path in paths)
    asked = time.time()
    data = ask(
        started,
        f"mutation {{ launchPartitionBackfill(backfillParams: {{assetSelection: [{selection}],"
        f" partitionNames: {json.dumps(days)}}}) {{ ... on LaunchBackfillSuccess {{ backfillId }}"
        " ... on PythonError { message } } }",
    )
    return data["launchPartitionBackfill"]["backfillId"], asked


def wait(started: Dev, backfill: str) -> dict[str, Any]:
    """The ended backfill with its runs."""
    query = f"""{{ partitionBackfillOrError(backfillId: "{backfill}") {{ ... on PartitionBackfill {{
        status error {{ message }} }} }}
      runsOrError(filter: {{tags: [{{key: "dagster/backfill", value: "{backfill}"}}]}}) {{
        ... on Runs {{ results {{ status startTime endTime }} }} }} }}"""
    while True:
        data = ask(started, query)
        if data["partitionBackfillOrError"]["status"] not in ("REQUESTED", "CANCELING", "FAILING"):
            return data
        time.sleep(1)


def pages(started: Dev) -> Iterator[Row]:
    """For each partitioned asset the materialized partitions, and what its page takes, twice."""
    for node in ask(started, NODES)["assetNodes"]:
        if not node["isPartitioned"]:
            continue
        path = node["assetKey"]["path"]
        query = PAGE.replace("KEY", f"{{path: {json.dumps(path)}}}")
        for nth in ("first", "second"):
            asked = time.perf_counter()
            data = ask(started, query)
            took = time.perf_counter() - asked
            made = data["assetNodes"][0]["partitionStats"]["numMaterialized"]
            what = f"{nth} page of {'/'.join(path)}"
            yield {"what": what, "partitions": made, "seconds": took}


def measure() -> list[Row]:
    """A row for the backfill, then one per asset's partitions page."""
    with dev() as started:
        backfill, asked = launch(started)
        data = wait(started, backfill)
        ended = time.time() - asked
        shown = list(pages(started))
    runs = data["runsOrError"]["results"]
    status = data["partitionBackfillOrError"]["status"]
    last = max(run["endTime"] for run in runs) - asked
    made = sum(row["partitions"] for row in shown) // 2  # each page is asked for twice
    whole = [
        {"what": f"last event of {len(runs)} runs", "partitions": made, "seconds": last},
        {"what": f"backfill {status}", "partitions": made, "seconds": ended},
    ]
    return [*whole, *shown]
