"""When a foreign exchange trade settles; pure, on calendars alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

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
