"""A month of reference rates as a picture, small enough for the metadata of its partition.

Drawn as SVG text by hand: a plotting library takes 70 ms and 35 kB for a picture like this one,
24 s for every month since 1999, and is a dependency of seven packages.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from datetime import date
from math import sqrt
from typing import Final

import dagster as dg
import numpy as np
import numpy.typing as npt
import pandas as pd

from workday_assets.ecb.transforms import WORKDAYS_A_YEAR

Numbers = npt.NDArray[np.float64]

#: Colour by currency, those with a rate on every workday since 1999, told apart with every colour
#: vision: M. Okabe and K. Ito, Color Universal Design (2008). Each line is also named at its end.
COLOURS: Final = {"USD": "#0072B2", "JPY": "#D55E00", "GBP": "#009E73", "CHF": "#CC79A7"}

# The picture and the field of the lines in it, in pixels; the bars are below it.
_WIDTH, _HEIGHT = 640, 392
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 590, 44, 262
_NAME_HEIGHT: Final = 15
_BARS_TOP, _BAR_HEIGHT, _LONGEST_BAR = 322, 9, 440
_INK, _GRID = "#333", "#ddd"
#: Grid lines, at most, above or below the lowest one.
_STEPS: Final = 6


def month_chart(rates: pd.DataFrame, first: date) -> dg.MarkdownMetadataValue:
    """How far the euro moved in a month against main currencies: a picture, inside Markdown.

    Each line is the change of the units per euro since the month's first day with rates, in
    percent: up is where the euro gains. A dot is a day with rates. A bar is a currency's volatility
    in the month: the sample standard deviation of the log returns from each day with rates to the
    next, times the square root of 252; it needs two returns. (`volatility_20d` also sees the months
    before.) The picture is an SVG of about 7 kB inside its own address (``data:``): Dagster's pages
    show it, and no server has to keep it.

    Args:
        rates: what `transforms.reference_rates` returns; other months are left out.
        first: the first date of the month.
    """
    moves = _moves(rates, first)
    if moves.empty:
        return dg.MetadataValue.md(f"No rates in {first:%B %Y}.")
    title = f"What one euro buys, {first:%B %Y}: change since {moves.index[0]:%Y-%m-%d}"
    picture = base64.b64encode(_svg(moves, title).encode()).decode()
    return dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{picture})")


def _moves(rates: pd.DataFrame, first: date) -> pd.DataFrame:
    """Change since the first day in percent: a row per day with rates, a column per currency."""
    month = np.datetime64(first, "M")
    bounds = np.array([month, month + 1], dtype="datetime64[ms]")
    start, end = rates["date"].to_numpy().searchsorted(bounds)
    month_rates = rates.iloc[start:end]
    main = month_rates[month_rates["currency"].isin(list(COLOURS))]
    wide = main.pivot(index="date", columns="currency", values="rate").dropna(axis="columns")
    return (wide.div(wide.to_numpy()[:1]) - 1) * 100


def _svg(moves: pd.DataFrame, title: str) -> str:
    percent = moves.to_numpy(dtype="float64")
    ticks = _ticks(percent.min(), percent.max())
    scale = (_BOTTOM - _TOP) / (ticks[-1] - ticks[0])
    days = pd.DatetimeIndex(moves.index)
    width = (_RIGHT - _LEFT) / days[0].days_in_month
    x = _LEFT + (days.day.to_numpy() - 0.5) * width
    y = dict(zip(moves.columns, (_BOTTOM - (percent - ticks[0]) * scale).T, strict=True))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="12" y="22" font-size="14" font-weight="bold" fill="{_INK}">{title}</text>',
        *_grid(ticks, scale),
        *_mondays(days[0], width),
        *_lines(x, y),
        *_names({name: values[-1] for name, values in y.items()}),
        *_volatility(moves),
        "</svg>",
    ]
    return "".join(parts)


def _ticks(low: float, high: float) -> Numbers:
    """Round numbers with equal steps around the values and zero, at least two."""
    low, high = min(low, 0.0), max(high, 0.0)
    rough = max(high - low, 0.01) / _STEPS
    magnitude = 10.0 ** np.floor(np.log10(rough))
    step = next(magnitude * unit for unit in (1, 2, 5, 10) if magnitude * unit >= rough)
    count = np.arange(np.floor(low / step), max(np.ceil(high / step), 1) + 1)
    return np.asarray(count * step, dtype="float64")


def _grid(ticks: Numbers, scale: float) -> Iterator[str]:
    for tick in ticks:
        y = _BOTTOM - (tick - ticks[0]) * scale
        colour = _GRID if round(tick, 9) else "#888"
        yield f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="{colour}"/>'
        yield _text(_LEFT - 8, y + 4, f"{tick:+.3g} %" if round(tick, 9) else "0 %", "end")


def _mondays(day_of_month: pd.Timestamp, width: float) -> Iterator[str]:
    to_monday = -day_of_month.replace(day=1).weekday() % 7
    for day in range(1 + to_monday, day_of_month.days_in_month + 1, 7):
        x = _LEFT + (day - 0.5) * width
        yield f'<path d="M{x:.1f} {_BOTTOM}v5" stroke="{_INK}"/>'
        yield _text(x, _BOTTOM + 20, f"Mon {day}", "middle")


def _lines(x: Numbers, y: Mapping[str, Numbers]) -> Iterator[str]:
    for name, values in y.items():
        points = [f"{a:.1f} {b:.1f}" for a, b in zip(x, values, strict=True)]
        style = f'stroke="{COLOURS[name]}" fill="none" stroke-linecap="round"'
        yield f'<path d="M{"L".join(points)}" {style} stroke-width="2"/>'
        yield f'<path d="{"".join(f"M{point}h0" for point in points)}" {style} stroke-width="5"/>'


def _names(ends: Mapping[str, float]) -> Iterator[str]:
    """The currencies beside their lines' ends, moved apart where they would meet."""
    names = sorted(ends, key=ends.__getitem__)
    wanted = np.array([ends[name] for name in names])
    steps = np.arange(len(names)) * _NAME_HEIGHT
    apart = np.maximum.accumulate(wanted - steps) + steps
    for name, y in zip(names, apart - (apart - wanted).mean(), strict=True):
        yield _text(_RIGHT + 8, y + 4, name, "start", f'font-weight="bold" fill="{COLOURS[name]}"')


def _volatility(moves: pd.DataFrame) -> Iterator[str]:
    """Under the field, a bar per currency, the most volatile first."""
    returns = (moves / 100 + 1).apply(np.log).diff().dropna()
    if len(returns) < 2:
        return
    bars = (returns.std(ddof=1) * sqrt(WORKDAYS_A_YEAR) * 100).sort_values(ascending=False)
    title = f"Volatility of the month's {len(returns)} daily returns, a year"
    yield _text(_LEFT, _BARS_TOP - 8, title, "start", f'font-weight="bold" fill="{_INK}"')
    scale = _LONGEST_BAR / max(bars.iloc[0], 0.01)
    for at, (name, percent) in enumerate(bars.items()):
        y, width = _BARS_TOP + at * _NAME_HEIGHT, percent * scale
        fill = f'fill="{COLOURS[str(name)]}"'
        yield f'<path d="M{_LEFT} {y}h{width:.1f}v{_BAR_HEIGHT}H{_LEFT}z" {fill} stroke="none"/>'
        label = f"{name} {percent:.1f} %"
        yield _text(
            _LEFT + width + 8, y + _BAR_HEIGHT, label, "start", f'font-weight="bold" {fill}'
        )


def _text(x: float, y: float, words: str, anchor: str, style: str = f'fill="{_INK}"') -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{words}</text>'
