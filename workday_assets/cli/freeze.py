"""`workday-assets freeze` and `diff`: what runs is a file, and nothing changes it unseen."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workday_assets.cli.options import DateType, json_option
from workday_assets.errors import CalendarFileError, InvalidInputError, UnknownCalendarError

if TYPE_CHECKING:
    from workday_assets.calendars import WorkdayCalendar
    from workday_assets.calendars.freezing import CalendarDiff

first_option = click.option(
    "--first", type=DateType(), help="First date, included; by default as frozen."
)
last_option = click.option(
    "--last",
    type=DateType(),
    help="Last date that is published, included; by default as frozen. A name that is not in the"
    " catalog needs both.",
)


@click.command()
@click.argument("name")
@first_option
@last_option
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; by default the catalog's own.",
)
@click.option("--evidence", help="Who published the days; needed beyond the catalog's last date.")
@click.option(
    "--allow-history", is_flag=True, help="Write also when past workdays or closures would go."
)
def freeze(
    name: str,
    first: date | None,
    last: date | None,
    output: Path | None,
    evidence: str | None,
    *,
    allow_history: bool,
) -> None:
    """Write the calendar NAME, as its provider answers now, to the file that runs.

    The days that change are printed. Commit the file once they are right. A change that takes away
    days before today is refused without --allow-history: see what it does with `diff --impact`.
    """
    from workday_assets.calendars import tables
    from workday_assets.calendars.catalog import load
    from workday_assets.calendars.freezing import diff as compare
    from workday_assets.calendars.freezing import freeze as frozen_text

    today = _today()
    text = frozen_text(name, first, last, frozen_on=today, evidence=evidence)
    path = output or _catalog_file(name)
    old = tables.loads(_read(path), path) if path.exists() else load(name)
    new = tables.loads(text, path)
    found = None if old is None else compare(old, new, as_of=today)
    if found is not None and not allow_history:
        _refuse_lost_history(name, found, today)
    _write(path, text)
    click.echo(f"Wrote {path}: {new.name}, {new.first_date} to {new.last_date}.")
    if found is None:
        click.echo("There was no frozen calendar of that name before.")
    else:
        _print(found)


@click.command()
@click.argument("name")
@first_option
@last_option
@click.option(
    "--with",
    "other",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare with the calendar in FILE, and not with the provider.",
)
@click.option(
    "--impact",
    is_flag=True,
    help="Say what the change would do: keys added and removed, data orphaned, results affected.",
)
@json_option
def diff(
    name: str,
    first: date | None,
    last: date | None,
    other: Path | None,
    *,
    impact: bool,
    as_json: bool,
) -> None:
    """Compare the frozen calendar NAME with what its provider answers now.

    With --first or --last only that range is compared. Exit code 1 when they differ.
    """
    from workday_assets.calendars.freezing import diff as compare
    from workday_assets.calendars.freezing import from_provider

    if impact and (first or last):
        raise InvalidInputError(
            "--impact is that of the whole calendar; leave out --first and --last."
        )
    frozen = _frozen(name).between(first, last)
    if other is None:
        now = from_provider(name, frozen.first_date, frozen.last_date)
    else:
        now = _other(name, other).between(first, last)
    found = compare(frozen, now, as_of=_today())
    impacts = None
    if impact:
        from workday_assets.cli import audit_impact

        impacts = audit_impact.impact_of(now)
    if as_json:
        data = _data(found)
        if impacts is not None:
            data["impact"] = audit_impact.to_data(impacts)
        click.echo(json.dumps(data, indent=2))
    else:
        _print(found)
        for line in audit_impact.sentences(impacts) if impacts is not None else ():
            click.echo(line)
    if found:
        raise click.exceptions.Exit(1)


def _frozen(name: str) -> WorkdayCalendar:
    from workday_assets.calendars.catalog import load, names

    calendar = load(name)
    if calendar is None:
        raise UnknownCalendarError(
            f"name={name!r} has no frozen calendar to compare; choose from {', '.join(names())}."
        )
    return calendar


def _other(name: str, path: Path) -> WorkdayCalendar:
    from workday_assets.calendars import tables

    found = tables.loads(_read(path), path)
    if found.name != name:
        raise InvalidInputError(
            f"--with={path} holds the calendar {found.name}, and NAME is {name}; give both the same"
            " name."
        )
    return found


def _refuse_lost_history(name: str, found: CalendarDiff, today: date) -> None:
    """Days before today that are workdays in one of the two, or out of the new bounds."""
    lost = [
        f"{change.day} ({change.before} -> {change.after})"
        for change in found.days
        if change.kind != "half day" and change.day < today
    ]
    (old_first, old_last), (new_first, new_last) = found.old_bounds, found.new_bounds
    if new_first > old_first:
        lost.append(f"the dates before {new_first}")
    if new_last < min(old_last, today):
        lost.append(f"the dates after {new_last}")
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        raise InvalidInputError(
            f"name={name}: history would change: {', '.join(lost[:3])}{more}; see what that does to"
            f" the data (workday-assets diff {name} --impact), then repeat with --allow-history."
        )


def _catalog_file(name: str) -> Path:
    return Path(str(files("workday_assets.calendars") / "data" / f"{name}.csv"))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CalendarFileError(
            path, f"it cannot be read as a calendar ({error}); name another file in --output."
        ) from error


def _write(path: Path, text: str) -> None:
    """Put the whole file in place, so that nobody reads a half one."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    except OSError as error:
        raise CalendarFileError(
            path, f"it cannot be written ({error.strerror}); name another file in --output."
        ) from error


def _today() -> date:
    return datetime.now(UTC).date()


def _print(found: CalendarDiff) -> None:
    if not found:
        click.echo("No difference.")
        return
    if found.old_bounds != found.new_bounds:
        old, new = (f"{first} to {last}" for first, last in (found.old_bounds, found.new_bounds))
        click.echo(f"Bounds: {old} become {new}.")
    for title, changes in (
        ("Days that become workdays", found.added),
        ("Days that close", found.removed),
        ("Half days that change", found.changed),
    ):
        if changes:
            click.echo(f"{title} ({len(changes)}):")
        for change in changes:
            mark = "  PAST CLOSURE REMOVED" if change.past_closure_removed else ""
            click.echo(f"  {change.day:%Y-%m-%d %a}  {change.before} -> {change.after}{mark}")
    if found.past_closures_removed:
        click.echo(
            f"{len(found.past_closures_removed)} past closures would be gone: partitions that"
            " nobody expected would appear. Correct the provider or keep the frozen file."
        )


def _data(found: CalendarDiff) -> dict[str, Any]:
    def rows(changes: tuple[Any, ...]) -> list[dict[str, Any]]:
        return [
            {
                "day": str(change.day),
                "before": change.before,
                "after": change.after,
                "past_closure_removed": change.past_closure_removed,
            }
            for change in changes
        ]

    return {
        "added": rows(found.added),
        "removed": rows(found.removed),
        "changed": rows(found.changed),
        "old_bounds": [str(day) for day in found.old_bounds],
        "new_bounds": [str(day) for day in found.new_bounds],
    }
