"""Business-day data pipelines on Dagster, right to the day.

Names of the Dagster layer are imported on first use, so that the calendars and the planner stay
cheap and free of Dagster and pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workday_assets.calendars import WorkdayCalendar
from workday_assets.planner import CatchupPolicy, plan_intervals
from workday_assets.timetable import DataInterval, TimeRestriction, WorkdayTimetable

if TYPE_CHECKING:
    from workday_assets.automation.alerts import build_alert_sensor
    from workday_assets.automation.freshness import (
        build_workday_freshness_checks,
        build_workday_freshness_sensor,
    )
    from workday_assets.automation.schedules import build_workday_schedule
    from workday_assets.automation.sensors import (
        build_interval_sensor,
        build_period_close_sensor,
    )
    from workday_assets.mappings import (
        previous_workday,
        rollup,
        same_workday,
        trailing_workdays,
    )
    from workday_assets.partitions import WorkdayPartitionsDefinition

__all__ = [
    "CatchupPolicy",
    "DataInterval",
    "TimeRestriction",
    "WorkdayCalendar",
    "WorkdayPartitionsDefinition",
    "WorkdayTimetable",
    "build_alert_sensor",
    "build_interval_sensor",
    "build_period_close_sensor",
    "build_workday_freshness_checks",
    "build_workday_freshness_sensor",
    "build_workday_schedule",
    "plan_intervals",
    "previous_workday",
    "rollup",
    "same_workday",
    "trailing_workdays",
]

_LAZY = {
    "WorkdayPartitionsDefinition": "workday_assets.partitions",
    "build_alert_sensor": "workday_assets.automation.alerts",
    "build_interval_sensor": "workday_assets.automation.sensors",
    "build_period_close_sensor": "workday_assets.automation.sensors",
    "build_workday_freshness_checks": "workday_assets.automation.freshness",
    "build_workday_freshness_sensor": "workday_assets.automation.freshness",
    "build_workday_schedule": "workday_assets.automation.schedules",
    "previous_workday": "workday_assets.mappings",
    "rollup": "workday_assets.mappings",
    "same_workday": "workday_assets.mappings",
    "trailing_workdays": "workday_assets.mappings",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
