"""`workday-assets why`: what the calendar and the instance say of one date."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from workday_assets.cli.options import DateType, json_option

if TYPE_CHECKING:
    from workday_assets.cli.project import Project


@click.command()
@click.argument("day", type=DateType(), metavar="DATE")
@json_option
def why(day: date, *, as_json: bool) -> None:
    """Say of DATE whether it is a workday, when it may run, and what came of it per asset."""
    from workday_assets.cli.project import open_project

    with open_project() as project:
        answer = _answer(project, day)
    if as_json:
        click.echo(json.dumps(answer, indent=2))
    else:
        _print(answer, Console())


def _answer(project: Project, day: date) -> dict[str, Any]:
    timetable = project.timetable
    calendar = timetable.calendar
    answer: dict[str, Any] = {
        "date": day.isoformat(),
        "weekday": f"{day:%A}",
        "calendar": calendar.name,
        "timezone": timetable.timezone,
        "workday": calendar.is_workday(day),
        "reason": calendar.describe(day),
        "instance": project.where,
    }
    if not calendar.is_workday(day):
        answer["neighbours"] = [
            calendar.previous(day).isoformat(),
            calendar.next(day).isoformat(),
        ]
        return answer
    interval = timetable.interval(day)
    answer["interval"] = [interval.start.isoformat(), interval.end.isoformat()]
    answer["run_after"] = timetable.run_after(day).isoformat()
    answer["assets"] = _verdicts(project, day)
    return answer


def _verdicts(project: Project, day: date) -> list[dict[str, Any]]:
    from workday_assets.automation.plans import plan_assets
    from workday_assets.definitions import POLICY, WORKDAY_ASSETS

    graph = project.repository.asset_graph
    plans = plan_assets(
        graph,
        project.instance,
        sorted(WORKDAY_ASSETS.resolve(graph)),
        project.timetable,
        as_of=project.as_of,
        policy=POLICY,
        source=project.source,
    )
    rows = []
    for key, plan in plans.plans.items():
        found = [decision for decision in plan.decisions if decision.day == day]
        verdict, reason = "not planned", project.source.describe()
        if found:
            verdict, reason = found[0].verdict, found[0].reason
        rows.append({"asset": key.to_user_string(), "verdict": verdict, "reason": reason})
    return rows


def _print(answer: dict[str, Any], console: Console) -> None:
    day = f"{answer['date']} ({answer['weekday']})"
    if not answer["workday"]:
        before, after = answer["neighbours"]
        console.print(f"{day} is closed in {answer['calendar']}: {answer['reason']}.")
        console.print(f"The workdays around it are {before} and {after}.")
        return
    start, end = answer["interval"]
    console.print(f"{day} is a workday of {answer['calendar']}.")
    console.print(f"Interval: {start} to {end} (end excluded).")
    console.print(f"It may run from {answer['run_after']} on.")
    console.print(answer["instance"], highlight=False, soft_wrap=True)
    table = Table("asset", "verdict", "why")
    for row in answer["assets"]:
        table.add_row(row["asset"], row["verdict"], row["reason"])
    console.print(table)
