"""The progress bar of a backfill: partitions made, their rate, and the time left."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Rate(ProgressColumn):
    """Partitions a second since the start."""

    def render(self, task: Task) -> Text:
        elapsed = task.finished_time if task.finished else task.elapsed
        if not elapsed or not task.completed:
            return Text("")
        rate = task.completed / elapsed
        return Text(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")


def partitions_bar(console: Console) -> Progress:
    """A bar for one task, `partitions`; where the output is no terminal, its last state alone."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        refresh_per_second=2,
        speed_estimate_period=120,  # they come in bursts, one per step
    )
