"""When a foreign exchange trade settles; pure, on calendars alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np

from workday_assets.calendars import WorkdayCalendar

#: Workdays from trade to spot in EUR/USD, and most other pairs.
SPOT_LAG = 2


def spot_value_dates(
    trades: Sequence[date], euro: WorkdayCalendar, dollar: WorkdayCalendar
) -> list[date]:
    """The EUR/USD spot value date of each trade date, in the same order.

    Two workdays of the euro calendar are counted from the trade; from there the date rolls on to
    the first day on which both calendars are open. A holiday of the dollar calendar between trade
    and value date does not count: only on the value date itself must dollars be paid. Convention:
    I. J. Clark, *Foreign Exchange Option Pricing* (Wiley, 2011), chapter 1, on the spot date of
    pairs with the US dollar.

    Args:
        trades: workdays of `euro`.
        euro: TARGET, `XECB`.
        dollar: the Federal Reserve's days, `XFED`.

    Raises:
        ClosedDayError: a trade date is not a workday of `euro`.
        OutOfBoundsError: a value date would lie outside the calendars' bounds.
    """
    if not trades:
        return []
    counted = euro.offset(np.array(trades, dtype="datetime64[D]"), SPOT_LAG)
    settled: list[date] = (euro & dollar).roll(counted, "following").tolist()
    return settled


def calendar_days(
    trade: date, settled: date, euro: WorkdayCalendar, dollar: WorkdayCalendar
) -> Mapping[str, list[str]]:
    """By calendar, as an input is named, the workdays that a spot value date was counted from.

    Of `euro` those from the trade to the value date, both included; of `dollar` those from the
    counted day on. Where none of these days opens or closes, the value date stays.

    Args:
        trade: the trade date.
        settled: its value date by `spot_value_dates`.
        euro: as there.
        dollar: as there.
    """
    past, counted = settled + timedelta(days=1), euro.offset(trade, SPOT_LAG)
    return {
        f"calendar/{euro.name}": [str(day) for day in euro.workdays(trade, past)],
        f"calendar/{dollar.name}": [str(day) for day in dollar.workdays(counted, past)],
    }
