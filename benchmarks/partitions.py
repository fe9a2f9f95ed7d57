"""The partitions definition over its whole history, against the base class with the same days.

Run it from the project's folder: ``python benchmarks/partitions.py [--json FILE]``. The targets are
for ours; the exit code is 1 where one is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.partitions.snap import TimeWindowPartitionsSnap
from report import Row, show, write
from rich.console import Console

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition, previous_workday

DAY = "2015-03-03"
#: Micro- and milliseconds, for a definition whose days have been looked at once.
US, MS = 1e-6, 1e-3


def seconds(question: Callable[[], Any], times: int) -> float:
    """The best of three measurements of the mean over so many calls."""
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(times):
            question()
        best = min(best, (time.perf_counter() - started) / times)
    return best


def fresh(keys: Sequence[str]) -> Callable[[], Sequence[str]]:
    """Every other key, each time another set, since the base class remembers five answers."""
    dropped = iter(range(len(keys)))

    def some() -> Sequence[str]:
        index = next(dropped)
        return [key for n, key in enumerate(keys[::2]) if n != index]

    return some


def days() -> Callable[[], str]:
    """Each time another key, for the same reason."""
    found = iter(WorkdayCalendar.named("XECB").workdays("2001-01-01", "2026-01-01"))
    return lambda: str(next(found))


def measure(ours: dg.TimeWindowPartitionsDefinition, times: int) -> dict[str, float]:
    """Seconds by question."""
    keys = ours.get_partition_keys()
    some, day, mapping = fresh(keys), days(), previous_workday()
    subset = ours.subset_with_partition_keys(keys[::2])
    count = max(times // 200, 1)
    return {
        "all keys": seconds(ours.get_partition_keys, count),
        "has_partition_key": seconds(lambda: ours.has_partition_key(DAY), times),
        "window of a key": seconds(lambda: ours.time_window_for_partition_key(day()), times),
        "subset of every other key": seconds(
            lambda: ours.subset_with_partition_keys(some()), count
        ),
        "its keys": seconds(lambda: list(subset.get_partition_keys()), count),
        "its t-1 mapping": seconds(
            lambda: mapping.get_upstream_mapped_partitions_result_for_partitions(
                subset, ours, ours
            ),
            count,
        ),
        "hash": seconds(lambda: hash(ours), times),
    }


TARGETS = {
    "all keys": 2 * MS,
    "has_partition_key": 5 * US,
    "window of a key": 10 * US,
    "subset of every other key": 50 * MS,
    "its keys": 50 * MS,
    "its t-1 mapping": 50 * MS,
    "hash": 1 * US,
}


def main() -> int:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    calendar = WorkdayCalendar.named("XECB")
    ours = WorkdayPartitionsDefinition(calendar, "Europe/Berlin", start="1999-01-04")
    base = TimeWindowPartitionsSnap.from_def(ours).get_partitions_definition()
    found, theirs = measure(ours, 1000), measure(base, 10)
    rows: list[Row] = [
        {
            "question": question,
            "ours, us": took / US,
            "base, us": theirs[question] / US,
            "x": theirs[question] / took,
            "target, us": TARGETS[question] / US,
            "met": "yes" if took < TARGETS[question] else "no",
        }
        for question, took in found.items()
    ]
    title = f"{len(ours.get_partition_keys()):,} workdays of {calendar.name}"
    show(Console(), title, rows)
    if arguments.json:
        write(arguments.json, {title: rows})
    return int(any(row["met"] == "no" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
