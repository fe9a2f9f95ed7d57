"""What runs the ECB's assets by itself: sensors are the default triggers, the schedule rests."""

from __future__ import annotations

from datetime import time

import dagster as dg

from workday_assets.alerts.sinks import webhook
from workday_assets.audit.calendar_checks import build_calendar_checks
from workday_assets.automation.alerts import build_alert_sensor
from workday_assets.automation.freshness import (
    build_workday_freshness_checks,
    build_workday_freshness_sensor,
)
from workday_assets.automation.schedules import build_workday_schedule
from workday_assets.automation.sensors import build_interval_sensor, build_period_close_sensor
from workday_assets.ecb import assets, periods
from workday_assets.ecb.assets import CALENDAR, DOLLAR_CALENDAR, TIMETABLE, TIMEZONE
from workday_assets.planner import CatchupPolicy
from workday_assets.timetable import WorkdayTimetable

#: Every asset with a partition per workday.
WORKDAY_ASSETS = dg.AssetSelection.assets(*assets.WORKDAY_ASSETS)
#: Those with a partition per week or month.
PERIOD_ASSETS = dg.AssetSelection.assets(*periods.PERIOD_ASSETS)
POLICY = CatchupPolicy.last(5)
#: Resource key of the source of the root assets.
SOURCE_KEY = "ecb_rates"
#: A day that failed, or whose worker was killed, is tried again so often without being asked.
RETRY_FAILED = 2

interval_sensor = build_interval_sensor(
    "ecb_workdays",
    WORKDAY_ASSETS,
    TIMETABLE,
    policy=POLICY,
    source=SOURCE_KEY,
    retry_failed=RETRY_FAILED,
)
period_sensor = build_period_close_sensor(
    "ecb_period_closes",
    PERIOD_ASSETS,
    TIMETABLE,
    source=SOURCE_KEY,
    retry_failed=RETRY_FAILED,
)
morning_schedule = build_workday_schedule(
    "ecb_workdays_at_0800",
    WORKDAY_ASSETS,
    WorkdayTimetable(CALENDAR, TIMEZONE, time(8)),
    policy=POLICY,
    source=SOURCE_KEY,
    retry_failed=RETRY_FAILED,
)

# The rates of a day are published on its afternoon. One asset: of a run over a range Dagster writes
# a row per partition for each check of its assets, and what is late here is late downstream.
freshness_checks = build_workday_freshness_checks(
    [assets.reference_rates], deadline=time(9), source=SOURCE_KEY
)
freshness_sensor = build_workday_freshness_sensor("ecb_freshness", freshness_checks)
# Rests until it is switched on, with the address in the variable.
alert_sensor = build_alert_sensor(
    webhook(dg.EnvVar("WORKDAY_ASSETS_ALERT_WEBHOOK")),
    name="ecb_alerts",
    freshness=freshness_checks,
    calendars=[CALENDAR, DOLLAR_CALENDAR],
    sources=[SOURCE_KEY],
    retry_failed=RETRY_FAILED,
    default_status=dg.DefaultSensorStatus.STOPPED,
)
calendar_checks = build_calendar_checks([CALENDAR, DOLLAR_CALENDAR])
calendar_schedule = dg.ScheduleDefinition(
    name="calendar_horizons",
    cron_schedule="0 6 * * *",
    execution_timezone=TIMEZONE,
    target=dg.AssetSelection.checks(*calendar_checks),
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
