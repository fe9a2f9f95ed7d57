"""Calendars from `holidays`, pandas and `exchange_calendars`."""

from __future__ import annotations

from datetime import date, time
from typing import Any

import exchange_calendars
import pytest
from pandas.tseries.holiday import (
    AbstractHolidayCalendar,
    Holiday,
    USFederalHolidayCalendar,
    nearest_workday,
)

from workday_assets import WorkdayCalendar
from workday_assets.errors import InvalidInputError, ProviderError


def test_country_with_subdivision() -> None:
    """A subdivision may stand in the code or beside it, and adds its own holidays."""
    bavaria = WorkdayCalendar.from_holidays("DE-BY", "2024-01-01", "2024-12-31")
    beside = WorkdayCalendar.from_holidays("DE", "2024-01-01", "2024-12-31", subdivision="BY")
    assert bavaria == beside
    assert bavaria.describe("2024-05-30") == "Corpus Christi"
    assert (bavaria.name, bavaria.provenance.partition(", ")[2]) == ("DE-BY", "DE-BY")


def test_market_with_early_closes() -> None:
    """A market's half days become half days with the time in their label, never closures."""
    calendar = WorkdayCalendar.from_holidays(
        "XNYS", "2024-01-01", "2024-12-31", categories=("public", "half_day")
    )
    assert calendar.half_days == {
        date(2024, 7, 3): time(13),
        date(2024, 11, 29): time(13),
        date(2024, 12, 24): time(13),
    }
    without = WorkdayCalendar.from_holidays("XNYS", "2024-01-01", "2024-12-31")
    assert without.half_days == {}
    assert without.holidays == calendar.holidays


@pytest.mark.parametrize(
    ("closes", "expected"),
    [(None, "workday"), ("12:00", "half day, closes 12:00")],
    ids=["no-time", "time-given"],
)
def test_half_days_labelled_so_in_another_category(closes: str | None, expected: str) -> None:
    """A half day without a time is a workday, with the time that the caller knows, if any."""
    calendar = WorkdayCalendar.from_holidays(
        "US",
        "2015-01-01",
        "2015-12-31",
        categories=("public", "government"),
        half_day_closes=closes,
    )
    assert calendar.describe("2015-12-24") == expected


def test_half_days_of_a_part_of_the_population_close_nothing() -> None:
    """China's half days for children or soldiers, asked for, neither close nor shorten a day."""
    calendar = WorkdayCalendar.from_holidays(
        "CN", "2026-01-01", "2026-12-31", categories=("public", "half_day")
    )
    assert calendar == WorkdayCalendar.named("CN", first="2026-01-01")


def test_make_up_workdays_say_what_they_pay_for() -> None:
    """Make-up Saturdays and Sundays are extra workdays with the day off that they pay for."""
    calendar = WorkdayCalendar.from_holidays("CN", "2026-01-01", "2026-12-31")
    assert calendar.extra_workdays == {
        date(2026, 1, 4): "make-up workday for 2026-01-02",
        date(2026, 2, 14): "make-up workday for 2026-02-20",
        date(2026, 2, 28): "make-up workday for 2026-02-23",
        date(2026, 5, 9): "make-up workday for 2026-05-05",
        date(2026, 9, 20): "make-up workday for 2026-10-06",
        date(2026, 10, 10): "make-up workday for 2026-10-07",
    }


def test_days_that_no_rule_gives_are_ad_hoc_closures() -> None:
    """A storm and a funeral are closures, Labor Day is a holiday."""
    calendar = WorkdayCalendar.from_holidays("XNYS", "2012-01-01", "2018-12-31")
    assert calendar.closures == {
        date(2012, 10, 29): "Hurricane Sandy",
        date(2012, 10, 30): "Hurricane Sandy",
        date(2018, 12, 5): "National Day of Mourning for former President George H. W. Bush",
    }
    assert calendar.holidays[date(2018, 9, 3)] == "Labor Day"
    assert not set(calendar.holidays) & set(calendar.closures)


def test_a_weekend_that_changed() -> None:
    """The Emirates' weekend moved from Friday and Saturday at the start of 2022."""
    calendar = WorkdayCalendar.from_holidays("AE", "2021-01-01", "2022-12-31")
    asked = ["2021-11-19", "2021-11-21", "2022-01-07", "2022-01-09"]
    assert [calendar.is_workday(day) for day in asked] == [False, True, True, False]
    assert [days for _, days in calendar.weekend_rules] == [(4, 5), (5, 6)]


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("ZZ", {}),
        ("DE-XX", {}),
        ("US", {"categories": ("public", "bank")}),
    ],
    ids=["country", "subdivision", "category"],
)
def test_what_the_library_does_not_know_is_refused(code: str, options: dict[str, Any]) -> None:
    """An unknown country, subdivision or category is a typed error that names the code."""
    with pytest.raises(ProviderError, match=code.partition("-")[0]):
        WorkdayCalendar.from_holidays(code, "2024-01-01", "2024-12-31", **options)


def test_bounds_of_a_catalog_code_are_known() -> None:
    """Without bounds, a code of the catalog has the catalog's and any other is refused."""
    calendar = WorkdayCalendar.from_holidays("CN")
    assert (calendar.first_date, calendar.last_date) == (date(2004, 1, 1), date(2026, 12, 31))
    with pytest.raises(InvalidInputError, match="last=None for calendar FR"):
        WorkdayCalendar.from_holidays("FR", "2024-01-01")


class Team(AbstractHolidayCalendar):
    """Rules of a team."""

    rules = [  # noqa: RUF012 - as pandas wants it
        Holiday("Founding day", month=1, day=1, observance=nearest_workday)
    ]


@pytest.mark.parametrize("rules", [Team, Team()], ids=["class", "instance"])
def test_pandas_rules(rules: Any) -> None:
    """Names, observance across the year's end and another weekend are kept."""
    calendar = WorkdayCalendar.from_pandas(rules, "2021-06-01", "2021-12-31", weekend=(6,))
    assert calendar.holidays == {date(2021, 12, 31): "Founding day"}
    assert calendar.is_workday("2021-06-05")
    assert calendar.provenance.startswith("pandas ")
    assert calendar.provenance.endswith(", Team")


def test_what_is_no_pandas_calendar_is_refused() -> None:
    """Something else than pandas' calendar is an error that says what to give."""
    with pytest.raises(ProviderError, match="AbstractHolidayCalendar"):
        WorkdayCalendar.from_pandas("US", "2024-01-01", "2024-12-31")  # type: ignore[arg-type]


def test_pandas_federal_calendar_is_the_shipped_one() -> None:
    """The calendar of Airflow's example equals the shipped US from 1978 on."""
    pandas = WorkdayCalendar.from_pandas(USFederalHolidayCalendar, "1978-01-01", "2035-12-31")
    assert pandas == WorkdayCalendar.named("US", first="1978-01-01")


def test_exchange() -> None:
    """Sessions, names, ad hoc closures and early closes in local time come over."""
    calendar = WorkdayCalendar.from_exchange("XNYS", "2024-01-01", "2025-12-31")
    assert calendar == WorkdayCalendar.named("XNYS", "2024-01-01", "2025-12-31")
    assert calendar.describe("2024-03-29") == "Good Friday"
    assert calendar.closures == {date(2025, 1, 9): "ad hoc closure"}
    assert calendar.half_days[date(2024, 7, 3)] == time(13)
    assert calendar.provenance.startswith("exchange_calendars ")


def test_exchange_data_end_where_they_are_published() -> None:
    """A10: Shanghai's last date is the end of the library's own data, and no year from now."""
    library: Any = exchange_calendars.get_calendar("XSHG")
    calendar = WorkdayCalendar.from_exchange("XSHG", "2020-01-01")
    assert calendar.last_date == library.bound_max().date() >= date(2026, 12, 31)


def test_exchange_without_an_end_of_data_needs_last() -> None:
    """Where neither the catalog nor the library ends the data, the bound is an argument."""
    with pytest.raises(InvalidInputError, match="last=None for calendar XSWX"):
        WorkdayCalendar.from_exchange("XSWX", "2020-01-01")


@pytest.mark.parametrize(
    ("code", "first", "last", "session"),
    [
        pytest.param("XBOM", "2023-01-01", "2024-12-31", "2024-01-20", id="mumbai-saturday"),
        pytest.param("XTAE", "2025-01-01", "2026-06-30", "2026-01-04", id="tel-aviv-sunday"),
    ],
)
def test_a_session_that_the_library_loses_is_never_lost_silently(
    code: str, first: str, last: str, session: str
) -> None:
    """A weekend session is in the calendar, or the calendar is refused, as under pandas 3."""
    try:
        kept = WorkdayCalendar.from_exchange(code, first, last).is_workday(session)
    except ProviderError as error:
        kept = code in str(error)
    assert kept


def test_a_range_without_the_lost_session_is_answered() -> None:
    """What the library has right is given: Mumbai before its first special Saturday."""
    calendar = WorkdayCalendar.from_exchange("XBOM", "2023-01-01", "2023-12-31")
    asked = ["2023-01-26", "2023-12-29", "2023-12-30"]
    assert [calendar.is_workday(day) for day in asked] == [False, True, False]


def test_an_unknown_exchange_is_refused() -> None:
    """A MIC that the library does not have is a typed error."""
    with pytest.raises(ProviderError, match="NOPE"):
        WorkdayCalendar.from_exchange("NOPE", "2024-01-01", "2024-12-31")
