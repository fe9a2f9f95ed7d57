"""What every materialization records of its rows, its calendar and its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg
import pandas as pd

from workday_assets.calendars import WorkdayCalendar

_SHOWN_ROWS = 8


def calendar_metadata(calendar: WorkdayCalendar) -> dict[str, Any]:
    """`workday/calendar`: the calendar's name and the fingerprint of its days."""
    return {
        "workday/calendar": dg.MetadataValue.json(
            {"name": calendar.name, "fingerprint": calendar.fingerprint}
        )
    }


def inputs_metadata(inputs: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """`workday/inputs`: per upstream asset the count, first, last and SHA-256 of its keys.

    The digest is of the keys in order, joined by newlines, in UTF-8; of no keys, of the empty text.
    """
    return {
        "workday/inputs": dg.MetadataValue.json(
            {asset: _described(keys) for asset, keys in sorted(inputs.items())}
        )
    }


def rows_metadata(day: str, rows: pd.DataFrame) -> dict[str, Any]:
    """The partition's date, its number of rows, and its first rows as a table."""
    return {
        "date": day,
        "dagster/partition_row_count": len(rows),
        "preview": dg.MetadataValue.md(_table(rows.head(_SHOWN_ROWS))),
    }


def _described(keys: Sequence[str]) -> dict[str, Any]:
    return {
        "count": len(keys),
        "first": keys[0] if keys else None,
        "last": keys[-1] if keys else None,
        "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest(),
    }


def _table(rows: pd.DataFrame) -> str:
    shown = rows.drop(columns="date")
    lines = [_row(shown.columns), _row("---" for _ in shown.columns)]
    lines += [_row(_cell(value) for value in row) for row in shown.itertuples(index=False)]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
