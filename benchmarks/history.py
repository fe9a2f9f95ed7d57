"""Backfills of the whole history: this project's event storage against Dagster's own.

Run it from the project's folder on an idle machine: ``python benchmarks/history.py [--full]
[--json FILE]``. Every figure is a whole command or a whole backfill on a new instance, start-up and
all. Without ``--full`` Dagster's own storages are left out where they would take many minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from instances import COMMAND, KINDS, REPOSITORY, instance
from rich.console import Console
from rich.table import Table

LAST = "2026-10-30"
#: First day of a range of so many workdays that ends on the last one of the bundled history.
FIRST = {250: "2025-11-07", 2_500: "2017-01-24", 7_126: "1999-01-04"}
#: Dagster's own storages need about 0.05 to 0.1 s a partition: by default no more than so many.
PATIENCE = 2_500


@dataclass(frozen=True)
class Row:
    """One measurement: seconds of a whole command, and its peak memory."""

    assets: int
    days: int
    kind: str
    partitions: int
    seconds: float
    peak_megabytes: float


def backfill(kind: str, days: int, assets: tuple[str, ...]) -> Row:
    """One `workday-assets backfill` in a new instance; no `assets` means all of them."""
    words = [COMMAND, "backfill", "--from", FIRST[days], "--to", LAST, "--json"]
    for name in assets:
        words += ["--asset", name]
    with instance(kind) as environment:
        started = time.perf_counter()
        done = subprocess.run(
            words,
            cwd=REPOSITORY,
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - started
    made = json.loads(done.stdout)["assets"]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    partitions = sum(row["materialized"] for row in made)
    return Row(len(made), days, kind, partitions, seconds, peak)


def measure(console: Console, *, full: bool) -> list[Row]:
    """One asset, then the whole graph, over ever more days, on every kind of instance."""
    rows = []
    for assets in (("ecb/reference_rates",), ()):
        for days in FIRST:
            for kind in KINDS:
                patient = full or kind == "ours" or days * (1 if assets else 7) <= PATIENCE
                if not patient:
                    continue
                with console.status(f"{kind}, {days} days, {assets or 'all assets'}"):
                    rows.append(backfill(kind, days, assets))
    return rows


def table(rows: list[Row]) -> Table:
    """The measurements; the ratio is against ours over the same partitions."""
    ours = {(row.assets, row.days): row.seconds for row in rows if row.kind == "ours"}
    shown = Table("assets", "days", "instance", "partitions", "seconds", "ms each", "x ours")
    for row in rows:
        shown.add_row(
            str(row.assets),
            str(row.days),
            row.kind,
            str(row.partitions),
            f"{row.seconds:.1f}",
            f"{1000 * row.seconds / row.partitions:.1f}",
            f"{row.seconds / ours[row.assets, row.days]:.1f}",
        )
    return shown


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    console = Console()
    rows = measure(console, full=arguments.full)
    console.print(table(rows))
    console.print(f"peak memory of a command: {max(row.peak_megabytes for row in rows):.0f} MB")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), "utf-8")


if __name__ == "__main__":
    main()
