"""Runs spans of workdays in this process, one after the other, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run_iterator
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from workday_assets.automation.requests import (
    BACKFILL_TRIGGER,
    Span,
    interval_tags,
    partition_tags,
)
from workday_assets.cli.project import Project
from workday_assets.ecb.assets import WORKDAYS

#: Dagster's console logger would print every event through the progress bar.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class AssetRow:
    """One line of the summary: requested and materialized partitions of one asset."""

    asset: str
    first: date
    last: date
    requested: int = 0
    materialized: int = 0


@dataclass
class Outcome:
    """What came of a backfill: a row per asset, and one sentence per failed run."""

    rows: list[AssetRow] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def execute(project: Project, spans: Sequence[Span], console: Console) -> Outcome:
    """Run `spans` in order and stop at the first that fails: later ones may need it."""
    rows = _rows(project, spans)
    outcome = Outcome(list(rows.values()))
    if not spans:
        return outcome
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    with progress:
        task = progress.add_task("partitions", total=sum(r.requested for r in outcome.rows))
        for span in spans:
            for event in _events(project, span):
                if event.is_step_materialization and event.asset_key is not None:
                    rows[event.asset_key].materialized += 1
                    progress.advance(task)
                elif event.is_step_failure or (event.is_run_failure and not outcome.errors):
                    outcome.errors.append(_sentence(span, event))
            if outcome.errors:
                break
    return outcome


def _events(project: Project, span: Span) -> Iterator[dg.DagsterEvent]:
    first, last, keys = span
    job = project.repository.get_implicit_global_asset_job_def().get_subset(
        asset_selection=set(keys)
    )
    run = project.instance.create_run_for_job(
        job_def=job,
        run_config=_QUIET,
        asset_selection=keys,
        tags={
            **partition_tags(first.strftime(WORKDAYS.fmt), last.strftime(WORKDAYS.fmt)),
            **interval_tags(project.timetable, first, last, BACKFILL_TRIGGER),
        },
    )
    return execute_run_iterator(InMemoryJob(job), run, project.instance)


def _rows(project: Project, spans: Sequence[Span]) -> dict[dg.AssetKey, AssetRow]:
    rows: dict[dg.AssetKey, AssetRow] = {}
    order = {key: n for n, key in enumerate(project.repository.asset_graph.toposorted_asset_keys)}
    for first, last, keys in spans:
        days = project.timetable.calendar.count(first, last + timedelta(days=1))
        for key in sorted(keys, key=order.__getitem__):
            row = rows.setdefault(key, AssetRow(key.to_user_string(), first, last))
            row.requested += days
            row.last = last
    return {key: rows[key] for key in sorted(rows, key=order.__getitem__)}


def _sentence(span: Span, event: dg.DagsterEvent) -> str:
    first, last, _ = span
    days = str(first) if first == last else f"{first} to {last}"
    error = None
    if event.is_step_failure:
        error = event.step_failure_data.error
    while error is not None and error.cause is not None:
        error = error.cause
    why = error.message.strip() if error is not None else event.message
    return f"{days}: {event.step_key or 'run'} failed: {why}"
