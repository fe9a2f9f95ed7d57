"""The heat-map of one asset: a row per year, a cell per workday or period, as data and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from itertools import groupby
from typing import Literal

from workday_assets.audit.completeness import Partition
from workday_assets.audit.report import AssetAudit
from workday_assets.automation.periods import Periods
from workday_assets.partitions import WorkdayPartitionsDefinition

Status = Literal[
    "done", "closed", "waiting", "in flight", "missing", "failed", "file", "orphan", "changed"
]
#: What each status means, in the order of the legend.
LEGEND: dict[Status, str] = {
    "done": "done",
    "closed": "closed",
    "missing": "missing",
    "failed": "failed",
    "file": "file lost or damaged",
    "orphan": "made, and closed now",
    "changed": "made from other or older days",
    "in flight": "in flight",
    "waiting": "not due yet",
}
#: These are drawn by stretches; every other cell stands out.
_QUIET = {"done", "closed", "waiting"}
_BY_KIND: list[tuple[set[str], Status]] = [
    ({"failed"}, "failed"),
    ({"missing"}, "missing"),
    ({"orphan"}, "orphan"),
    ({"no file", "damaged"}, "file"),
    ({"drift", "downstream", "outdated"}, "changed"),
]
_LABEL, _MARGIN, _AXIS, _ROW = 30, 44, 13, 9
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One workday or period of a row; `None` stands for a place without one.

    Attributes:
        key: the date or partition key.
        status: what is to be shown.
        words: what a tooltip says.
    """

    key: str
    status: Status
    words: str


Row = tuple[int, list[Cell | None]]


def rows(asset: AssetAudit) -> list[Row]:
    """By year, oldest first, the cells; years of which nothing was looked at are left out."""
    kinds: dict[str, set[str]] = {}
    for finding in asset.findings():
        kinds.setdefault(finding.key, set()).add(finding.kind)
    cells = {
        partition.day: _cell(partition, kinds.get(partition.key, set()))
        for partition in asset.partitions
        if partition.day is not None
    }
    if not cells:
        return []
    if isinstance(asset.dates, WorkdayPartitionsDefinition):
        return _workday_rows(asset.dates, cells)
    return _period_rows(asset.dates, cells)


def _period_rows(periods: Periods, cells: Mapping[date, Cell]) -> list[Row]:
    """A place per period that begins in the year."""
    by_year = groupby((period.first for period in periods.all), key=lambda first: first.year)
    found: list[Row] = [(year, [cells.get(first) for first in firsts]) for year, firsts in by_year]
    return [(year, row) for year, row in found if any(row)]


def _workday_rows(dates: WorkdayPartitionsDefinition, cells: Mapping[date, Cell]) -> list[Row]:
    """A place per weekday on which the calendar is ever open, so that holidays show as gaps."""
    calendar = dates.calendar
    first, last = min(cells), max(cells)
    shown = {day.weekday() for day in calendar.workdays(dates.first_date, dates.last_date)}
    found: list[Row] = []
    for year in range(first.year, last.year + 1):
        start = date(year, 1, 1).toordinal()
        days = map(date.fromordinal, range(start, date(year + 1, 1, 1).toordinal()))
        row: list[Cell | None] = []
        for day in days:
            if day in cells:
                row.append(cells[day])
            elif day.weekday() in shown:
                closed = first <= day <= last and not calendar.is_workday(day)
                words = f"{day:%Y-%m-%d %a}: closed, {calendar.describe(day)}" if closed else ""
                row.append(Cell(str(day), "closed", words) if closed else None)
        found.append((year, row))
    return found


def _cell(partition: Partition, kinds: set[str]) -> Cell:
    status: Status = "done"
    for some, shown in _BY_KIND:
        if kinds & some:
            status = shown
            break
    else:
        if partition.state in ("in flight", "waiting"):
            status = "in flight" if partition.state == "in flight" else "waiting"
    return Cell(partition.key, status, f"{partition.key}: {LEGEND[status]}; {partition.why}")


@dataclass(frozen=True)
class Layout:
    """Where the cells of a map go.

    Attributes:
        rows: by year, oldest first.
        columns: the most cells that a row has.
        pitch: how wide a place is: a year of days, weeks or months fits a laptop's screen.
    """

    rows: Sequence[Row]
    columns: int
    pitch: int

    @classmethod
    def of(cls, asset: AssetAudit) -> Layout:
        """The layout of an asset's map."""
        table = rows(asset)
        columns = max((len(cells) for _, cells in table), default=0)
        if isinstance(asset.dates, WorkdayPartitionsDefinition):
            return cls(table, columns, 5)
        return cls(table, columns, 12 if columns > 12 else 27)

    @property
    def width(self) -> int:
        """In pixels."""
        return _LABEL + self.columns * self.pitch + _MARGIN

    @property
    def height(self) -> int:
        """In pixels."""
        return _AXIS + len(self.rows) * _ROW


def svg(asset: AssetAudit, layout: Layout, name: str) -> str:
    """The map; `name` makes its ids differ from those of other maps on the page."""
    columns, pitch, width, height = layout.columns, layout.pitch, layout.width, layout.height
    parts = [
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(asset.name)}">',
        _patterns(name, pitch),
    ]
    if pitch != 12:  # no month begins with a week
        parts += _axis(columns, pitch)
    for at, (year, cells) in enumerate(layout.rows):
        y = _AXIS + at * _ROW
        parts.append(f'<text class="year" x="{_LABEL - 5}" y="{y + 7.5}">{year}</text>')
        parts += _row(name, cells, pitch, y)
        wrong = sum(cell is not None and _stands_out(cell) for cell in cells)
        if wrong:
            x = _LABEL + columns * pitch + 5
            parts.append(f'<text class="count" x="{x:g}" y="{y + 7.5}">{wrong}</text>')
    return "\n".join([*parts, "</svg>"])


def _stands_out(cell: Cell) -> bool:
    return cell.status not in _QUIET and cell.status != "in flight"


def _axis(columns: int, pitch: int) -> Iterator[str]:
    """The months, at the middle of the place that each begins at."""
    for month, label in enumerate(_MONTHS):
        x = _LABEL + month * columns * pitch / 12
        yield f'<text x="{x:g}" y="{_AXIS - 4}">{label}</text>'


def _patterns(name: str, pitch: int) -> str:
    """Fills that draw a cell per place, so that a stretch of cells is one rectangle."""
    found = []
    for status in sorted(_QUIET):
        found.append(
            f'<pattern id="{name}-{status}" x="{_LABEL}" y="{_AXIS}" width="{pitch:g}"'
            f' height="{_ROW}" patternUnits="userSpaceOnUse"><rect class="{status}"'
            f' width="{pitch - 0.8:g}" height="{_ROW - 1.2:g}"/></pattern>'
        )
    return f"<defs>{''.join(found)}</defs>"


def _row(name: str, cells: Sequence[Cell | None], pitch: int, y: float) -> Iterator[str]:
    """The stretches of quiet cells, then what stands out, on top of them."""
    loud: list[str] = []
    at = 0
    for status, found in groupby(cells, key=lambda cell: cell.status if cell else None):
        stretch = list(found)
        x = _LABEL + at * pitch
        at += len(stretch)
        shown = [cell for cell in stretch if cell is not None]
        if status is None:
            continue
        if status in _QUIET:
            words = shown[0].words
            if len(shown) > 1:
                words = f"{shown[0].key} to {shown[-1].key}: {len(shown)} {LEGEND[status]}"
            yield (
                f'<rect data-status="{status}" data-cells="{len(shown)}" x="{x:g}" y="{y:g}"'
                f' width="{len(shown) * pitch:g}" height="{_ROW}" fill="url(#{name}-{status})">'
                f"<title>{escape(words)}</title></rect>"
            )
            continue
        for place, cell in enumerate(shown):
            inner = mark(cell.status, x + place * pitch, y, pitch - 0.8, _ROW - 1.2)
            loud.append(
                f'<g data-status="{cell.status}" data-cells="1"><title>{escape(cell.words)}</title>'
                f"{inner}</g>"
            )
    yield from loud


def mark(status: Status, x: float, y: float, w: float, h: float) -> str:
    """One cell with its upper left corner at (x, y); each status has a shape of its own."""
    box = f'x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"'
    match status:
        case "failed":
            cross = (
                f"M{x + 0.8:g} {y + 1.2:g}l{w - 1.6:g} {h - 2.4:g}m0 {2.4 - h:g}"
                f"l{1.6 - w:g} {h - 2.4:g}"
            )
            return f'<rect class="failed" {box}/><path class="failed-mark" d="{cross}"/>'
        case "missing":
            return (
                f'<rect class="missing" x="{x + 0.5:g}" y="{y + 0.5:g}" width="{w - 1:g}"'
                f' height="{h - 1:g}"/>'
            )
        case "file":
            return (
                f'<rect class="file" {box}/><rect class="file-mark" x="{x:g}" y="{y + h / 2:g}"'
                f' width="{w:g}" height="{h / 2:g}"/>'
            )
        case "orphan":
            right, down = w / 2 + 1, h / 2 + 1
            return (
                f'<path class="orphan" d="M{x + w / 2:g} {y - 1:g}l{right:g} {down:g}'
                f'l{-right:g} {down:g}l{-right:g} {-down:g}z"/>'
            )
        case "changed":
            return (
                f'<rect class="changed" {box}/><path class="changed-mark"'
                f' d="M{x + 0.6:g} {y + h - 1:g}l{w - 1.2:g} {2 - h:g}"/>'
            )
        case _:
            return f'<rect class="{status.replace(" ", "-")}" {box}/>'
