"""A process that executes one run and waits in its step, to be killed by a test."""

import sys
import time
from pathlib import Path

import dagster as dg

from workday_assets.storage.state import find_instance

started = Path(sys.argv[1])


@dg.op
def wait_to_be_killed() -> None:
    """Says that it runs, then never ends."""
    started.touch()
    while True:
        time.sleep(1)


@dg.job(executor_def=dg.in_process_executor)
def doomed() -> None:
    """One step that is killed."""
    wait_to_be_killed()


with find_instance().open() as instance:
    doomed.execute_in_process(instance=instance)
