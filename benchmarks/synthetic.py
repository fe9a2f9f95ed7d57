"""An asset without data over N workdays in one run, and the floor: a COPY of the rows it wrote.

``history.py`` starts it in a new instance: ``python benchmarks/synthetic.py N [--each]``. It prints
JSON. With ``--each`` every workday is a run of its own, on any storage.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Mapping
from datetime import date, timedelta

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run_iterator

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition
from workday_assets.automation.requests import partition_tags
from workday_assets.storage.event_log import WorkdayEventLogStorage

NEWEST = date(2026, 11, 30)
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def workdays(count: int) -> WorkdayPartitionsDefinition:
    """So many workdays, every day of the week one, up to `NEWEST`."""
    first = NEWEST - timedelta(days=count - 1)
    calendar = WorkdayCalendar.build("EVERY", first, NEWEST, weekend=())
    return WorkdayPartitionsDefinition(calendar, "UTC")


def run(instance: dg.DagsterInstance, job: dg.JobDefinition, tags: Mapping[str, str]) -> None:
    """One run in this process, which must succeed."""
    created = instance.create_run_for_job(job, run_config=QUIET, tags=tags)
    for event in execute_run_iterator(InMemoryJob(job), created, instance):
        if event.is_failure:
            raise RuntimeError(event.message)


def copy(instance: dg.DagsterInstance) -> dict[str, float]:
    """How many events are stored, and seconds to COPY them into a table with the same indexes."""
    storage = instance.event_log_storage
    if not isinstance(storage, WorkdayEventLogStorage):
        raise TypeError("the floor is that of Postgres; run it in this project's instance")
    text = io.StringIO()
    with storage._engine.begin() as connection:
        cursor = connection.connection.cursor()
        cursor.copy_expert("COPY event_logs TO STDOUT", text)
        cursor.execute("CREATE TEMPORARY TABLE floor (LIKE event_logs INCLUDING ALL)")
        text.seek(0)
        started = time.perf_counter()
        cursor.copy_expert("COPY floor FROM STDIN", text)
        rows = cursor.rowcount
        seconds = time.perf_counter() - started
    return {"events": rows, "copy_seconds": seconds}


def main() -> None:
    """Run, copy, and tell."""
    days = workdays(int(sys.argv[1]))

    @dg.asset(partitions_def=days, backfill_policy=dg.BackfillPolicy.single_run())
    def nothing() -> None:
        """No data, so that what it costs is the bookkeeping."""

    defs = dg.Definitions(assets=[nothing], executor=dg.in_process_executor)
    job = defs.get_implicit_global_asset_job_def()
    keys = days.get_partition_keys()
    each = "--each" in sys.argv
    ranges = [(key, key) for key in keys] if each else [(keys[0], keys[-1])]
    with dg.DagsterInstance.get() as instance:
        started = time.perf_counter()
        for first, last in ranges:
            run(instance, job, partition_tags(first, last))
        found = {"seconds": time.perf_counter() - started}
        if not each:
            found |= copy(instance)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
