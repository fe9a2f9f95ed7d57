"""Calendars of workdays: pure values, read from frozen files."""

from __future__ import annotations

from workday_assets.calendars.calendar import WorkdayCalendar

__all__ = ["WorkdayCalendar"]
