"""Tables of rates, as functions of tables: pandas in, pandas out, nothing read or written.

Every table is long and sorted by its key (date, currency): ``date`` is a naive midnight,
``datetime64[ms]``; ``currency`` an ISO 4217 code; the value a float64. A currency has rows only on
the days on which the ECB quotes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

import numpy as np
import pandas as pd

from workday_assets.errors import InvalidInputError

_KEY = ["date", "currency"]
_DATE: Final = "datetime64[ms]"
#: Returns in a window of `volatility`, and workdays in a year.
WINDOW: Final = 20
WORKDAYS_A_YEAR: Final = 252


def reference_rates(wide: pd.DataFrame) -> pd.DataFrame:
    """One row per day and currency quoted that day: date, currency, rate (units per euro).

    Args:
        wide: index of days, a column per currency, NaN where not quoted.
    """
    ordered = wide.sort_index().sort_index(axis="columns")
    values = ordered.to_numpy(dtype="float64")
    row, column = np.nonzero(~np.isnan(values))
    return _long(ordered.index[row], ordered.columns[column], "rate", values[row, column])


def usd_crosses(rates: pd.DataFrame) -> pd.DataFrame:
    """Every currency against the US dollar: date, currency, rate (units per US dollar).

    The rate is (units per euro) / (US dollars per euro) of the same day. The euro itself is a row,
    1 / (US dollars per euro); the dollar, always 1, is not.

    Args:
        rates: what `reference_rates` returns.

    Raises:
        InvalidInputError: a day has rates but none of the US dollar.
    """
    usd = rates.loc[rates["currency"] == "USD"].set_index("date")["rate"]
    per_euro = rates["date"].map(usd)
    if per_euro.isna().any():
        day = rates.loc[per_euro.isna(), "date"].iloc[0].date()
        raise InvalidInputError(
            f"rates has no USD row on {day}, so nothing can be stated against it that day."
        )
    others = rates["currency"] != "USD"
    dates = np.concatenate([rates["date"].to_numpy()[others], usd.index.to_numpy()])
    currencies = [*rates["currency"][others], *["EUR"] * len(usd)]
    crosses = np.concatenate([(rates["rate"] / per_euro)[others], 1 / usd])
    return _long(dates, currencies, "rate", crosses)


def returns(
    rates: pd.DataFrame, previous: pd.DataFrame, pairs: Sequence[tuple[date, date]]
) -> pd.DataFrame:
    """Log returns against the previous workday: date, currency, log_return.

    ln(rate of the day / rate of the previous workday), of units per euro: positive when the
    currency loses against the euro. Only currencies quoted on both days have a row.

    Args:
        rates: what `reference_rates` returns, for the days; further days are left out.
        previous: the same for their previous workdays; it may be the same table.
        pairs: (day, previous workday); none gives an empty table.

    Raises:
        InvalidInputError: a day of `pairs` has no rows.
    """
    days = pd.DataFrame(pairs, columns=["date", "previous"]).astype(_DATE)
    _require("rates", rates, days["date"])
    _require("previous", previous, days["previous"])
    before = previous.rename(columns={"date": "previous", "rate": "before"})
    both = rates.merge(days, on="date", validate="many_to_one").merge(
        before, on=["previous", "currency"], validate="many_to_one"
    )
    log_return = np.log(both["rate"].to_numpy() / both["before"].to_numpy())
    return _long(both["date"], both["currency"], "log_return", log_return)


def volatility(
    returns: pd.DataFrame, days: Sequence[date], workdays: Sequence[date]
) -> pd.DataFrame:
    """Annualized volatility of the last 20 returns: date, currency, volatility, returns.

    The sample standard deviation (divisor 19) of the log returns of the 20 workdays up to the day,
    the day included, times the square root of 252. A currency has a row on the days on which it
    has a return; where the window holds fewer than 20 of them, ``returns`` says how many (int64),
    and ``volatility`` is NaN.

    Args:
        returns: what `returns` returns, for all `workdays`.
        days: the days to make.
        workdays: consecutive workdays, ascending, that hold each day and the 19 before it, as
            far as there are any.
    """
    wide = returns.pivot(index="date", columns="currency", values="log_return")
    ordered = wide.reindex(_index(workdays)).sort_index(axis="columns")
    before = np.full((WINDOW - 1, ordered.shape[1]), np.nan)
    values = np.concatenate([before, ordered.to_numpy(dtype="float64")])
    # One day's slice at a time: the sums have the same order, and so the same last bit, whatever
    # days are made together.
    slices = [values[at : at + len(ordered)] for at in range(WINDOW)]
    mean = sum(slices, np.zeros(ordered.shape)) / WINDOW
    squares = sum(((part - mean) ** 2 for part in slices), np.zeros(ordered.shape))
    deviation = np.sqrt(squares / (WINDOW - 1) * WORKDAYS_A_YEAR)
    count = sum((~np.isnan(part) for part in slices), np.zeros(ordered.shape, dtype="int64"))
    wanted = ordered.index.isin(_index(days))
    row, column = np.nonzero(~np.isnan(slices[-1]) & wanted[:, None])
    frame = _long(ordered.index[row], ordered.columns[column], "volatility", deviation[row, column])
    return frame.assign(returns=count[row, column])


def summary(rates: pd.DataFrame, periods: Sequence[date]) -> pd.DataFrame:
    """Rates by period: date, currency, open, high, low, close, mean, days.

    ``date`` is the first date of the period; open and close are the first and the last rate of
    the currency in it, ``days`` the number of days that quote it (int64).

    Args:
        rates: what `reference_rates` returns, of days inside the periods.
        periods: first dates of the periods, ascending; each reaches to the next.
    """
    starts = _index(periods)
    position = starts.searchsorted(rates["date"].to_numpy(), side="right") - 1
    grouped = rates["rate"].groupby([starts.take(position), rates["currency"]])
    columns = {
        "open": "first", "high": "max", "low": "min", "close": "last", "mean": "mean",
        "days": "count",
    }  # fmt: skip
    frame = grouped.agg(list(columns.values())).set_axis(list(columns), axis="columns")
    return frame.rename_axis(_KEY).reset_index().astype({"date": _DATE, "currency": "str"})


def _require(parameter: str, table: pd.DataFrame, days: pd.Series[pd.Timestamp]) -> None:
    missing = days[~days.isin(table["date"])]
    if len(missing):
        raise InvalidInputError(
            f"{parameter} has no rows of {missing.iloc[0].date()}, which pairs names; load that"
            " day's reference rates too."
        )


def _index(days: Sequence[date]) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(np.array(days, dtype="datetime64[ms]"))


def _long(dates: object, currencies: object, name: str, values: object) -> pd.DataFrame:
    frame = pd.DataFrame({"date": dates, "currency": currencies, name: values})
    typed = frame.astype({"date": _DATE, "currency": "str", name: "float64"})
    return typed.sort_values(_KEY, kind="stable", ignore_index=True)
