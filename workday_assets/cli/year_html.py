"""A calendar year as one self-contained page: twelve months with tooltips, then tables."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from workday_assets.calendars.year import CalendarYear, State, YearDay, YearMonth
from workday_assets.cli import year_words as words

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{totals}</p>
{note}<ul class="legend">
{legend}
</ul>
<main class="months">
{months}
</main>
<div class="lists">
{lists}
<section>
<h2>About this calendar</h2>
<dl>
{facts}
</dl>
</section>
</div>
</body>
</html>
"""


def render(year: CalendarYear) -> str:
    """The page, which refers to nothing outside itself."""
    note = words.bounds_note(year)
    return _PAGE.format(
        title=escape(f"{year.calendar.name} {year.year}"),
        style=files(__package__).joinpath("year.css").read_text("utf-8"),
        totals=escape(words.totals(year)),
        note=f'<p class="note">{escape(note)}</p>\n' if note else "",
        legend="\n".join(map(_legend_item, words.legend(year))),
        months="\n".join(map(_month, year.months)),
        lists="\n".join(map(_section, words.sections(year))),
        facts="\n".join(
            f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>"
            for label, value in words.facts(year)
        ),
    )


def _class(state: State) -> str:
    return state.replace(" ", "-")


def _number(number: int, state: State) -> str:
    """A day of the month with its mark; weekends are plain enough without one."""
    mark = "" if state == "weekend" else words.MARKS[state]
    return f"{number}<small>{mark}</small>" if mark else f"{number}"


def _legend_item(state: State) -> str:
    label = escape(words.LABELS[state])
    return f'<li><span class="{_class(state)}">{_number(17, state)}</span>{label}</li>'


def _month(month: YearMonth) -> str:
    heading = "".join(f'<th scope="col">{weekday}</th>' for weekday in words.WEEKDAYS)
    cells = ["<td></td>"] * month.first.weekday() + [_cell(day) for day in month.days]
    weeks = ("".join(cells[at : at + 7]) for at in range(0, len(cells), 7))
    rows = "\n".join(f"<tr>{week}</tr>" for week in weeks)
    return (
        f'<table class="month">\n<caption>{month.first:%B} <span>{words.count(month)}</span>'
        f"</caption>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _cell(day: YearDay) -> str:
    if day.state == "workday":
        return f"<td>{day.day.day}</td>"
    tooltip = escape(words.sentence(day))
    number = _number(day.day.day, day.state)
    return f'<td class="{_class(day.state)}" title="{tooltip}">{number}</td>'


def _section(section: words.Section) -> str:
    rows = "\n".join(
        f'<tr><td>{day.day:%A}</td><td><time datetime="{day.day}">{day.day}</time></td>'
        f"<td>{escape(words.remark(day, section))}</td></tr>"
        for day in section.days
    )
    return (
        f"<section>\n<h2>{escape(section.title)}: {len(section.days)}</h2>\n<table>\n<thead><tr>"
        '<th scope="col">Weekday</th><th scope="col">Date</th><th scope="col">Remark</th></tr>'
        f"</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</section>"
    )
