"""`workday-assets audit`: whether every workday was processed once, and from what."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from workday_assets.cli.audit_progress import progress
from workday_assets.cli.options import DateType, json_option
from workday_assets.errors import InvalidInputError

if TYPE_CHECKING:
    import dagster as dg

    from workday_assets.audit.report import Audit
    from workday_assets.cli.project import Project
    from workday_assets.storage.parquet import ParquetIOManager


@click.command()
@click.option("--from", "first", type=DateType(), help="First date, included; by default all.")
@click.option("--to", "last", type=DateType(), help="Last date, included; by default all.")
@click.option(
    "--asset", "names", multiple=True, help="Only this asset, e.g. ecb/returns; repeatable."
)
@click.option("--deep", is_flag=True, help="Read every file: its rows and SHA-256 as recorded.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a line per partition, for an auditor.")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a heat-map and the findings to FILE as one self-contained page.",
)
@click.option(
    "--observe",
    "shown",
    is_flag=True,
    help="Record the outcome as an observation of each asset, heat-map included.",
)
@json_option
def audit(
    first: date | None,
    last: date | None,
    names: tuple[str, ...],
    page: Path | None,
    *,
    deep: bool,
    as_csv: bool,
    shown: bool,
    as_json: bool,
) -> None:
    """Compare what is recorded and stored with what the calendar expects; it is only read.

    Exit code 1 when something is wrong: a workday missing or failed, a record of a day that is
    closed now, a file lost, damaged or without a record, or a result that was made from other
    days than the calendar names today.
    """
    from workday_assets.cli import audit_export, audit_text
    from workday_assets.cli.project import open_project

    if first and last and last < first:
        raise InvalidInputError(f"--to={last} is before --from={first}; exchange them.")
    if as_csv and as_json:
        raise InvalidInputError("--csv and --json both print to the same place; give one of them.")
    with open_project() as project:
        found = run(project, first, last, names, deep=deep)
        where = project.where
        if page is not None:
            audit_export.write_page(page, found)
        if shown:
            from workday_assets.cli.audit_observe import observe

            observe(project.instance, found, page)
    if as_json:
        click.echo(audit_export.to_json(found, where))
    elif as_csv:
        click.echo(audit_export.to_csv(found), nl=False)
    else:
        audit_text.show(Console(highlight=False), found, where)
        if page is not None:
            click.echo(f"Wrote {page}")
    if found.findings:
        raise click.exceptions.Exit(1)


def run(
    project: Project,
    first: date | None,
    last: date | None,
    names: tuple[str, ...],
    *,
    deep: bool,
) -> Audit:
    """The audit of the named assets, or of all, with a progress bar on standard error."""
    from workday_assets.audit.auditor import Auditor
    from workday_assets.ecb.assets import COUNTED_CALENDARS, DAYS_USED

    graph = project.repository.asset_graph
    keys = _selected(project, names)
    with progress() as begin:
        auditor = Auditor(
            graph,
            project.instance,
            project.timetable,
            project.as_of,
            project.source,
            stores=stores(project, keys),
            days_used=DAYS_USED,
            calendars=COUNTED_CALENDARS,
            begin=begin,
        )
        return auditor.audit(keys, start=first, end=last, deep=deep)


def _selected(project: Project, names: tuple[str, ...]) -> list[dg.AssetKey]:
    import dagster as dg

    from workday_assets.ecb.jobs import PERIOD_ASSETS, WORKDAY_ASSETS

    known = sorted((WORKDAY_ASSETS | PERIOD_ASSETS).resolve(project.repository.asset_graph))
    wanted = {dg.AssetKey.from_user_string(name) for name in names}
    for key in sorted(wanted - set(known)):
        raise InvalidInputError(
            f"--asset={key.to_user_string()} is not partitioned by dates in this project; choose"
            f" from {', '.join(k.to_user_string() for k in known)}."
        )
    return sorted(wanted) or known


def stores(project: Project, keys: list[dg.AssetKey]) -> dict[dg.AssetKey, ParquetIOManager]:
    """By asset, the I/O manager that keeps its files, where it is this package's."""
    from workday_assets.definitions import defs
    from workday_assets.storage.parquet import ParquetIOManager

    resources = defs.resources or {}
    found = {}
    for key in keys:
        asset = project.repository.assets_defs_by_key[key]
        manager = resources.get(asset.get_io_manager_key_for_asset_key(key))
        if isinstance(manager, ParquetIOManager):
            found[key] = manager
    return found
