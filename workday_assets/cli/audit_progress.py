"""How long work goes on, as bars on standard error: standard output is for the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from workday_assets.audit.records import Begin


@contextmanager
def progress() -> Iterator[Begin]:
    """Bars that are gone at the end of the block."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:

        def begin(what: str, total: int) -> Callable[[int], object]:
            task = bars.add_task(what, total=total)
            return lambda count: bars.advance(task, count)

        yield begin
