"""`workday-assets backfill`: make up a range, or the whole history, exactly."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import click
from rich.console import Console

from workday_assets.cli.options import DateType, json_option

if TYPE_CHECKING:
    from workday_assets.cli.backfill_outcome import Outcome
    from workday_assets.cli.backfill_plan import BackfillPlan
    from workday_assets.cli.project import Project

#: A person who starts the command again after a crash does not wait as long as a sensor does. The
#: embedded server, stopped after its last user, may just have been started for this command.
_SILENCE, _UPTIME = timedelta(seconds=1), timedelta(0)
#: What a shell reports of a command that Ctrl-C ended.
_INTERRUPTED = 130


@click.command()
@click.option(
    "--from", "first", type=DateType(), help="First date, included; default: the history's."
)
@click.option(
    "--to", "last", type=DateType(), help="Last date, included; default: the source's last."
)
@click.option(
    "--asset",
    "names",
    multiple=True,
    help="Only this asset, e.g. ecb/returns or ecb/weekly_summary; repeatable.",
)
@click.option(
    "--missing/--force",
    "missing",
    default=True,
    help="Only what is missing or outdated (the default), or everything in the range again.",
)
@click.option(
    "--downstream",
    is_flag=True,
    help="Add what depends on what is made, by partition mapping, also outside the range.",
)
@click.option("--dry-run", is_flag=True, help="List what would be made; run nothing.")
@click.option(
    "--in-process",
    is_flag=True,
    help="Run here; the default hands it to the daemon, where one is up, and waits.",
)
@json_option
def backfill(
    first: date | None,
    last: date | None,
    names: tuple[str, ...],
    *,
    missing: bool,
    downstream: bool,
    dry_run: bool,
    in_process: bool,
    as_json: bool,
) -> None:
    """Materialize what is missing or outdated: of a range, or of the whole history.

    Workdays are made first, then the weeks and months whose every workday is in the range. Earlier
    days that a computation needs are added; closed days are left out; both are named.

    After a failure everything goes on that needs nothing that failed; the summary names what was
    not made and the command that tries it again, and the exit code is 1. Killed at any moment and
    started again, it makes only what is still missing; in process at most 500 partitions of an
    asset twice, through the daemon those of the runs that had not ended. Ctrl-C leaves a
    backfill in the daemon running.
    """
    from workday_assets.automation.orphans import fail_orphans
    from workday_assets.cli.backfill_plan import Request, plan_backfill
    from workday_assets.cli.backfill_text import Report
    from workday_assets.cli.project import open_project

    request = Request(first, last, names, not missing, downstream)
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    with open_project() as project:
        console.print(project.where)
        if not dry_run:
            fail_orphans(project.instance, project.as_of, silence=_SILENCE, uptime=_UPTIME)
        plan = plan_backfill(project, request)
        if not (dry_run or in_process) and _wait_for_others(project, plan, console):
            plan = plan_backfill(project, request)
        report = Report(project, plan, request, in_process)
        for line in report.remarks():
            console.print(line, markup=False)
        outcome = None if dry_run else _make(project, plan, console, in_process=in_process)
    if as_json:
        click.echo(report.json(outcome))
    else:
        for part in report.text(outcome):
            console.print(part)
    if outcome is not None and (outcome.missing(plan) or outcome.errors or plan.left_out):
        raise click.exceptions.Exit(1)


def _make(project: Project, plan: BackfillPlan, console: Console, *, in_process: bool) -> Outcome:
    from workday_assets.cli import daemon_backfill
    from workday_assets.cli.backfill_outcome import Outcome
    from workday_assets.cli.execution import execute

    if not plan.due():
        return Outcome()
    why = "as asked" if in_process else "since no daemon is up"
    if not in_process and daemon_backfill.daemon_is_up(project.instance):
        outcome = _through_daemon(project, plan, console)
        if outcome is not None:
            return outcome
        why = "since the daemon is gone, and the backfill withdrawn"
    console.print(f"In this process, {why}; the web server shows its runs.")
    try:
        return execute(project, plan, console)
    except KeyboardInterrupt:
        console.print("Interrupted; the same command goes on where it stopped.")
        raise click.exceptions.Exit(_INTERRUPTED) from None


def _wait_for_others(project: Project, plan: BackfillPlan, console: Console) -> bool:
    from workday_assets.cli import daemon_backfill

    if not daemon_backfill.daemon_is_up(project.instance):
        return False
    try:
        return daemon_backfill.wait_for_others(project, plan, console)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(_INTERRUPTED) from None


def _through_daemon(project: Project, plan: BackfillPlan, console: Console) -> Outcome | None:
    from workday_assets.cli import daemon_backfill

    since = daemon_backfill.newest_event(project.instance)
    backfill_id = daemon_backfill.launch(project, plan)
    look = f"backfill {backfill_id}, in the web server at /runs/b/{backfill_id}"
    try:
        console.print(f"Through the daemon, which is up: {look}.")
        return daemon_backfill.wait(project, plan, backfill_id, since, console)
    except KeyboardInterrupt:
        console.print(f"The daemon goes on without this command: {look}; cancel it there.")
        raise click.exceptions.Exit(_INTERRUPTED) from None
