"""`workday-assets calendar`: a year of a calendar, as text, as a page or as data."""

from __future__ import annotations

import json
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from workday_assets.calendars import WorkdayCalendar
from workday_assets.calendars.year import CalendarYear, YearDay
from workday_assets.cli.options import json_option


@click.command()
@click.argument("name")
@click.argument("year", type=click.IntRange(1583, 9000))
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the year to FILE as one self-contained page.",
)
@json_option
def calendar(name: str, year: int, page: Path | None, *, as_json: bool) -> None:
    """Show YEAR of calendar NAME: closed days and why, half days, workdays per month.

    NAME is a calendar of the catalog (XECB, US, XNYS, ...) or a code of the holidays library.
    """
    shown = CalendarYear.of(_load(name, year), year)
    if page is not None:
        _write(page, shown)
    if as_json:
        click.echo(json.dumps(to_data(shown), indent=2))
    elif page is None:
        from workday_assets.cli.year_text import render

        console = Console(highlight=False)
        console.print(render(shown, console.width))
    else:
        click.echo(f"Wrote {name} {year} to {page}")


def to_data(year: CalendarYear) -> dict[str, Any]:
    """The year as plain JSON values.

    ``days`` holds the state of every date inside the calendar's bounds. A month's ``workdays`` is
    null where the bounds leave it out; ``complete`` is false where they leave out a part.
    """
    source = year.calendar
    return {
        "calendar": source.name,
        "year": year.year,
        "first_date": str(source.first_date),
        "last_date": str(source.last_date),
        "provenance": source.provenance,
        "fingerprint": source.fingerprint,
        "weekend_rules": [[str(since), list(days)] for since, days in year.weekend_rules],
        "workdays": year.workdays,
        "complete": year.complete,
        "months": [
            {
                "month": f"{month.first:%Y-%m}",
                "workdays": month.workdays,
                "complete": month.complete,
            }
            for month in year.months
        ],
        "holidays": [_row(day) for day in year.having("holiday")],
        "closures": [_row(day) for day in year.having("closure")],
        "extra_workdays": [_row(day) for day in year.having("extra workday")],
        "half_days": [
            {"date": str(day.day), "weekday": f"{day.day:%A}", "closes": f"{day.closes:%H:%M}"}
            for day in year.half_days
        ],
        "days": {str(day.day): day.state for day in year.days if day.state != "outside bounds"},
    }


def _row(day: YearDay) -> dict[str, str]:
    return {"date": str(day.day), "weekday": f"{day.day:%A}", "reason": day.reason}


def _load(name: str, year: int) -> WorkdayCalendar:
    """The frozen calendar, or that year of the `holidays` library's, with its warning on stderr."""
    from workday_assets.calendars import catalog

    frozen = catalog.load(name)
    if frozen is not None:
        return frozen
    with warnings.catch_warnings(record=True, action="always") as caught:
        calendar = catalog.unfrozen(name, date(year, 1, 1), date(year, 12, 31))
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
    return calendar


def _write(path: Path, year: CalendarYear) -> None:
    from workday_assets.cli.year_html import render

    try:
        path.write_text(render(year), encoding="utf-8")
    except OSError as error:
        raise click.BadParameter(
            f"{path} cannot be written ({error.strerror}); name a file in an existing folder.",
            param_hint="--html",
        ) from error
