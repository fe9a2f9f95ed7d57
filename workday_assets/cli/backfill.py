"""`workday-assets backfill`: make up a range of workdays in this process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, cast

import click
from rich.console import Console
from rich.table import Table

from workday_assets.cli.options import DateType
from workday_assets.errors import InvalidInputError

if TYPE_CHECKING:
    import dagster as dg

    from workday_assets.automation.plans import AssetPlans
    from workday_assets.cli.execution import Outcome
    from workday_assets.cli.project import Project
    from workday_assets.partitions import WorkdayPartitionsDefinition

#: A person who asks for a range wants failed days tried again, however often they failed.
_ALWAYS = 1_000_000
_NAMED_AT_MOST = 12


@click.command()
@click.option("--from", "first", type=DateType(), required=True, help="First date, included.")
@click.option("--to", "last", type=DateType(), required=True, help="Last date, included.")
@click.option(
    "--asset", "names", multiple=True, help="Only this asset, e.g. ecb/returns; repeatable."
)
def backfill(first: date, last: date, names: tuple[str, ...]) -> None:
    """Materialize every missing workday of a range, in this process.

    Closed days are left out and named. Earlier days that a computation needs are added and named.
    """
    from workday_assets.cli.project import open_project

    if last < first:
        raise InvalidInputError(f"--to={last} is before --from={first}; exchange them.")
    console = Console()
    with open_project() as project:
        console.print(project.where, highlight=False, soft_wrap=True)
        plans = _plan(project, first, last, names)
        for line in _remarks(project, plans, first, last):
            console.print(line, highlight=False, soft_wrap=True)
        outcome = _run(project, plans, console)
    stuck = _stuck(plans)
    console.print(_summary(outcome, stuck))
    for error in outcome.errors:
        console.print(f"[red]{error}[/red]", highlight=False)
    if outcome.errors or stuck:
        raise click.exceptions.Exit(1)


def _plan(project: Project, first: date, last: date, names: tuple[str, ...]) -> AssetPlans:
    from workday_assets.automation.plans import plan_assets
    from workday_assets.planner import CatchupPolicy

    graph = project.repository.asset_graph
    return plan_assets(
        graph,
        project.instance,
        _selected(project, names),
        project.timetable,
        as_of=project.as_of,
        policy=CatchupPolicy.all(),
        retry_failed=_ALWAYS,
        source=project.source,
        start=first,
        end=last,
        in_order=True,
    )


def _selected(project: Project, names: tuple[str, ...]) -> list[dg.AssetKey]:
    import dagster as dg

    from workday_assets.partitions import WorkdayPartitionsDefinition

    graph = project.repository.asset_graph
    known = [
        key
        for key in graph.toposorted_asset_keys
        if isinstance(graph.get(key).partitions_def, WorkdayPartitionsDefinition)
    ]
    wanted = {dg.AssetKey.from_user_string(name) for name in names}
    for key in sorted(wanted - set(known)):
        raise InvalidInputError(
            f"--asset={key.to_user_string()} is not a workday asset of this project; choose from"
            f" {', '.join(k.to_user_string() for k in known)}."
        )
    return [key for key in known if not wanted or key in wanted]


def _definition(project: Project, key: dg.AssetKey) -> WorkdayPartitionsDefinition:
    definition = project.repository.asset_graph.get(key).partitions_def
    return cast("WorkdayPartitionsDefinition", definition)


def _remarks(project: Project, plans: AssetPlans, first: date, last: date) -> Iterator[str]:
    """What is left out, and what is added, each with its reason."""
    closed: dict[date, str] = {}
    left_out: dict[str, list[date]] = {}
    for plan in plans.plans.values():
        for decision in plan.decisions:
            if decision.verdict == "closed":
                closed[decision.day] = decision.reason
            elif decision.verdict in ("waiting", "not_ready", "in_flight"):
                left_out.setdefault(decision.reason, []).append(decision.day)
    days = [reason for day, reason in sorted(closed.items()) if first <= day <= last]
    yield from (f"Closed: {reason}" for reason in days[:_NAMED_AT_MOST])
    if len(days) > _NAMED_AT_MOST:
        yield f"Closed: {len(days) - _NAMED_AT_MOST} more days (workday-assets calendar names them)"
    for reason, waiting in left_out.items():
        yield f"Left out: {min(waiting)} to {max(waiting)}: {reason}"
    start = min(_definition(project, key).first_date for key in plans.plans)
    if first < start:
        yield f"Left out: days before {start}, the first partition"
    end = project.source.last_date
    if end is not None and last > end:
        yield f"Left out: days after {end}: {project.source.describe()}"
    for (key, day), needed_by in sorted(plans.warm_up.items()):
        yield (
            f"Warm-up: {key.to_user_string()} {day}, which {needed_by.to_user_string()}"
            f" of {first} or later needs"
        )


def _run(project: Project, plans: AssetPlans, console: Console) -> Outcome:
    from workday_assets.automation.requests import spans
    from workday_assets.cli.execution import execute

    due = spans(plans, project.timetable, merge=True)
    return execute(project, list(due), console)


def _stuck(plans: AssetPlans) -> int:
    """How many complete days of the range somebody else makes, or wait for what nobody makes."""
    return sum(len(plan.of("in_flight", "not_ready")) for plan in plans.plans.values())


def _summary(outcome: Outcome, stuck: int) -> Table | str:
    if not outcome.rows and stuck:
        return f"Nothing was made: {stuck} partitions of the range are left out, as said above."
    if not outcome.rows:
        return "Nothing to do: every workday of the range that can be materialized is."
    table = Table("asset", "requested", "materialized", "first", "last")
    for row in outcome.rows:
        missing = row.materialized < row.requested
        table.add_row(
            row.asset,
            str(row.requested),
            f"[red]{row.materialized}[/red]" if missing else str(row.materialized),
            str(row.first),
            str(row.last),
        )
    return table
