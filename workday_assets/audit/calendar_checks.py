"""Asset checks that tell people before a calendar's knowledge ends."""

from collections.abc import Iterable
from datetime import UTC

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets.calendars import WorkdayCalendar
from workday_assets.errors import InvalidInputError

CHECK_NAME = "horizon"


def build_calendar_checks(
    calendars: Iterable[WorkdayCalendar], *, warn_days: int = 90, fail_days: int = 14
) -> list[dg.AssetChecksDefinition]:
    """A check `horizon` on each asset `calendar/<name>`: how long the calendar still vouches.

    After its last date a calendar has no partitions, so that nothing runs and nothing is late. The
    check needs a schedule of its own, since nothing materializes a calendar::

        dg.ScheduleDefinition(
            name="calendar_horizons", cron_schedule="0 6 * * *",
            target=dg.AssetSelection.checks(*checks),
        )

    Args:
        calendars: those of which `calendar_asset` made an asset.
        warn_days: with so many days left, or fewer, it fails as a warning.
        fail_days: with so many days left, or fewer, it fails as an error.

    Raises:
        InvalidInputError: there would be no warning before the error.
    """
    if not 0 <= fail_days < warn_days:
        raise InvalidInputError(
            f"warn_days={warn_days} must be more than fail_days={fail_days}, and that 0 or more, so"
            " that people are warned first."
        )
    return [_check(calendar, warn_days, fail_days) for calendar in calendars]


def _check(calendar: WorkdayCalendar, warn_days: int, fail_days: int) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=dg.AssetKey(["calendar", calendar.name]),
        name=CHECK_NAME,
        description=f"Warns {warn_days} days before the end of {calendar.name}, and fails"
        f" {fail_days} days before it.",
    )
    def horizon() -> dg.AssetCheckResult:
        with partition_loading_context() as loading:
            today = loading.effective_dt.astimezone(UTC).date()
        left = (calendar.last_date - today).days
        severe = left <= fail_days
        return dg.AssetCheckResult(
            passed=left > warn_days,
            severity=dg.AssetCheckSeverity.ERROR if severe else dg.AssetCheckSeverity.WARN,
            description=_sentence(calendar, left),
            metadata={"workday/last_date": str(calendar.last_date), "workday/days_left": left},
        )

    return horizon


def _sentence(calendar: WorkdayCalendar, left: int) -> str:
    name, last = calendar.name, calendar.last_date
    cure = f"freeze one that reaches further (workday-assets freeze {name} --last ...)"
    if left < 0:
        return f"Calendar {name} ended {last}: nothing runs after it; {cure}."
    return f"Calendar {name} vouches for {left} more days, to {last}; before that, {cure}."
