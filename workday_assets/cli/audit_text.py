"""An audit for a terminal: a row per asset, then a line per stretch of findings."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from workday_assets.audit.report import Audit
from workday_assets.cli import audit_words as words


def show(console: Console, audit: Audit, where: str) -> None:
    """Print the audit."""
    console.print(escape(where), soft_wrap=True)
    console.print(escape(words.scope(audit)), soft_wrap=True)
    console.print(_table(audit))
    for asset in audit.assets:
        for stretch in words.stretches(asset):
            keys = f" {stretch.keys}" if stretch.keys else ""
            line = f"{asset.name}{keys}: {stretch.kind}: {stretch.what}"
            console.print(escape(line), soft_wrap=True)
    style = "bold red" if audit.findings else "bold green"
    console.print(words.verdict(audit), style=style, soft_wrap=True)


def _table(audit: Audit) -> Table:
    table = Table("asset", "expected", "materialized", "wrong")
    for column in table.columns[1:3]:
        column.justify = "right"
    for asset in audit.assets:
        counts = asset.counts()
        wrong = ", ".join(
            f"{counts[kind]:,} {kind if counts[kind] == 1 else name}"
            for kind, name in words.KINDS.items()
            if counts[kind]
        )
        row = (asset.name, f"{asset.expected:,}", f"{asset.materialized:,}")
        table.add_row(*row, f"[red]{wrong}[/]" if wrong else "nothing")
    return table
