"""What is suspicious in a table of reference rates; pure, pandas only, whole columns at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
from pandas.api import types

from workday_assets.ecb.known import ENDED, JUMPED, PEGGED

#: A move of more than so many standard deviations is a jump ...
JUMP_SIGMAS = 10.0
#: ... of the log returns of so many workdays before, of which at least `JUMP_LEAST` are there ...
JUMP_WINDOW = 60
JUMP_LEAST = 20
#: ... or of this one where theirs is smaller, so that what hardly moves does not jump by 0.1 %.
JUMP_FLOOR = 0.005
#: A rate that is the same on so many workdays in a row, after a first one, is stale.
STALE_DAYS = 10
#: So many workdays before a day are needed to judge it.
LOOK_BACK = JUMP_WINDOW + 1

_TYPES = {
    "date": types.is_datetime64_dtype,
    "currency": types.is_string_dtype,
    "rate": types.is_float_dtype,
}
#: Stands for the currency of a finding about a whole day.
_ALL = "all"
#: A table without rows.
NO_ROWS = pd.DataFrame(
    {"date": pd.Series(dtype="datetime64[ms]"), "currency": pd.Series(dtype="str"), "rate": 0.0},
)


@dataclass(frozen=True, order=True, slots=True)
class Finding:
    """One suspicious rate, or a missing one."""

    day: date
    currency: str
    said: str


def implausible(
    rows: pd.DataFrame, days: Collection[date], workdays: Sequence[date]
) -> list[Finding]:
    """Vanished currencies, jumps and stale rates on `days`, by day.

    Args:
        rows: columns date, currency, rate, of `days` and of `LOOK_BACK` workdays before them.
        days: the days to judge.
        workdays: all workdays of the range, ascending.
    """
    if wrong := _wrong_columns(rows):
        return [Finding(day, _ALL, wrong) for day in days]
    wide = table(rows, workdays)
    found = [*vanished(wide), *jumps(wide), *stale(wide)]
    return sorted(finding for finding in found if finding.day in days)


def table(rows: pd.DataFrame, workdays: Sequence[date]) -> pd.DataFrame:
    """Rates by day and currency; a day without rows, or a currency not quoted, is NaN.

    Args:
        rows: columns date, currency, rate; of duplicates the last one counts.
        workdays: all workdays of the range, ascending.
    """
    unique = rows.drop_duplicates(["date", "currency"], keep="last")
    wide = unique.pivot(index="date", columns="currency", values="rate")
    return wide.reindex(pd.DatetimeIndex(list(workdays), name="date").as_unit("ms"))


def vanished(wide: pd.DataFrame) -> list[Finding]:
    """Currencies that the workday before quotes and the day does not, if both days are there."""
    quoted = wide.notna()
    there = quoted.any(axis=1)
    before = quoted.shift(1, fill_value=False)
    gone = before & ~quoted & there.to_numpy()[:, None]
    return [
        Finding(day, currency, "was quoted the workday before, and is not")
        for day, currency in _cells(gone)
        if ENDED.get(currency, (None, ""))[0] != day
    ]


def jumps(wide: pd.DataFrame) -> list[Finding]:
    """Moves of more than `JUMP_SIGMAS` standard deviations since the workday before."""
    moves = wide.apply(np.log).diff()
    sigma = moves.rolling(JUMP_WINDOW, min_periods=JUMP_LEAST).std().shift(1)
    score = moves.abs() / sigma.clip(lower=JUMP_FLOOR)
    return [
        Finding(
            day,
            currency,
            f"moved by {np.expm1(_at(moves, day, currency)):+.1%},"
            f" {_at(score, day, currency):.0f} standard deviations",
        )
        for day, currency in _cells(score > JUMP_SIGMAS)
        if (currency, day) not in JUMPED
    ]


def stale(wide: pd.DataFrame) -> list[Finding]:
    """Rates that have not moved for `STALE_DAYS` workdays."""
    still = (wide.diff() == 0).astype("float64").rolling(STALE_DAYS).sum() == STALE_DAYS
    return [
        Finding(
            day,
            currency,
            f"has been {_at(wide, day, currency):g} for {STALE_DAYS} workdays and more",
        )
        for day, currency in _cells(still)
        if not any(c == currency and first <= day <= last for c, first, last, _ in PEGGED)
    ]


def malformed(rows: pd.DataFrame, days: Collection[date]) -> list[Finding]:
    """What makes the rows of `days` no table of one positive rate per currency, by day.

    Wrong columns or types, duplicates, other rates and names, a day without rows.

    Args:
        rows: what should be columns date, currency, rate; rows of other days do not count.
        days: the days that should have rows.
    """
    if wrong := _wrong_columns(rows):
        return [Finding(day, _ALL, wrong) for day in days]
    names = rows["currency"].astype("string")
    masks = {
        "is there twice": rows.duplicated(["date", "currency"]),
        "has no positive rate": ~(np.isfinite(rows["rate"]) & (rows["rate"] > 0)),
        "is no currency code": ~names.str.fullmatch("[A-Z]{3}").fillna(value=False).astype(bool),
    }
    found = [
        Finding(row.date.date(), str(row.currency), what)
        for what, mask in masks.items()
        for row in rows[mask.to_numpy()].itertuples()
    ]
    there = set(pd.DatetimeIndex(rows["date"].unique()).date)
    found += [Finding(day, _ALL, "has no rows") for day in days if day not in there]
    return sorted(finding for finding in found if finding.day in days)


def _wrong_columns(rows: pd.DataFrame) -> str | None:
    if list(rows.columns) != list(_TYPES):
        return f"the columns are {', '.join(rows.columns)}, not {', '.join(_TYPES)}"
    wrong = [name for name, is_type in _TYPES.items() if not is_type(rows[name])]
    return f"{wrong[0]} is of type {rows[wrong[0]].dtype}" if wrong else None


def _cells(mask: pd.DataFrame) -> list[tuple[date, str]]:
    """Day and currency of each true cell, by day."""
    at_day, at_currency = np.nonzero(mask.to_numpy())
    days = [stamp.date() for stamp in mask.index[at_day]]
    return list(zip(days, mask.columns[at_currency], strict=True))


def _at(frame: pd.DataFrame, day: date, currency: str) -> float:
    return float(frame.loc[pd.Timestamp(day), currency])  # type: ignore[arg-type]
