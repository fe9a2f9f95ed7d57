"""What a tick costs in the current instance: ``python benchmarks/ticks.py``. It prints JSON.

``history.py`` starts it in an instance that holds the whole history of all assets.
"""

from __future__ import annotations

import json
import time
import warnings
from datetime import UTC, datetime

import dagster as dg


def main() -> None:
    """Load the definitions, then evaluate each trigger twice."""
    warnings.simplefilter("ignore")
    rows = []
    started = time.perf_counter()
    from workday_assets.definitions import defs

    repository = defs.get_repository_def()
    rows.append({"what": "load the definitions", "seconds": time.perf_counter() - started})
    with dg.DagsterInstance.get() as instance:
        for nth in ("first", "second"):
            for sensor in repository.sensor_defs:
                if sensor.default_status != dg.DefaultSensorStatus.RUNNING:
                    continue
                context = dg.build_sensor_context(
                    instance, repository_def=repository, resources=dict(defs.resources or {})
                )
                started = time.perf_counter()
                ticked = sensor.evaluate_tick(context)
                took = time.perf_counter() - started
                rows.append({"what": f"{nth} tick of {sensor.name}", "seconds": took})
                if ticked.run_requests:
                    raise RuntimeError(f"{sensor.name} asks for runs: not all is materialized")
            for schedule in repository.schedule_defs:
                schedule_context = dg.build_schedule_context(
                    instance,
                    scheduled_execution_time=datetime.now(UTC),
                    repository_def=repository,
                    resources=dict(defs.resources or {}),
                )
                started = time.perf_counter()
                schedule.evaluate_tick(schedule_context)
                took = time.perf_counter() - started
                rows.append({"what": f"{nth} tick of {schedule.name}", "seconds": took})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
