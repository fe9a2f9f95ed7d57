"""What `workday-assets backfill` says: before, and after, to people and to programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from itertools import groupby

import dagster as dg
from rich.markup import escape
from rich.table import Table

from workday_assets.automation.periods import Periods
from workday_assets.cli.backfill_outcome import AssetRow, Outcome, Range, retry_command
from workday_assets.cli.backfill_plan import BackfillPlan, Request
from workday_assets.cli.project import Project

_NAMED_AT_MOST = 12


class Report:
    """The words about one plan and, once there is one, its outcome."""

    def __init__(
        self, project: Project, plan: BackfillPlan, request: Request, in_process: bool
    ) -> None:
        self._project = project
        self._plan = plan
        self._request = request
        self._in_process = in_process

    def remarks(self) -> Iterator[str]:
        """What is left out, and what is added, each with its reason."""
        yield from self._closed()
        for key, decisions in groupby(self._plan.left_out, key=lambda pair: pair[0]):
            found = [decision for _, decision in decisions]
            first, ranges = found[0], self._ranges(key, [decision.day for decision in found])
            reason = first.reason if len(found) == 1 else f"{first.day}: {first.reason}"
            yield f"Left out: {key.to_user_string()} {ranges}: {reason}"
        yield from self._outside()
        by_need: dict[tuple[dg.AssetKey, dg.AssetKey], list[date]] = {}
        for (key, day), needed_by in sorted(self._plan.workdays.warm_up.items()):
            by_need.setdefault((key, needed_by), []).append(day)
        for (key, needed_by), days in by_need.items():
            ranges = self._ranges(key, days)
            yield f"Warm-up: {key.to_user_string()} {ranges}, for {needed_by.to_user_string()}"

    def text(self, outcome: Outcome | None) -> Iterator[str | Table]:
        """The plan as a table, or its outcome with what failed; for a console with markup."""
        if not self._plan.due():
            yield self._nothing()
        elif outcome is None:
            yield self._planned()
            yield "Nothing was run, as asked."
        else:
            rows = outcome.rows(self._plan)
            yield self._made(rows)
            for row in rows:
                if row.failed:
                    yield f"Failed: {row.asset} {_lines(row.failed)}"
            for row in rows:
                if row.not_tried:
                    yield f"Not tried: {row.asset} {_lines(row.not_tried)}"
            yield from (f"[red]{escape(line)}[/red]" for line in _capped(outcome.errors))
            retry = self._retry(outcome)
            if retry is not None:
                yield f"To try again what was not made:\n  {retry}"

    def json(self, outcome: Outcome | None) -> str:
        """The same as data."""
        data: dict[str, object] = {"instance": self._project.where, "dry_run": outcome is None}
        if outcome is None:
            data["assets"] = [self._planned_data(key) for key in self._plan.due()]
        else:
            data["assets"] = [asdict(row) for row in outcome.rows(self._plan)]
            data |= {"errors": outcome.errors, "retry": self._retry(outcome)}
            data["backfill_id"] = outcome.backfill_id
        data["left_out"] = [
            {"asset": key.to_user_string(), "date": decision.day, "reason": decision.reason}
            for key, decision in self._plan.left_out
        ]
        return json.dumps(data, indent=2, default=str)

    def _retry(self, outcome: Outcome) -> str | None:
        return retry_command(self._plan, self._request, outcome, in_process=self._in_process)

    def _closed(self) -> Iterator[str]:
        first, last = self._request.first, self._request.last
        if first is None or last is None:  # a whole history has thousands
            return
        calendar = self._project.timetable.calendar
        first, last = max(first, calendar.first_date), min(last, calendar.last_date)
        closed = calendar.closed_days(first, last + timedelta(days=1)) if first <= last else {}
        named = list(closed.items())
        for day, reason in named[:_NAMED_AT_MOST]:
            yield f"Closed: {day} is {reason} in {calendar.name}"
        if len(named) > _NAMED_AT_MOST:
            more = len(named) - _NAMED_AT_MOST
            yield f"Closed: {more} more days (workday-assets calendar names them)"

    def _outside(self) -> Iterator[str]:
        first, last, source = self._request.first, self._request.last, self._project.source
        days = [dates for dates in self._plan.dates.values() if not isinstance(dates, Periods)]
        start = min((dates.first_date for dates in days), default=date.min)
        if first is not None and first < start:
            yield f"Left out: days before {start}, the first partition"
        if last is not None and source.last_date is not None and last > source.last_date:
            yield f"Left out: days after {source.last_date}: {source.describe()}"
        if self._plan.published_to is not None:
            yield f"Left out: days after {self._plan.published_to}: not published yet"

    def _nothing(self) -> str:
        if self._plan.left_out:
            n = len(self._plan.left_out)
            return f"Nothing to make: {n} partitions of the range are left out, as said above."
        return "Nothing to do: every workday and period of the range that can be materialized is."

    def _planned(self) -> Table:
        table = Table("asset", "why", "partitions", "which")
        for key in self._plan.due():
            for role, days in self._plan.roles(key).items():
                table.add_row(
                    key.to_user_string(), role, str(len(days)), self._ranges(key, days, "\n")
                )
        return table

    def _planned_data(self, key: dg.AssetKey) -> dict[str, object]:
        roles = self._plan.roles(key)
        return {
            "asset": key.to_user_string(),
            "requested": sum(map(len, roles.values())),
            "partitions": {
                role: [self._plan.key_of(key, day) for day in days] for role, days in roles.items()
            },
        }

    def _made(self, rows: Sequence[AssetRow]) -> Table:
        table = Table("asset", "requested", "materialized", "first", "last")
        for row in rows:
            made = str(row.materialized)
            made = f"[red]{made}[/red]" if row.materialized < row.requested else made
            table.add_row(row.asset, str(row.requested), made, str(row.first), str(row.last))
        return table

    def _ranges(self, key: dg.AssetKey, days: Sequence[date], separator: str = ", ") -> str:
        return _lines(self._plan.stretches(key, days), separator)


def _lines(ranges: Sequence[Range], separator: str = ", ") -> str:
    return separator.join(str(a) if a == b else f"{a} to {b}" for a, b in ranges)


def _capped(errors: Sequence[str]) -> Iterator[str]:
    yield from errors[:_NAMED_AT_MOST]
    if len(errors) > _NAMED_AT_MOST:
        yield f"{len(errors) - _NAMED_AT_MOST} more failures; the web server shows their runs"
