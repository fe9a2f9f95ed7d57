"""The shipped calendars against data and libraries that answer the same question."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from datetime import date, timedelta
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


def of_holidays(name: str) -> Callable[[str, str], WorkdayCalendar]:
    """A calendar of the catalog as `holidays` answers now."""
    return lambda first, last: freezing.from_provider(name, first, last)


OCTOBER_MONDAYS = (
    "1971-10-25",
    "1972-10-23",
    "1973-10-22",
    "1974-10-28",
    "1975-10-27",
    "1976-10-25",
    "1977-10-24",
)
NOVEMBER_DAYS = (
    "1971-11-11",
    "1972-11-10",
    "1973-11-12",
    "1974-11-11",
    "1975-11-11",
    "1976-11-11",
    "1977-11-11",
)
VETERANS_DAY = "pandas keeps 11 November where the Monday Holiday Act has a Monday of October"
WITNESSES: dict[str, tuple[str, Callable[[str, str], WorkdayCalendar]]] = {
    **{f"{name} holidays": (name, of_holidays(name)) for name in catalog.names()},
    "US pandas": ("US", of_pandas),
    "XNYS exchange_calendars": ("XNYS", of_exchange("XNYS")),
    "XLON exchange_calendars": ("XLON", of_exchange("XLON")),
    "GB-ENG exchange_calendars XLON": ("GB-ENG", of_exchange("XLON")),
    "XTKS exchange_calendars": ("XTKS", of_exchange("XTKS")),
}
# What the shipped calendar says, what the witness says, and why the shipped one is right.
DIFFERENCES: dict[str, dict[str, tuple[str, str, str]]] = {
    "US pandas": {
        **dict.fromkeys(OCTOBER_MONDAYS, ("Veterans Day", "workday", VETERANS_DAY)),
        **dict.fromkeys(NOVEMBER_DAYS, ("workday", "Veterans Day", VETERANS_DAY)),
    },
    "XNYS exchange_calendars": {
        "1994-02-11": (
            "half day, closes 14:30",
            "workday",
            "the snowstorm's early close is in the exchange's list of closings",
        ),
    },
    "XTKS exchange_calendars": {
        "1998-05-06": (
            "workday",
            "Constitution Memorial Day",
            "a substitute holiday moved to the next day only, before the amendment of 2007",
        ),
        "2020-10-01": (
            "workday",
            "ad hoc closure",
            "the trading system failed; it was a business day, and clearing ran",
        ),
    },
}


@pytest.mark.parametrize("witness", WITNESSES)
def test_differences_to_other_libraries_are_known(witness: str) -> None:
    """A shipped calendar differs from a library on the named days only, in days and in times."""
    name, build = WITNESSES[witness]
    shipped = WorkdayCalendar.named(name)
    other = build(str(shipped.first_date), str(shipped.last_date))
    found = {
        str(change.day): (change.before, change.after)
        for change in freezing.diff(shipped, other).days
        if witness != "GB-ENG exchange_calendars XLON" or change.kind != "half day"
    }
    expected = {day: row[:2] for day, row in DIFFERENCES.get(witness, {}).items()}
    assert found == expected
