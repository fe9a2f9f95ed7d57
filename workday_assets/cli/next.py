"""`workday-assets next`: the coming intervals; for comparison the ticks of cron or a period."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click
import pendulum
from rich.console import Console
from rich.table import Table

from workday_assets.cli.options import json_option
from workday_assets.errors import InvalidInputError

if TYPE_CHECKING:
    from workday_assets.timetable import WorkdayTimetable

Row = dict[str, date | datetime]
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@click.command("next")
@click.option("-n", "count", type=click.IntRange(1, 1000), default=10, help="How many.")
@click.option("--cron", help="Show the ticks of this cron expression instead.")
@click.option("--every", help="Show the ticks of a period, such as 15m, 12h, 1d or 2w, instead.")
@click.option("--start", help="Local time from which --every counts, such as 2026-01-15T14:37.")
@json_option
def next_(
    count: int, cron: str | None, every: str | None, start: str | None, *, as_json: bool
) -> None:
    """Show the next intervals and when their runs may start, in local time and UTC.

    A period counts from its start, whatever the calendar says; cron is pinned to the clock, and
    knows no holidays either. Days of a period are local days, hours and minutes are elapsed time.
    """
    from workday_assets.ecb.assets import TIMETABLE

    now = datetime.now(UTC)
    if (every is None) != (start is None) or (cron is not None and every is not None):
        raise InvalidInputError(
            f"cron={cron!r}, every={every!r}, start={start!r} do not go together; give --cron, or"
            " --every with --start, or none of them."
        )
    rows: Iterator[Row]
    if cron is not None:
        rows = (_tick(at) for at in _cron(cron, now, TIMETABLE.timezone))
    elif every is not None and start is not None:
        rows = (_tick(at) for at in _periods(every, start, now, TIMETABLE.timezone))
    else:
        rows = _intervals(TIMETABLE, now)
    _show(list(islice(rows, count)), as_json=as_json)


def _intervals(timetable: WorkdayTimetable, now: datetime) -> Iterator[Row]:
    upcoming = timetable.upcoming(now)
    while upcoming is not None:
        yield {
            "day": upcoming.interval.day,
            "start": upcoming.interval.start,
            "end": upcoming.interval.end,
            "run after": upcoming.run_after,
            "run after UTC": upcoming.run_after.astimezone(UTC),
        }
        upcoming = timetable.upcoming(upcoming.run_after)


def _cron(expression: str, now: datetime, timezone: str) -> Iterator[datetime]:
    try:
        from cronsim import CronSim, CronSimError
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"cron={expression!r} needs the package cronsim; install 'workday-assets[cron]'."
        ) from error
    try:
        return iter(CronSim(expression, now.astimezone(ZoneInfo(timezone))))
    except CronSimError as error:
        raise InvalidInputError(
            f"cron={expression!r} is not a cron expression ({error}); write five fields, for"
            " example '*/15 * * * *'."
        ) from error


def _periods(every: str, start: str, now: datetime, timezone: str) -> Iterator[datetime]:
    parsed = re.fullmatch(r"([1-9]\d{0,3})([mhdw])", every)
    if parsed is None:
        raise InvalidInputError(
            f"every={every!r} is not a period; write a number to 9999 and m, h, d or w, e.g. 1d."
        )
    try:
        naive = datetime.fromisoformat(start)
    except ValueError as error:
        raise InvalidInputError(
            f"start={start!r} is not a time ({error}); write YYYY-MM-DDTHH:MM."
        ) from error
    if naive.tzinfo is not None:
        raise InvalidInputError(
            f"start={start!r} carries a zone; write local time of {timezone} without one."
        )
    first = pendulum.instance(naive, tz=timezone)
    unit, number = _UNITS[parsed[2]], int(parsed[1])
    step = pendulum.duration(**{unit: number})
    passed = max(int((now - first) / step) - 2, 0)
    while True:
        tick = first.add(**{unit: number * passed})
        if tick > now:
            yield tick
        passed += 1


def _tick(at: datetime) -> Row:
    return {"tick": at, "tick UTC": at.astimezone(UTC)}


def _show(rows: list[Row], *, as_json: bool) -> None:
    if as_json:
        data = [{name: value.isoformat() for name, value in row.items()} for row in rows]
        click.echo(json.dumps(data, indent=2))
        return
    # An interval starts with its day, and four columns fit on a line.
    shown = [{name: value for name, value in row.items() if name != "start"} for row in rows]
    table = Table(*(shown[0] if shown else ["nothing more: the calendar ends"]))
    for row in shown:
        table.add_row(*map(_short, row.values()))
    Console().print(table)


def _short(value: date | datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else f"{value:%Y-%m-%d %a}"
