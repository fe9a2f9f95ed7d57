"""The whole graph over the whole history, launched in the web server and run by the daemon.

Run it from the project's folder on an idle machine: ``python benchmarks/daemon.py [--json FILE]``.
It starts `dagster dev` on a new instance, stops its sensors, launches one backfill of all assets
as the UI does, waits for its end, and asks for each asset's partitions page twice.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from support.dev import Dev  # noqa: E402 - found in the folder that was just named

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


def pages(started: Dev) -> Iterator[tuple[str, int, float, float]]:
    """For each partitioned asset: materialized partitions, seconds of the first and second page."""
    nodes = ask(started, NODES)
    for node in nodes["assetNodes"]:
        if node["isPartitioned"]:
            path = node["assetKey"]["path"]
            query = PAGE.replace("KEY", f"{{path: {json.dumps(path)}}}")
            times = []
            for _ in range(2):
                asked = time.perf_counter()
                data = ask(started, query)
                times.append(time.perf_counter() - asked)
            made = data["assetNodes"][0]["partitionStats"]["numMaterialized"]
            yield "/".join(path), made, times[0], times[1]


def main() -> None:
    """Print the figures, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    console = Console()
    with dev() as started, console.status("backfill"):
        backfill, asked = launch(started)
        data = wait(started, backfill)
        ended = time.time() - asked
        shown = Table("asset", "materialized", "first page, s", "second page, s")
        rows = list(pages(started))
    runs = data["runsOrError"]["results"]
    last = max(run["endTime"] for run in runs) - asked
    for name, made, first, second in rows:
        shown.add_row(name, str(made), f"{first:.2f}", f"{second:.2f}")
    console.print(shown)
    total = sum(made for _, made, _, _ in rows)
    console.print(
        f"{total} partitions in {len(runs)} runs: last event after {last:.0f} s, backfill"
        f" {data['partitionBackfillOrError']['status']} after {ended:.0f} s"
    )
    if arguments.json:
        figures = {"partitions": total, "last_event": last, "ended": ended, "pages": rows}
        arguments.json.write_text(json.dumps(figures, indent=2), "utf-8")


if __name__ == "__main__":
    main()
