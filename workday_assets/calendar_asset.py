"""A calendar as an asset, so that lineage begins with the days on which anything may run."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from workday_assets.calendars import WorkdayCalendar
from workday_assets.calendars.year import CalendarYear

_HEADER = ["| year | workdays | closed, and other than usual |", "|---|---|---|"]


def calendar_asset(calendar: WorkdayCalendar) -> dg.AssetSpec:
    """An asset `calendar/<name>` that nothing computes: the calendar is frozen in its file.

    Its metadata have the bounds, the provenance, the fingerprint of the days, and a view of the
    years with every holiday, closure, extra workday and half day.

    Args:
        calendar: any calendar; assets that follow it name the result in their ``deps``.
    """
    years = range(calendar.first_date.year, calendar.last_date.year + 1)
    rows = [_row(CalendarYear.of(calendar, year)) for year in years]
    return dg.AssetSpec(
        dg.AssetKey(["calendar", calendar.name]),
        group_name="calendars",
        kinds={"calendar"},
        description=f"The workdays of {calendar.name} from {calendar.first_date} to"
        f" {calendar.last_date}, both included. {calendar.provenance}",
        metadata={
            "workday/first_date": str(calendar.first_date),
            "workday/last_date": str(calendar.last_date),
            "workday/fingerprint": calendar.fingerprint,
            "workday/years": dg.MetadataValue.md("\n".join([*_HEADER, *rows])),
        },
    )


def _row(year: CalendarYear) -> str:
    known = "" if year.complete else " known"
    return f"| {year.year} | {year.workdays}{known} | {'; '.join(_remarks(year))} |"


def _remarks(year: CalendarYear) -> Iterator[str]:
    for day in year.days:
        what = f"{day.day:%a} {day.day.day} {day.day:%b}"
        if day.state in ("holiday", "closure"):
            yield f"{what} {day.reason}"
        elif day.state == "extra workday":
            yield f"{what} open, {day.reason}"
        if day.closes is not None:
            yield f"{what} closes {day.closes:%H:%M}"
