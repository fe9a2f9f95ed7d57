"""Spot value dates by hand, and over the whole history against QuantLib's calendars."""

from datetime import date, timedelta

import pytest
import QuantLib as ql  # noqa: N813 - its own abbreviation

from workday_assets import WorkdayCalendar
from workday_assets.ecb.settlement import spot_value_dates
from workday_assets.errors import ClosedDayError, OutOfBoundsError

EURO, DOLLAR = WorkdayCalendar.named("XECB"), WorkdayCalendar.named("XFED")

#: Trade date, value date, and what a calendar on the wall says between them.
BY_HAND = [
    ("2024-07-01", "2024-07-03", "nothing closed"),
    ("2024-07-02", "2024-07-05", "US Independence Day would be the value date"),
    ("2024-07-03", "2024-07-05", "US Independence Day in between does not count"),
    ("2024-07-04", "2024-07-08", "traded on a US holiday, then a weekend"),
    ("2024-11-26", "2024-11-29", "Thanksgiving would be the value date"),
    ("2024-11-27", "2024-11-29", "Thanksgiving in between"),
    ("2023-10-05", "2023-10-10", "Columbus Day, a Monday, would be the value date"),
    ("2022-12-29", "2023-01-03", "1 January is a Sunday: dollars rest on the Monday, euros do not"),
    ("2021-12-29", "2021-12-31", "1 January is a Saturday: nobody rests on the Friday"),
    ("2026-04-01", "2026-04-07", "Good Friday and Easter Monday"),
    ("2026-04-02", "2026-04-08", "Good Friday and Easter Monday in between"),
    ("2024-04-29", "2024-05-02", "Labour Day closes euros alone"),
    ("2024-12-23", "2024-12-27", "Christmas and the day after"),
    ("2022-12-22", "2022-12-27", "26 December closes both"),
    ("2024-12-30", "2025-01-02", "New Year's Day"),
    ("2001-12-27", "2002-01-02", "TARGET was also closed on 31 December 2001"),
]


@pytest.mark.parametrize(
    ("trade", "value"),
    [case[:2] for case in BY_HAND],
    ids=[f"{trade} {why}" for trade, _, why in BY_HAND],
)
def test_by_hand(trade: str, value: str) -> None:
    """Two euro workdays on, then on to a day on which both calendars are open."""
    found = spot_value_dates([date.fromisoformat(trade)], EURO, DOLLAR)
    assert found == [date.fromisoformat(value)]


def test_every_trade_date_against_quantlib() -> None:
    """QuantLib's TARGET and Federal Reserve calendars settle each day since 1999 alike."""
    trades = list(EURO.workdays(date(1999, 1, 4), date(2026, 12, 1)))
    target, fed = ql.TARGET(), ql.UnitedStates(ql.UnitedStates.FederalReserve)
    both = ql.JointCalendar(target, fed)  # by default open where both are

    def settled(trade: date) -> date:
        counted = target.advance(ql.Date(trade.day, trade.month, trade.year), ql.Period(2, ql.Days))
        return date(1899, 12, 30) + timedelta(days=both.adjust(counted).serialNumber())

    assert spot_value_dates(trades, EURO, DOLLAR) == list(map(settled, trades))


def test_answers_are_in_the_order_of_the_trades() -> None:
    """Also where trades are not sorted; no trades have no answers."""
    trades = [date(2024, 7, 3), date(2024, 7, 1)]
    assert spot_value_dates(trades, EURO, DOLLAR) == [date(2024, 7, 5), date(2024, 7, 3)]
    assert spot_value_dates([], EURO, DOLLAR) == []


def test_a_closed_trade_date_is_refused() -> None:
    """Nobody quotes euros on Good Friday."""
    with pytest.raises(ClosedDayError, match=r"2026-04-03.*Good Friday"):
        spot_value_dates([date(2026, 4, 3)], EURO, DOLLAR)


def test_a_value_date_past_the_calendars_is_refused() -> None:
    """The last known day has no day two workdays later."""
    last = EURO.roll(EURO.last_date, "preceding")
    with pytest.raises(OutOfBoundsError, match=str(EURO.last_date)):
        spot_value_dates([last], EURO, DOLLAR)
