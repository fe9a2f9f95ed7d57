"""Measurements as a table to read, and as JSON to keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

#: One measurement: by column what it is of, and its figures.
Row = dict[str, Any]


def show(console: Console, title: str, rows: Sequence[Row]) -> None:
    """Print rows that have the same columns."""
    table = Table(*rows[0], title=title, title_justify="left")
    for row in rows:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else f"{v}" for v in row.values()))
    console.print(table)


def write(file: Path, sections: Mapping[str, Sequence[Row]]) -> None:
    """Write sections of rows by title."""
    file.write_text(json.dumps(sections, indent=2), "utf-8")
