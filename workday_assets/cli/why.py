"""`workday-assets why`: what the calendar and the instance say of one date."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click

from workday_assets.cli.options import DateType, json_option
from workday_assets.errors import ClosedDayError

if TYPE_CHECKING:
    import dagster as dg

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
        for sentence in sentences(answer):
            click.echo(sentence)
        click.echo(f"({answer['instance']})")


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
    try:
        calendar.roll(day, "raise")
    except ClosedDayError as closed:
        answer["neighbours"] = [str(d) for d in (closed.previous, closed.next) if d is not None]
        return answer
    interval = timetable.interval(day)
    answer["interval"] = [interval.start.isoformat(), interval.end.isoformat()]
    answer["run_after"] = timetable.run_after(day).isoformat()
    answer["assets"] = _verdicts(project, day)
    answer["next"] = _next(project)
    return answer


def _next(project: Project) -> str:
    upcoming = project.timetable.upcoming(project.as_of)
    if upcoming is None:
        return f"Calendar {project.timetable.calendar.name} has no workday after this one."
    when = f"{upcoming.run_after:%Y-%m-%d %H:%M} {project.timetable.timezone}"
    return f"The next interval, {upcoming.interval.day}, may run from {when} on."


def _verdicts(project: Project, day: date) -> list[dict[str, Any]]:
    plans = project.plans()
    rows = []
    for key, plan in plans.plans.items():
        found = [decision for decision in plan.decisions if decision.day == day]
        row = {"asset": key.to_user_string(), **_runs(project, key, day)}
        if found:
            row |= {"verdict": found[0].verdict, "reason": found[0].reason}
            row["attempts"] = found[0].attempts
        else:
            row |= {"verdict": "not planned", "reason": project.source.describe()}
        rows.append(row)
    return rows


def _runs(project: Project, key: dg.AssetKey, day: date) -> dict[str, Any]:
    """The newest run that planned this day of an asset, and its status."""
    import dagster as dg

    definition = project.repository.asset_graph.get(key).partitions_def
    planned = project.instance.event_log_storage.get_event_records(
        dg.EventRecordsFilter(
            event_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
            asset_key=key,
            asset_partitions=[day.strftime(getattr(definition, "fmt", "%Y-%m-%d"))],
        ),
        limit=1,
    )
    if not planned:
        return {"run": None, "run_status": None}
    run = project.instance.get_run_by_id(planned[0].run_id)
    return {"run": planned[0].run_id, "run_status": run.status.value if run else "deleted"}


def sentences(answer: dict[str, Any]) -> Iterator[str]:
    """The answer as a colleague would give it."""
    day, calendar = f"{answer['date']}, a {answer['weekday']},", answer["calendar"]
    if not answer["workday"]:
        yield f"{day} is closed in {calendar}: {answer['reason']}."
        yield f"Nearest workdays: {_listed(answer['neighbours'])}."
        return
    start, end = map(_local, answer["interval"])
    yield (
        f"{day} is a workday of {calendar}: its interval is {start} to {end} {answer['timezone']},"
        f" and it may run from {_local(answer['run_after'])} on."
    )
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in answer["assets"]:
        groups.setdefault((row["verdict"], row["reason"]), []).append(row)
    for (verdict, reason), rows in groups.items():
        names = _listed([row["asset"] for row in rows])
        runs = dict.fromkeys(f"{r['run'][:8]}, {r['run_status']}" for r in rows if r["run"])
        newest = f" (newest run {_listed(list(runs))})" if runs else ""
        yield f"{names}: {verdict.replace('_', ' ')}; {reason}{newest}."
    yield answer["next"]


def _local(instant: str) -> str:
    return f"{datetime.fromisoformat(instant):%Y-%m-%d %H:%M}"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
