"""What in the ECB's history looks like an error and is none, each with its reason.

The days are those of the ECB's own file and decide what a check lets pass; the reasons are for the
reader.
"""

from __future__ import annotations

from datetime import date

_EURO = "the country adopted the euro"

#: Currency: the first workday on which it is not quoted any more, and why.
ENDED: dict[str, tuple[date, str]] = {
    "TRL": (date(2005, 1, 3), "redenominated: 1,000,000 TRL became 1 TRY on 2005-01-01"),
    "ROL": (date(2005, 7, 1), "redenominated: 10,000 ROL became 1 RON on 2005-07-01"),
    "SIT": (date(2007, 1, 2), _EURO),
    "CYP": (date(2008, 1, 2), _EURO),
    "MTL": (date(2008, 1, 2), _EURO),
    "ISK": (date(2008, 12, 10), "not quoted until 2018-02-01, after the banks' collapse"),
    "SKK": (date(2009, 1, 2), _EURO),
    "EEK": (date(2011, 1, 3), _EURO),
    "LVL": (date(2014, 1, 2), _EURO),
    "LTL": (date(2015, 1, 2), _EURO),
    "RUB": (date(2022, 3, 2), "suspended by the ECB, for want of a market"),
    "HRK": (date(2023, 1, 2), _EURO),
    "BGN": (date(2026, 1, 2), _EURO),
}

#: (Currency, day): why its rate moved so far.
JUMPED: dict[tuple[str, date], str] = {
    ("TRL", date(2001, 2, 22)): "the lira is floated, +68 %",
    ("ISK", date(2008, 10, 6)): "Iceland's banks collapse, +25 %",
    ("RUB", date(2014, 12, 16)): "the rouble falls after its central bank's move to 17 %, +22 %",
    ("CHF", date(2015, 1, 15)): "the Swiss National Bank gives up 1.20, -14 %",
    ("RUB", date(2020, 3, 9)): "the oil price falls by a quarter, +10 %",
    ("TRY", date(2021, 11, 23)): "rate cuts are defended in a speech, +12 %",
    ("TRY", date(2021, 12, 21)): "deposits are insured against the lira's fall, -27 %",
    (
        "RUB",
        date(2022, 2, 28),
    ): "the central bank's assets are frozen, +25 %",
    ("TRY", date(2023, 6, 7)): "the lira is let go after the elections, +8 %",
    ("BRL", date(2026, 10, 26)): "as the ECB published it, +11 %",
}

#: Currency, first and last day: why its rate does not move.
PEGGED: list[tuple[str, date, date, str]] = [
    ("EEK", date(1999, 1, 4), date(2010, 12, 31), "currency board"),
    ("BGN", date(1999, 1, 4), date(2025, 12, 31), "currency board"),
    ("LTL", date(2002, 2, 4), date(2014, 12, 31), "pegged to the euro since 2002-02-02"),
    ("MTL", date(2005, 5, 2), date(2007, 12, 31), "pegged to the euro, in ERM II"),
    ("CYP", date(1999, 1, 4), date(2007, 12, 31), "held to the euro in a narrow band"),
    ("CZK", date(2013, 11, 7), date(2017, 4, 6), "held at its floor of 27 by its central bank"),
    ("ISK", date(2008, 10, 9), date(2008, 11, 5), "no market after the banks' collapse"),
    ("ISK", date(2019, 6, 12), date(2019, 6, 26), "as the ECB published it, in whole tenths"),
]
