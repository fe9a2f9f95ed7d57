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


def _require(parameter: str, table: pd.DataFrame, days: pd.Series[pd.Timestamp]) -> None:
    missing = days[~days.isin(table["date"])]
    if len(missing):
        raise InvalidInputError(
            f"{parameter} has no rows of {missing.iloc[0].date()}, which pairs names; load that"
            " day's reference rates too."
        )


def _long(dates: object, currencies: object, name: str, values: object) -> pd.DataFrame:
    frame = pd.DataFrame({"date": dates, "currency": currencies, name: values})
    typed = frame.astype({"date": _DATE, "currency": "str", name: "float64"})
    return typed.sort_values(_KEY, kind="stable", ignore_index=True)
