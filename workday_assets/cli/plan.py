"""`workday-assets plan`: what the sensor decides now, day by day; nothing is launched."""

from __future__ import annotations

import json
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Column, Table

from workday_assets.cli.options import DateType, json_option
from workday_assets.errors import InvalidInputError
from workday_assets.planner import NOT_DONE

if TYPE_CHECKING:
    from workday_assets.automation.plans import AssetPlans
    from workday_assets.planner import Decision

_DAYS_SHOWN = 14
_STYLES = {"due": "bold", "failed": "red", "closed": "dim", "skipped": "dim"}


@click.command()
@click.option("--from", "first", type=DateType(), help="First date, included; default: two weeks.")
@click.option("--to", "last", type=DateType(), help="Last date, included; by default the last one.")
@json_option
def plan(first: date | None, last: date | None, *, as_json: bool) -> None:
    """Show the verdict on each day and asset, from the real instance; nothing is launched."""
    from workday_assets.cli.project import open_project

    if first and last and last < first:
        raise InvalidInputError(f"--to={last} is before --from={first}; exchange them.")
    with open_project() as project:
        rows = _rows(project.plans(), first, last)
        if as_json:
            data = {str(day): _data(decisions) for day, decisions in rows.items()}
            click.echo(json.dumps(data, indent=2))
            return
        console = Console()
        console.print(project.where, highlight=False, soft_wrap=True)
        console.print(_table(rows) if rows else f"No day is planned; {project.source.describe()}.")


def _rows(
    plans: AssetPlans, first: date | None, last: date | None
) -> dict[date, dict[str, Decision]]:
    """By day, then by asset, the decisions of the range."""
    found: dict[date, dict[str, Decision]] = {}
    for key, asset_plan in plans.plans.items():
        for decision in asset_plan.decisions:
            found.setdefault(decision.day, {})[key.to_user_string()] = decision
    end = last or max(found, default=date.max)
    start = first or end - timedelta(days=_DAYS_SHOWN - 1)
    return {day: found[day] for day in sorted(found) if start <= day <= end}


def _data(decisions: dict[str, Decision]) -> dict[str, dict[str, str | int | None]]:
    return {
        asset: {
            "verdict": decision.verdict,
            "reason": decision.reason,
            "run_after": decision.run_after.isoformat() if decision.run_after else None,
            "attempts": decision.attempts,
        }
        for asset, decision in decisions.items()
    }


def _table(rows: dict[date, dict[str, Decision]]) -> Table:
    """A row per stretch of days with the same verdicts for the same reasons."""
    assets = list(dict.fromkeys(asset for decisions in rows.values() for asset in decisions))
    names = (Column(asset.rpartition("/")[2], overflow="fold") for asset in assets)
    table = Table(Column("days", no_wrap=True), *names, "why")  # whole words also in 80 columns
    for line, stretch in groupby(rows.items(), key=lambda row: _line(row[0], row[1], assets)):
        days = [day for day, _ in stretch]
        label = f"{days[0]:%Y-%m-%d %a}"
        if len(days) > 1:
            label += f"\nto   {days[-1]:%m-%d %a}"
        *verdicts, why = line
        cells = [f"[{_STYLES.get(v, 'none')}]{v}[/]" if v else "" for v in verdicts]
        table.add_row(label, *cells, why)
    return table


def _line(day: date, decisions: dict[str, Decision], assets: list[str]) -> tuple[str, ...]:
    """The verdicts by asset, then the reasons, without the date that the row names anyway."""
    verdicts = [decisions[a].verdict if a in decisions else "" for a in assets]
    reasons = [
        decision.reason.removeprefix(f"{day} is ")
        for decision in decisions.values()
        if decision.verdict != "done" and decision.reason != NOT_DONE
    ]
    return (*verdicts, "; ".join(dict.fromkeys(reasons)))
