"""The sensors that request what is due: workdays, and the periods that they make up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.automation.evaluate import PeriodTrigger, Trigger

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
    return _sensor(trigger, minimum_interval_seconds, default_status, description)


def build_period_close_sensor(
    name: str,
    assets: Target,
    timetable: WorkdayTimetable,
    *,
    policy: CatchupPolicy = CatchupPolicy.last(2),  # noqa: B008 - a frozen value
    source: str | None = None,
    retry_failed: int = 0,
    max_in_flight: int | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    description: str | None = None,
) -> dg.SensorDefinition:
    """A sensor that requests each week, month, quarter or year of `assets` as it closes.

    That is when its last workday is complete, by the timetable's run-after, and every upstream
    workday is materialized: January 2026 closes when Friday the 30th is over, and not on 1
    February. A period without a workday is never requested. When a workday is made again, its
    periods are, of any age, once. Like `build_interval_sensor`, it keeps no cursor.

    Args:
        name: the sensor's name.
        assets: what it requests; each is partitioned by one of Dagster's time windows of whole
            dates, in the timetable's zone, with ``end_offset=1`` so that the open period has a
            partition, and made from workday assets by `rollup`. Their periods may differ.
        timetable: the workdays and run-after; same calendar and zone as the workday assets.
        policy: which missed periods are made up, counted in periods of each asset; by default the
            newest two, which are those that the newest five workdays can belong to.
        source: resource key of the `WorkdaySource` that the workday assets read; where it is an
            archive, periods that its `last_date` leaves unfinished are not planned.
        retry_failed: a failed period is asked for again while its attempts are at most this.
        max_in_flight: request no more while so many runs of these assets have not ended.
        minimum_interval_seconds: time between ticks.
        default_status: running by default.
        description: by default made from the timetable.
    """
    trigger = PeriodTrigger(name, assets, timetable, policy, source, retry_failed, max_in_flight)
    return _sensor(trigger, minimum_interval_seconds, default_status, description)


def _sensor(
    trigger: Trigger,
    minimum_interval_seconds: int,
    default_status: dg.DefaultSensorStatus,
    description: str | None,
) -> dg.SensorDefinition:
    def evaluate(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        # The tick has no time of its own; Dagster's tests and daemons set this one.
        with partition_loading_context() as loading:
            yield from trigger.evaluate(context, loading.effective_dt)

    # A target that is a selection becomes a job, and all assets of a job have the same partitions.
    mixed = isinstance(trigger, PeriodTrigger) and isinstance(trigger.target, dg.AssetSelection)
    return dg.SensorDefinition(
        name=trigger.name,
        evaluation_fn=evaluate,
        target=None if mixed else trigger.target,
        asset_selection=trigger.selection if mixed else None,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=description or trigger.description,
        required_resource_keys=trigger.resource_keys,
    )
