"""The schedule that requests every due workday at a fixed local time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from workday_assets.automation.evaluate import Trigger
from workday_assets.errors import InvalidInputError
from workday_assets.planner import CatchupPolicy

if TYPE_CHECKING:
    from workday_assets.automation.evaluate import Target
    from workday_assets.timetable import WorkdayTimetable


def build_workday_schedule(
    name: str,
    assets: Target,
    timetable: WorkdayTimetable,
    *,
    policy: CatchupPolicy = CatchupPolicy.last(5),  # noqa: B008 - a frozen value
    source: str | None = None,
    retry_failed: int = 0,
    default_status: dg.DefaultScheduleStatus = dg.DefaultScheduleStatus.STOPPED,
    description: str | None = None,
) -> dg.ScheduleDefinition:
    """A schedule that ticks daily at the timetable's `run_at` and requests every due workday.

    Each tick asks for all that `policy` keeps and the instance lacks, not for the newest day only;
    a tick with nothing due skips and names the reason. The arguments are those of
    `build_interval_sensor`.

    Raises:
        InvalidInputError: `run_at` has seconds, which a cron schedule cannot express.
    """
    at = timetable.run_at
    if at.second or at.microsecond:
        raise InvalidInputError(
            f"run_at={at} has seconds, which no cron schedule can express; give whole minutes."
        )
    trigger = Trigger(name, assets, timetable, policy, source, retry_failed)

    def evaluate(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        yield from trigger.evaluate(context, context.scheduled_execution_time)

    return dg.ScheduleDefinition(
        name=name,
        cron_schedule=f"{at.minute} {at.hour} * * *",
        execution_timezone=timetable.timezone,
        execution_fn=evaluate,
        target=trigger.target,
        default_status=default_status,
        description=description or trigger.description,
        required_resource_keys=trigger.resource_keys,
    )
