"""A calendar year in a terminal: twelve months, then the days that need a word."""

from __future__ import annotations

from itertools import zip_longest

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from workday_assets.calendars.year import CalendarYear, State, YearDay, YearMonth
from workday_assets.cli import year_words as words

_MONTH_WIDTH = 21  # seven days of two digits and a mark
_GAP = 4
_STYLES: dict[State, str] = {
    "workday": "",
    "holiday": "bold white on red",
    "closure": "bold white on magenta",
    "weekend": "dim",
    "extra workday": "black on green",
    "half day": "black on yellow",
    "outside bounds": "dim",
}


def render(year: CalendarYear, width: int) -> RenderableType:
    """The year for a terminal of `width` columns; its marks say everything without colour too."""
    title = Text(f"{year.calendar.name} {year.year}: {words.totals(year)}", style="bold")
    blocks: list[RenderableType] = [title]
    if note := words.bounds_note(year):
        blocks.append(Text(note))
    blocks += ["", _grid(year, width), "", _legend(year), ""]
    for section in words.sections(year):
        blocks += [*_section(section), ""]
    return Group(*blocks, _facts(year))


def _grid(year: CalendarYear, width: int) -> Text:
    """The months, as many side by side as fit into `width`, of one, two, three and four."""
    across = max(1, min(4, (width + _GAP) // (_MONTH_WIDTH + _GAP)))
    bands = []
    for start in range(0, 12, across):
        blocks = [_month(month) for month in year.months[start : start + across]]
        lines = zip_longest(*blocks, fillvalue=Text(" " * _MONTH_WIDTH))
        bands.append(Text("\n").join(Text(" " * _GAP).join(line) for line in lines))
    return Text("\n\n").join(bands)


def _month(month: YearMonth) -> list[Text]:
    """Title, weekdays, and one line for each week; every line of the same width."""
    name, count = f"{month.first:%B}", words.count(month)
    title = Text(name, style="bold")
    title.append(count.rjust(_MONTH_WIDTH - len(name)), style="not bold")
    heading = Text("".join(f"{weekday} " for weekday in words.WEEKDAYS), style="underline")
    cells = [Text("   ")] * month.first.weekday() + [_cell(day) for day in month.days]
    cells += [Text("   ")] * (-len(cells) % 7)
    weeks = [Text().join(cells[at : at + 7]) for at in range(0, len(cells), 7)]
    return [title, heading, *weeks]


def _cell(day: YearDay) -> Text:
    return Text(f"{day.day.day:2}{words.MARKS[day.state]}", style=_STYLES[day.state])


def _legend(year: CalendarYear) -> Columns:
    """The marks of the states that occur in the year."""
    return Columns(
        [
            Text.assemble((f" {words.MARKS[state]} ", _STYLES[state]), f" {words.LABELS[state]}")
            for state in words.legend(year)
        ],
        padding=(0, 3, 0, 0),
    )


def _section(section: words.Section) -> tuple[Text, Table]:
    """A list of days with weekday, date and remark; long remarks wrap in their own column."""
    title = Text(f"{section.title}: {len(section.days)}", style="bold")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for day in section.days:
        mark = Text(f" {words.MARKS[section.state]} ", style=_STYLES[section.state])
        table.add_row(
            Text.assemble(mark, f" {day.day:%a %Y-%m-%d}"), Text(words.remark(day, section))
        )
    return title, table


def _facts(year: CalendarYear) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, value in words.facts(year):
        table.add_row(Text(label, style="dim"), Text(value))
    return table
