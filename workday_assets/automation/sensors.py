"""The sensor that requests every due workday, of time and of data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.automation.evaluate import Trigger

if TYPE_CHECKING:
    from workday_assets.automation.evaluate import Target
    from workday_assets.timetable import WorkdayTimetable

from workday_assets.planner import CatchupPolicy


def build_interval_sensor(
    name: str,
    assets: Target,
    timetable: WorkdayTimetable,
    *,
    policy: CatchupPolicy = CatchupPolicy.last(5),  # noqa: B008 - a frozen value
    source: str | None = None,
    retry_failed: int = 0,
    max_in_flight: int | None = None,
    ready_timeout: int | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    description: str | None = None,
) -> dg.SensorDefinition:
    """A sensor that requests each workday of `assets` once it is complete, published and missing.

    It keeps no cursor: what is due is computed from the calendar and from what the instance
    recorded, so that a daemon that was away asks for exactly what was missed. A tick that requests
    nothing says what it waits for.

    Args:
        name: the sensor's name.
        assets: what it requests, a selection or an asset job; all are partitioned by
            `WorkdayPartitionsDefinition`, the job need not be.
        timetable: intervals and run-after; same calendar and zone as the assets.
        policy: which missed days are made up, and in which order; by default the newest five.
            `CatchupPolicy.all(limit=n)` is a limit per tick.
        source: resource key of a `WorkdaySource` that the root assets read; `None` means that
            the data of a complete day are there.
        retry_failed: a failed day is asked for again while its attempts are at most this.
        max_in_flight: request no more while so many runs of these assets have not ended.
        ready_timeout: when a complete day is still not published after so many further workdays,
            one tick fails and says so; the days after it go on. `None` waits in silence.
        minimum_interval_seconds: time between ticks.
        default_status: running by default.
        description: by default made from the timetable.
    """
    trigger = Trigger(
        name, assets, timetable, policy, source, retry_failed, max_in_flight, ready_timeout
    )

    def evaluate(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        # The tick has no time of its own; Dagster's tests and daemons set this one.
        with partition_loading_context() as loading:
            yield from trigger.evaluate(context, loading.effective_dt)

    return dg.SensorDefinition(
        name=name,
        evaluation_fn=evaluate,
        target=trigger.target,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=description or trigger.description,
        required_resource_keys=trigger.resource_keys,
    )
