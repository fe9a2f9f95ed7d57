"""What the pipeline costs a user: imports, loading, and backfills in one run, as ratios.

Run it from the project's folder: ``python benchmarks/pipeline.py [--json FILE]``. Every backfill
gets a fresh state root, Postgres included; its figure is the whole command, start-up and all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
COMMAND = str(Path(sys.executable).with_name("workday-assets"))


def seconds(words: list[str], **environment: str) -> float:
    """The wall time of one command."""
    started = time.perf_counter()
    subprocess.run(
        words,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - started


def python(code: str) -> float:
    """The best of five starts of Python with that code."""
    return min(seconds([sys.executable, "-c", code]) for _ in range(5))


def backfill(first: str, last: str, batch: str) -> float:
    """A backfill of `ecb/reference_rates` in one run, events in batches of `batch`; 0 is singly."""
    words = [COMMAND, "backfill", "--from", first, "--to", last, "--asset", "ecb/reference_rates"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = str(Path(folder) / "state")
        return seconds(words, WORKDAY_ASSETS_HOME=root, DAGSTER_EVENT_BATCH_SIZE=batch)


def measure() -> list[tuple[str, float, float]]:
    """Rows of (what, seconds, seconds of what it is compared with)."""
    bare = python("pass")
    rows = [
        ("import the planner, against bare Python", python("import workday_assets"), bare),
        (
            "load the definitions, against import dagster",
            python("import workday_assets.definitions as d; d.defs.get_repository_def()"),
            python("import dagster"),
        ),
        (
            "backfill of 250 workdays, events in bulk against singly",
            backfill("2025-11-10", "2026-10-30", "1000"),
            backfill("2025-11-10", "2026-10-30", "0"),
        ),
    ]
    full = backfill("1999-01-04", "2026-10-30", "1000")
    rows.append(("backfill of all 7,126 workdays, against 250", full, rows[-1][1]))
    return rows


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = measure()
    for what, took, other in rows:
        print(f"{what:58} {took:8.2f} s {other:8.2f} s  x {took / other:.2f}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory of a command: {peak:.0f} MB")
    if arguments.json:
        data = {"rows": rows, "peak_megabytes": peak}
        arguments.json.write_text(json.dumps(data, indent=2), "utf-8")


if __name__ == "__main__":
    main()
