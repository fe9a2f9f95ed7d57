"""The whole history: what backfills, ticks and pages cost, here and on Dagster's own storages.

Run it from the project's folder on an idle machine: ``python benchmarks/history.py [--full]
[--json FILE]``. Without ``--full`` Dagster's own storages are left out where they would take more
than some minutes, and the longest synthetic run too. Every figure is of a new instance.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import daemon
from instances import COMMAND, KINDS, REPOSITORY, instance
from report import Row, show, write
from rich.console import Console

LAST = "2026-10-30"
#: First day of a range of so many workdays that ends on the last one of the bundled history.
FIRST = {250: "2025-11-07", 2_500: "2017-01-24", 7_126: "1999-01-04"}
#: The most partitions for which Dagster's own storages, at 25 to 50 ms each, are waited for.
PATIENCE = 2_500
HERE = Path(__file__).parent


def command(words: list[str], environment: Mapping[str, str]) -> tuple[str, float, float]:
    """What a command prints, its seconds, and its peak memory in MB."""
    started = time.perf_counter()
    with subprocess.Popen(
        words,
        cwd=REPOSITORY,
        env={**os.environ, **environment, "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        printed = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words, printed)
    return printed, time.perf_counter() - started, usage.ru_maxrss / 1024


def backfill(environment: Mapping[str, str], kind: str, days: int, *assets: str) -> Row:
    """One `workday-assets backfill`, start-up and all; no `assets` means all of them."""
    words = [COMMAND, "backfill", "--from", FIRST[days], "--to", LAST, "--json"]
    for name in assets:
        words += ["--asset", name]
    printed, seconds, peak = command(words, environment)
    rows = json.loads(printed)["assets"]
    made = sum(row["materialized"] for row in rows)
    return {
        "assets": len(rows),
        "days": days,
        "instance": kind,
        "partitions": made,
        "seconds": seconds,
        "ms each": 1000 * seconds / made,
        "peak MB": peak,
    }


def backfills(*, full: bool) -> list[Row]:
    """One asset, then the whole graph, over ever more days, on every kind of instance."""
    rows = []
    for assets in (["ecb/reference_rates"], []):
        for days in FIRST:
            for kind in KINDS:
                if full or kind == "ours" or days * (1 if assets else 7) <= PATIENCE:
                    with instance(kind) as environment:
                        rows.append(backfill(environment, kind, days, *assets))
    ours = {(row["assets"], row["days"]): row for row in rows if row["instance"] == "ours"}
    for row in rows:
        row["x ours"] = row["ms each"] / ours[row["assets"], row["days"]]["ms each"]
    return rows


def synthetic(kind: str, count: int, *more: str) -> Row:
    """The figures of `synthetic.py` in a new instance."""
    with instance(kind) as environment:
        words = [sys.executable, str(HERE / "synthetic.py"), str(count), *more]
        printed, _, peak = command(words, environment)
    found = json.loads(printed)
    row = {"instance": kind, "partitions": count, "seconds": found["seconds"]}
    row["ms each"] = 1000 * found["seconds"] / count
    if "copy_seconds" in found:
        row["us per event"] = 1e6 * found["seconds"] / found["events"]
        row["us per COPY"] = 1e6 * found["copy_seconds"] / found["events"]
        row["x COPY"] = row["us per event"] / row["us per COPY"]
    return row | {"peak MB": peak}


def ticks() -> list[Row]:
    """The ticks in an instance that holds the whole history of all assets."""
    with instance("ours") as environment:
        backfill(environment, "ours", 7_126)
        printed, _, _ = command([sys.executable, str(HERE / "ticks.py")], environment)
    found: list[Row] = json.loads(printed)
    return found


def main() -> None:
    """Print each table as soon as it is there, and write all as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    counts = [1_000, 10_000, *([100_000] if arguments.full else [])]
    console = Console()
    sections = {}
    for title, measure in {
        "backfills by command, in process": lambda: backfills(full=arguments.full),
        "a run per partition": lambda: [synthetic(kind, 250, "--each") for kind in KINDS],
        "one run of one asset without data": lambda: [synthetic("ours", n) for n in counts],
        "ticks after the whole history": ticks,
        "the whole graph through the daemon": daemon.measure,
    }.items():
        with console.status(title):
            sections[title] = measure()
        show(console, title, sections[title])
        if arguments.json:
            write(arguments.json, sections)


if __name__ == "__main__":
    main()
