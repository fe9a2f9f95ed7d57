"""Calendars made of two."""

from __future__ import annotations

from datetime import date, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workday_assets import WorkdayCalendar
from workday_assets.errors import InvalidInputError

FIRST, LAST = date(2024, 7, 1), date(2024, 7, 31)
july_days = st.sets(st.dates(FIRST, LAST), max_size=8)
weekends = st.sets(st.integers(0, 6), max_size=3)
calendars = st.builds(
    lambda weekend, closed, extra: WorkdayCalendar.build(
        "X",
        FIRST,
        LAST,
        weekend=weekend,
        holidays=closed,
        extra_workdays={*extra, date(2024, 7, 17)},
    ),
    weekends,
    july_days,
    july_days,
)


@settings(deadline=None, max_examples=100)
@given(calendars, calendars)
def test_and_is_open_in_both_and_or_in_either(
    left: WorkdayCalendar, right: WorkdayCalendar
) -> None:
    """The workdays are the intersection and the union, whatever the weekends, in any order."""
    past = date(2024, 8, 1)
    one, other = set(left.workdays(FIRST, past)), set(right.workdays(FIRST, past))
    assert set((left & right).workdays(FIRST, past)) == one & other
    assert set((left | right).workdays(FIRST, past)) == one | other
    assert (left & right, left | right) == (right & left, right | left)


def test_reasons_are_kept_from_both_sides() -> None:
    """A day that one closes names its calendar; one that both close gives each reason once."""
    both = WorkdayCalendar.named("XECB") & WorkdayCalendar.named("XFED")
    described = [both.describe(day) for day in ("2024-05-01", "2024-07-04", "2024-12-25")]
    assert described == [
        "Labour Day in XECB",
        "Independence Day in XFED",
        "Christmas Day",
    ]
    assert both.describe("2024-07-06") == "weekend"


def test_reasons_of_different_weekends_are_kept() -> None:
    """A Friday that is weekend in one and a holiday in the other says both."""
    west = WorkdayCalendar.build("WEST", FIRST, LAST, holidays={"2024-07-05": "fair"})
    east = WorkdayCalendar.build("EAST", FIRST, LAST, weekend=(4, 5))
    both = west & east
    assert both.describe("2024-07-05") == "fair in WEST; weekend in EAST"
    assert both.describe("2024-07-07") == "weekend in WEST"
    assert (west | east).closed_days(FIRST, date(2024, 7, 8)) == {
        date(2024, 7, 5): "fair in WEST; weekend in EAST",
        date(2024, 7, 6): "weekend",
    }


def test_reasons_of_three_calendars_name_each_calendar_once() -> None:
    """Combining again keeps the names that the first combination gave."""
    names = ("XECB", "XFED", "GB-ENG")
    ecb, fed, england = (WorkdayCalendar.named(name) for name in names)
    three = ecb & fed & england
    assert three.name == "XECB & XFED & GB-ENG"
    assert three.describe("2024-07-04") == "Independence Day in XFED"
    assert three.describe("2024-08-26") == "Late Summer Bank Holiday in GB-ENG"


def test_bounds_are_intersected() -> None:
    """The combination vouches only where both do, and provenance names both."""
    both = WorkdayCalendar.named("XECB") & WorkdayCalendar.named("XFED")
    assert (both.first_date, both.last_date) == (date(1999, 1, 1), date(2030, 12, 31))
    assert both.provenance.count("holidays ") == 2


def test_calendars_without_a_common_date_cannot_be_combined() -> None:
    """Bounds that do not overlap are an error that names both."""
    old = WorkdayCalendar.build("OLD", "1980-01-01", "1980-12-31")
    with pytest.raises(InvalidInputError, match=r"OLD .*XECB"):
        _ = old & WorkdayCalendar.named("XECB")


def test_half_days_of_both() -> None:
    """Open in both closes at the earlier time; open in either is half only where none is whole."""
    one = WorkdayCalendar.build(
        "ONE", FIRST, LAST, half_days={"2024-07-03": "13:00", "2024-07-05": "12:00"}
    )
    other = WorkdayCalendar.build(
        "OTHER", FIRST, LAST, holidays=["2024-07-05"], half_days={"2024-07-03": "14:00"}
    )
    third = WorkdayCalendar.build("THIRD", FIRST, LAST)
    assert (one & other).half_days == {date(2024, 7, 3): time(13)}
    assert (one | other).half_days == {date(2024, 7, 3): time(14), date(2024, 7, 5): time(12)}
    assert (one & third).half_days == one.half_days
    assert (one | third).half_days == {}


def test_spot_dates_need_both_calendars() -> None:
    """The first day from 4 July 2024 on that is open in Frankfurt and New York is the 5th."""
    both = WorkdayCalendar.named("XECB") & WorkdayCalendar.named("XFED")
    assert both.roll("2024-07-04", "following") == date(2024, 7, 5)
