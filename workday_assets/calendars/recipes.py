"""How each calendar of the catalog is made, from when to when, and what that rests on.

The last date is never the library's: it is the end of what its authority has published, or a
bounded horizon of a standing rule (ten years ahead of the freeze, to be renewed by the next one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Recipe:
    """One calendar of the catalog.

    Attributes:
        code: what `holidays` calls it.
        first: first date, included, as ISO text.
        last: last date, included.
        evidence: where the days are published, why the last date is what it is, and what an
            independent witness said.
        categories: the library's categories of closures; `None` for its default.
        half_day_closes: closing time of half days that the library names without a time.
    """

    code: str
    first: str
    last: str
    evidence: str
    categories: tuple[str, ...] | None = None
    half_day_closes: str | None = None


_RECIPES = {
    "XECB": Recipe(
        "XECB",
        "1999-01-01",
        "2035-12-31",
        "TARGET closing days. Since 2002 a standing rule of the ECB (long-term calendar, press"
        " release of 14 December 2000): 1 January, Good Friday, Easter Monday, 1 May, 25 and 26"
        " December; before it year by year, with 31 December 1999 and 31 December 2001 closed as"
        " well. Last date: the rule has no end, the horizon is bounded. Witness: the 7,126 dates"
        " of the ECB's own reference rates, 1999-01-04 to 2026-10-30, without a difference.",
    ),
    "US": Recipe(
        "US",
        "1971-01-01",
        "2035-12-31",
        "Federal holidays by law, 5 U.S.C. 6103 and Executive Order 11582 (observance on Friday"
        " or Monday), from the first year of the Uniform Monday Holiday Act; Martin Luther King"
        " Day from 1986, Juneteenth from 2021. Closures by executive order are not law of this"
        " kind: see US-OPM. Last date: the statute has no end, the horizon is bounded. Witness:"
        " pandas 3.1.1 USFederalHolidayCalendar, the same from 1978 on; before, pandas has"
        " Veterans Day on 11 November where the Act had the fourth Monday of October.",
    ),
    "US-OPM": Recipe(
        "US",
        "2001-01-01",
        "2026-12-31",
        "US, with the days on which executive orders closed federal offices whole, as listed by"
        " the Office of Personnel Management; half days (24 December 2002, 2009 and 2015, closed"
        " for the last half of the day, here from 12:00) are workdays. Starts in 2001, where the"
        " library's list does: earlier orders, such as 27 April 1994, are missing from it. Last"
        " date: orders come days before the day, so the running year is the end; overlay what"
        " is announced later.",
        ("public", "government"),
        "12:00",
    ),
    "XFED": Recipe(
        "XFED",
        "1999-01-01",
        "2030-12-31",
        "Holidays observed by the Federal Reserve System: a holiday on a Saturday is not moved,"
        " one on a Sunday is observed on Monday. Last date: the Board's list (release K.8) is"
        " published for 2026 to 2030.",
    ),
    "XSIF": Recipe(
        "XSIF",
        "1996-01-01",
        "2027-12-31",
        "SIFMA's recommended full and early closes of US dollar bond markets, Eastern Time. Last"
        " date: the recommendations for 2026 and 2027 were published on 17 December 2025; Good"
        " Friday depends on the day of the employment report and is not a rule.",
        ("public", "half_day"),
    ),
    "XNYS": Recipe(
        "XNYS",
        "1990-01-01",
        "2028-12-31",
        "New York Stock Exchange, closing times in Eastern Time. Last date: NYSE Group announced"
        " 2026, 2027 and 2028 on 23 December 2025. Witnesses: the dates of S&P 500 histories,"
        " 1990-01-02 to 2022-12-28, and exchange_calendars 4.13.2 to 2028; one early close"
        " (snow, 11 February 1994) is known to holidays only.",
        ("public", "half_day"),
    ),
    "XLON": Recipe(
        "XLON",
        "2000-01-01",
        "2027-12-31",
        "London Stock Exchange: the bank holidays of England; 24 and 31 December, or the workday"
        " before, close at 12:30. Last date: GOV.UK lists bank holidays to 2027. Witness:"
        " exchange_calendars 4.13.2, without a difference in days or early closes.",
        ("public", "half_day"),
    ),
    "GB-ENG": Recipe(
        "GB-ENG",
        "1990-01-01",
        "2027-12-31",
        "Bank holidays of England and Wales, Banking and Financial Dealings Act 1971 and royal"
        " proclamations. Last date: GOV.UK lists them to 2027. Witness: exchange_calendars 4.13.2"
        " XLON, without a difference.",
    ),
    "XTKS": Recipe(
        "XJPX",
        "1997-01-01",
        "2027-12-31",
        "Japan Exchange Group: national holidays, and 31 December to 3 January. 1 October 2020, a"
        " day without trading after a system failure, was a business day and is open. Last date:"
        " the Cabinet Office published the holidays of 2027, with both equinoxes, in February"
        " 2026. Witness: exchange_calendars 4.13.2, which closes that day and 6 May 1998, to"
        " which no substitute holiday moved before the amendment of 2007.",
    ),
    "CN": Recipe(
        "CN",
        "2004-01-01",
        "2026-12-31",
        "Public holidays and make-up workdays by the State Council's yearly notices. Last date:"
        " the notice for 2026 came on 4 November 2025, the next one is not published; a library's"
        " 2027 has neither bridge days nor make-up workdays. Witness: chinesecalendar 1.11.0,"
        " the same on every day but 31 December 2005, a make-up Saturday of the notice for 2006.",
    ),
    "DE": Recipe(
        "DE",
        "1991-01-01",
        "2035-12-31",
        "Holidays in all of Germany: by the laws of all Länder, and German Unity Day by the"
        " Unification Treaty; Repentance Day until 1994, Reformation Day in 2017. Last date: the"
        " laws have no end, the horizon is bounded.",
    ),
}
RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(_RECIPES)
