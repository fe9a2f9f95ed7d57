"""The monthly picture: what its lines say, read back from the picture itself."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import date
from itertools import pairwise
from math import log, sqrt
from statistics import stdev
from xml.etree import ElementTree

import pandas as pd
import pytest
from support.ecb import read_history

from workday_assets.ecb.charts import COLOURS, month_chart

HISTORY = read_history()
MONTHS = sorted({day.replace(day=1) for day in HISTORY})
SVG = "{http://www.w3.org/2000/svg}"


def long(history: Mapping[date, Mapping[str, float]]) -> pd.DataFrame:
    """A table of reference rates, by date and currency."""
    rows = [(day, name, rate) for day, of in history.items() for name, rate in sorted(of.items())]
    frame = pd.DataFrame(rows, columns=["date", "currency", "rate"])
    return frame.astype({"date": "datetime64[ms]", "currency": "str", "rate": "float64"})


RATES = long(HISTORY)


def picture(rates: pd.DataFrame, month: date) -> ElementTree.Element:
    """The picture inside the Markdown, parsed."""
    found = re.fullmatch(
        r"!\[[^\]]+\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)",
        month_chart(rates, month).value or "",
    )
    assert found is not None
    return ElementTree.fromstring(base64.b64decode(found[1]))  # noqa: S314 - our own picture


def texts(root: ElementTree.Element) -> dict[str, float]:
    """Every text and its height in the picture."""
    return {str(text.text): float(text.attrib["y"]) for text in root.iter(f"{SVG}text")}


def line(root: ElementTree.Element, colour: str) -> list[tuple[float, float]]:
    """The corners of the line of a colour."""
    (found,) = [
        path.attrib["d"]
        for path in root.iter(f"{SVG}path")
        if path.attrib["stroke"] == colour and "L" in path.attrib["d"]
    ]
    pairs = (pair.split(" ") for pair in found.removeprefix("M").split("L"))
    return [(float(x), float(y)) for x, y in pairs]


def bar(root: ElementTree.Element, colour: str) -> tuple[float, float]:
    """Top and width of the bar of a colour."""
    (found,) = [path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("fill") == colour]
    match = re.fullmatch(r"M\S+ (\S+?)h([0-9.]+)v.*", found)
    assert match is not None
    return float(match[1]), float(match[2])


def test_a_line_is_the_change_since_the_first_day() -> None:
    """100, 102 and 99 are drawn at 0, +2 and -1 percent of the axis, on the 2nd, 5th and 7th."""
    history = {
        date(2026, 1, 2): {"USD": 100.0},
        date(2026, 1, 5): {"USD": 102.0},
        date(2026, 1, 7): {"USD": 99.0},
    }
    root = picture(long(history), date(2026, 1, 1))
    points = line(root, COLOURS["USD"])
    marks = texts(root)
    middle = 4  # pixels from a label's base line to the grid line that it names
    assert [y + middle for _, y in points] == pytest.approx(
        [marks["0 %"], marks["+2 %"], marks["-1 %"]], abs=0.1
    )
    (first, _), (second, _), (third, _) = points
    assert (second - first) / 3 == pytest.approx((third - second) / 2, abs=0.1)


def test_the_title_and_the_mondays_are_the_months() -> None:
    """January 2026: rates from Friday the 2nd on, and Mondays on the 5th, 12th, 19th and 26th."""
    words = texts(picture(RATES, date(2026, 1, 1)))
    assert "What one euro buys, January 2026: change since 2026-01-02" in words
    assert [word for word in words if word.startswith("Mon")] == [
        "Mon 5", "Mon 12", "Mon 19", "Mon 26",
    ]  # fmt: skip


def test_a_bar_is_the_volatility_of_the_months_returns() -> None:
    """January 2026, 20 returns: the statistics module's deviation of the logarithms, a year."""
    root = picture(RATES, date(2026, 1, 1))
    words = texts(root)
    assert "Volatility of the month's 20 daily returns, a year" in words
    wanted = {}
    for name in COLOURS:
        rates = [of[name] for day, of in HISTORY.items() if (day.year, day.month) == (2026, 1)]
        returns = [log(after / before) for before, after in pairwise(rates)]
        assert len(returns) == 20
        wanted[name] = stdev(returns) * sqrt(252) * 100
    labels = {name: f"{name} {percent:.1f} %" for name, percent in wanted.items()}
    assert set(labels.values()) <= set(words)
    bars = {name: bar(root, colour) for name, colour in COLOURS.items()}
    widths = {name: width for name, (_, width) in bars.items()}
    most = max(wanted, key=wanted.__getitem__)
    assert {name: width / widths[most] for name, width in widths.items()} == pytest.approx(
        {name: percent / wanted[most] for name, percent in wanted.items()}, abs=0.001
    )
    assert sorted(wanted, key=lambda name: bars[name]) == sorted(wanted, key=lambda n: -wanted[n])


def test_one_return_has_no_volatility() -> None:
    """Two days of rates: a deviation would be a guess."""
    history = {date(2026, 1, 2): {"USD": 100.0}, date(2026, 1, 5): {"USD": 102.0}}
    words = texts(picture(long(history), date(2026, 1, 1)))
    assert not [word for word in words if word.startswith("Volatility") or "USD " in word]


def test_a_months_line_has_its_own_days_only() -> None:
    """January 2026 has 21 workdays, for each of the four currencies, from a table of all months."""
    root = picture(RATES, date(2026, 1, 1))
    assert {name: len(line(root, colour)) for name, colour in COLOURS.items()} == {
        "USD": 21, "JPY": 21, "GBP": 21, "CHF": 21,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("days", "words"),
    [
        pytest.param({}, "No rates in January 2026.", id="no day"),
        pytest.param(
            {date(2025, 12, 31): {"USD": 1.0}, date(2026, 2, 2): {"USD": 1.0}},
            "No rates in January 2026.",
            id="other months",
        ),
    ],
)
def test_a_month_without_rates_says_so(
    days: Mapping[date, Mapping[str, float]], words: str
) -> None:
    """Words instead of an empty picture."""
    assert month_chart(long(days), date(2026, 1, 1)).value == words


@pytest.mark.parametrize(
    "rate", [pytest.param([1.1], id="one day"), pytest.param([1.1, 1.1], id="no change")]
)
def test_a_month_without_movement_is_drawn(rate: list[float]) -> None:
    """Nothing to scale by is no error, and the line lies on zero."""
    history = {date(2026, 1, 2 + 3 * at): {"USD": value} for at, value in enumerate(rate)}
    words = texts(picture(long(history), date(2026, 1, 1)))
    assert words["USD"] == pytest.approx(words["0 %"], abs=0.1)


def test_every_month_is_small_and_keeps_its_names_apart() -> None:
    """All months since 1999: under 9 kB, inside the field, and no name is written over another."""
    for month in MONTHS:
        value = month_chart(RATES, month).value or ""
        assert len(value) < 9_000
        words = texts(picture(RATES, month))
        heights = sorted(words[name] for name in COLOURS)
        gaps = [below - above for above, below in pairwise(heights)]
        assert min(gaps) > 14
        assert heights[0] > 30
        assert heights[-1] < 290


def test_the_same_rates_give_the_same_picture() -> None:
    """Also from the month's own rows alone."""
    own = {day: of for day, of in HISTORY.items() if (day.year, day.month) == (2026, 1)}
    alone = month_chart(long(own), date(2026, 1, 1))
    assert alone.value == month_chart(RATES, date(2026, 1, 1)).value
