"""What every materialization records of its rows, its calendar and its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import dagster as dg
import pandas as pd

from workday_assets.calendars import WorkdayCalendar
from workday_assets.storage import partition_metadata

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


def found_metadata(expected: Sequence[date], found: Sequence[date]) -> dict[str, Any]:
    """How many workdays a period has and how many of them it was made of, in numbers and words."""
    missing = [str(day) for day in expected if day not in set(found)]
    words = f"expected {len(expected)}, found {len(found)}"
    return {
        "workday/expected": len(expected),
        "workday/found": len(found),
        "workday/completeness": f"{words}: {', '.join(missing)}" if missing else words,
    }


def rows_metadata(rows: pd.DataFrame, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For each key the date, its number of rows, and its first rows as a table.

    Args:
        rows: a column ``date``, sorted by it, and columns to show.
        keys: ISO dates; those without rows have none to show.
    """
    columns = [name for name in rows.columns if name != "date"]
    values = [rows[name].tolist() for name in columns]
    dates = rows["date"].to_numpy(dtype="datetime64[D]")
    days = pd.to_datetime(list(keys)).to_numpy(dtype="datetime64[D]")
    bounds = zip(dates.searchsorted(days), dates.searchsorted(days, side="right"), strict=True)
    return {
        key: {
            "date": key,
            "dagster/partition_row_count": int(end - start),
            "preview": _preview(columns, [column[start:end][:_SHOWN_ROWS] for column in values]),
        }
        for key, (start, end) in zip(keys, bounds, strict=True)
    }


def add_partition_metadata(
    context: dg.AssetExecutionContext, metadata: Mapping[str, Mapping[str, Any]]
) -> None:
    """Add metadata to the materializations of the run's partitions, by partition key."""
    step = context.op_execution_context._step_execution_context
    partition_metadata.add_partition_metadata(step, context.asset_key, metadata)


def _described(keys: Sequence[str]) -> dict[str, Any]:
    return {
        "count": len(keys),
        "first": keys[0] if keys else None,
        "last": keys[-1] if keys else None,
        "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest(),
    }


def _preview(columns: list[str], values: list[list[Any]]) -> dg.MarkdownMetadataValue:
    lines = [_row(columns), _row("---" for _ in columns)]
    lines += [_row(map(_cell, row)) for row in zip(*values, strict=True)]
    return dg.MetadataValue.md("\n".join(lines))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
