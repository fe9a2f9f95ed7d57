from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date

import numpy as np
import pandas as pd
import pytest

from workday_assets.ecb import transforms
from workday_assets.errors import InvalidInputError

# The ECB's rates of 1999-01-04, -05 and 2026-10-30 (eurofxref-hist.csv), some columns. CYP was
# quoted until 2007, CNY is quoted since 2005.
DAYS = ["2026-10-30", "1999-01-04", "1999-01-05"]
WIDE = pd.DataFrame(
    {
        "USD": [1.1172, 1.1789, 1.1790],
        "CYP": [np.nan, 0.58231, 0.58230],
        "CNY": [7.4326, np.nan, np.nan],
    },
    index=pd.DatetimeIndex(DAYS, name="date").as_unit("ms"),
)


def table(value: str, *rows: tuple[str, str, float]) -> pd.DataFrame:
    """A long table as the module documents it."""
    return pd.DataFrame(
        {
            "date": pd.Series([row[0] for row in rows], dtype="datetime64[ms]"),
            "currency": pd.Series([row[1] for row in rows], dtype="str"),
            value: pd.Series([row[2] for row in rows], dtype="float64"),
        }
    )


RATES = table(
    "rate",
    ("1999-01-04", "CYP", 0.58231),
    ("1999-01-04", "USD", 1.1789),
    ("1999-01-05", "CYP", 0.58230),
    ("1999-01-05", "USD", 1.1790),
    ("2026-10-30", "CNY", 7.4326),
    ("2026-10-30", "USD", 1.1172),
)


def test_reference_rates_has_a_row_per_quoted_currency() -> None:
    """Unordered wide days become long rows by date and currency, without those not quoted."""
    pd.testing.assert_frame_equal(transforms.reference_rates(WIDE), RATES)


def test_reference_rates_of_one_day_equal_that_day_among_many() -> None:
    """One day alone gives the rows it has in a table of all days."""
    pd.testing.assert_frame_equal(
        transforms.reference_rates(WIDE.loc[["1999-01-05"]]),
        table("rate", ("1999-01-05", "CYP", 0.58230), ("1999-01-05", "USD", 1.1790)),
    )


def test_usd_crosses_divides_by_the_dollar_of_the_same_day() -> None:
    """Units per euro over dollars per euro; the euro is a row, the dollar is not."""
    expected = table(
        "rate",
        ("1999-01-04", "CYP", 0.58231 / 1.1789),
        ("1999-01-04", "EUR", 1 / 1.1789),
        ("1999-01-05", "CYP", 0.58230 / 1.1790),
        ("1999-01-05", "EUR", 1 / 1.1790),
        ("2026-10-30", "CNY", 7.4326 / 1.1172),
        ("2026-10-30", "EUR", 1 / 1.1172),
    )
    pd.testing.assert_frame_equal(transforms.usd_crosses(RATES), expected)


def test_usd_crosses_needs_the_dollar() -> None:
    """A day with rates but no dollar is refused by its date, never left out."""
    rates = RATES.drop(index=3)
    with pytest.raises(InvalidInputError, match="rates has no USD row on 1999-01-05"):
        transforms.usd_crosses(rates)


def test_returns_are_logarithms_against_the_named_previous_day() -> None:
    """Only currencies quoted on both days of a pair have a return; other days are left out."""
    pairs = [(date(2026, 10, 30), date(1999, 1, 5)), (date(1999, 1, 5), date(1999, 1, 4))]
    expected = table(
        "log_return",
        ("1999-01-05", "CYP", math.log(0.58230 / 0.58231)),
        ("1999-01-05", "USD", math.log(1.1790 / 1.1789)),
        ("2026-10-30", "USD", math.log(1.1172 / 1.1790)),
    )
    pd.testing.assert_frame_equal(transforms.returns(RATES, RATES, pairs), expected)


def test_returns_of_one_pair_take_two_tables() -> None:
    """The day and its previous workday may come as two tables, as in a run of one partition."""
    found = transforms.returns(
        RATES.iloc[2:4], RATES.iloc[:2], [(date(1999, 1, 5), date(1999, 1, 4))]
    )
    expected = table(
        "log_return",
        ("1999-01-05", "CYP", math.log(0.58230 / 0.58231)),
        ("1999-01-05", "USD", math.log(1.1790 / 1.1789)),
    )
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("days", "previous", "parameter", "day"),
    [
        pytest.param(slice(0, 2), slice(0, 2), "rates", "1999-01-05", id="day"),
        pytest.param(slice(2, 4), slice(2, 4), "previous", "1999-01-04", id="previous day"),
    ],
)
def test_returns_need_both_days(days: slice, previous: slice, parameter: str, day: str) -> None:
    """A pair without rows on one side is refused by its date, never left out."""
    with pytest.raises(InvalidInputError, match=f"{parameter} has no rows of {day}"):
        transforms.returns(
            RATES.iloc[days], RATES.iloc[previous], [(date(1999, 1, 5), date(1999, 1, 4))]
        )


def test_first_day_has_an_empty_typed_table_of_returns() -> None:
    """Without a pair, as on 1999-01-04, columns and types are there and rows are not."""
    found = transforms.returns(RATES.iloc[:2], RATES.iloc[:0], [])
    pd.testing.assert_frame_equal(found, table("log_return"))


@pytest.mark.parametrize(
    ("transform", "days"),
    [
        pytest.param(transforms.reference_rates, WIDE, id="reference_rates"),
        pytest.param(transforms.usd_crosses, RATES, id="usd_crosses"),
    ],
)
def test_no_days_give_an_empty_typed_table(
    transform: Callable[[pd.DataFrame], pd.DataFrame], days: pd.DataFrame
) -> None:
    """No day in gives no row out, in columns of the same types."""
    pd.testing.assert_frame_equal(transform(days.iloc[:0]), table("rate"))


def test_inputs_are_left_as_they_were() -> None:
    """No transform changes the table it is given."""
    wide, rates = WIDE.copy(deep=True), RATES.copy(deep=True)
    transforms.reference_rates(wide)
    transforms.usd_crosses(rates)
    transforms.returns(rates, rates, [(date(1999, 1, 5), date(1999, 1, 4))])
    pd.testing.assert_frame_equal(wide, WIDE)
    pd.testing.assert_frame_equal(rates, RATES)
