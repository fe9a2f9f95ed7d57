"""The assets with a partition per workday; each works for one workday and for thousands alike.

Days whose rates are not published, or whose inputs nobody has made, are left out of a run: they
are not ready, and not failed.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import dagster as dg
import pandas as pd

from workday_assets.calendar_asset import calendar_asset
from workday_assets.calendars import WorkdayCalendar
from workday_assets.ecb import transforms
from workday_assets.ecb.metadata import (
    add_partition_metadata,
    calendar_metadata,
    inputs_metadata,
    rows_metadata,
)
from workday_assets.ecb.settlement import calendar_days
from workday_assets.ecb.settlement import spot_value_dates as settle
from workday_assets.ecb.source import EcbRates
from workday_assets.mappings import trailing_workdays
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.readiness import leave_out, made, ready_keys
from workday_assets.timetable import WorkdayTimetable

CALENDAR = WorkdayCalendar.named("XECB")
DOLLAR_CALENDAR = WorkdayCalendar.named("XFED")
CALENDARS = [calendar_asset(CALENDAR), calendar_asset(DOLLAR_CALENDAR)]
TIMEZONE = "Europe/Berlin"
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, TIMEZONE, start="1999-01-04")
TIMETABLE = WorkdayTimetable(CALENDAR, TIMEZONE)

# Dagster calls the parameter beta at each load; the tests hold its behaviour.
warnings.filterwarnings("ignore", message=".*`backfill_policy`", category=dg.BetaWarning)

RATES = dg.AssetKey(["ecb", "reference_rates"])
RETURNS = dg.AssetKey(["ecb", "returns"])
SAME = trailing_workdays(1)
#: A day and the workday before it.
PAIR = trailing_workdays(2)
WINDOW = trailing_workdays(transforms.WINDOW)

Inputs = Mapping[dg.AssetKey, dg.TimeWindowPartitionMapping]

_COMMON: dict[str, Any] = {
    "key_prefix": "ecb",
    "group_name": "ecb",
    "owners": ["team:market-data"],
    "partitions_def": WORKDAYS,
    "backfill_policy": dg.BackfillPolicy.single_run(),
    "tags": {"workday/calendar": CALENDAR.name},
    "kinds": {"pandas", "parquet"},
    "output_required": False,
}


def _metadata(*columns: dg.TableColumn) -> dict[str, Any]:
    """The calendar and the columns: date, and those of the asset."""
    day = dg.TableColumn("date", "date32", "local date of the partition")
    schema = dg.TableSchema([day, *columns])
    return {**calendar_metadata(CALENDAR), "dagster/column_schema": schema}


def _lenient(key: dg.AssetKey, mapping: dg.PartitionMapping) -> dg.AssetIn:
    """An input of which days can be missing; `ready_keys` says which keys that leaves."""
    metadata = {"allow_missing_partitions": True}
    return dg.AssetIn(key, partition_mapping=mapping, metadata=metadata)


_CURRENCY = dg.TableColumn("currency", "string", "ISO 4217 code")
_PER_WORKDAY = f" One partition per workday of the {CALENDAR.name} calendar."
Made = Iterator[dg.Output[pd.DataFrame]]


@dg.asset(
    **_COMMON,
    deps=[CALENDARS[0].key],
    metadata=_metadata(_CURRENCY, dg.TableColumn("rate", "float64", "units per euro")),
    description="Euro foreign exchange reference rates: one row per currency quoted that day, in"
    " units of the currency per euro. Source: European Central Bank." + _PER_WORKDAY,
)
def reference_rates(context: dg.AssetExecutionContext, ecb_rates: EcbRates) -> Made:
    """date, currency, rate."""
    asked = context.partition_keys
    waits = "the source, which has not published it"
    unpublished = {key: waits for key in asked if not ecb_rates.published(WORKDAYS.day(key))}
    leave_out(context, unpublished)
    keys = [key for key in asked if key not in unpublished]
    if keys:
        rows = transforms.reference_rates(ecb_rates.table(keys, CALENDAR))
        yield _made(context, rows, keys, {})


@dg.asset(
    **_COMMON,
    metadata=_metadata(_CURRENCY, dg.TableColumn("rate", "float64", "units per US dollar")),
    ins={"reference_rates": _lenient(RATES, SAME)},
    description="Every currency, the euro included, in units per US dollar." + _PER_WORKDAY,
)
def usd_crosses(context: dg.AssetExecutionContext, reference_rates: pd.DataFrame) -> Made:
    """date, currency, rate."""
    if keys := ready_keys(context, reference_rates=reference_rates):
        rows = transforms.usd_crosses(reference_rates)
        yield _made(context, rows, keys, {RATES: SAME})


@dg.asset(
    **_COMMON,
    metadata=_metadata(
        _CURRENCY,
        dg.TableColumn("log_return", "float64", "ln(rate / rate of the previous workday)"),
    ),
    ins={"reference_rates": _lenient(RATES, PAIR)},
    description="Log return of each currency against the previous workday, where both days quote"
    " it. The first workday, 1999-01-04, has none before it and is an empty table." + _PER_WORKDAY,
)
def returns(context: dg.AssetExecutionContext, reference_rates: pd.DataFrame) -> Made:
    """date, currency, log_return."""
    if keys := ready_keys(context, reference_rates=reference_rates):
        days = [day for day in map(WORKDAYS.day, keys) if day > WORKDAYS.first_workday]
        pairs = [(day, CALENDAR.previous(day)) for day in days]
        rows = transforms.returns(reference_rates, reference_rates, pairs)
        yield _made(context, rows, keys, {RATES: PAIR})


@dg.asset(
    **_COMMON,
    metadata=_metadata(
        _CURRENCY,
        dg.TableColumn("volatility", "float64", "a year, as a fraction; null below 20 returns"),
        dg.TableColumn("returns", "int64", "how many of the last 20 workdays have a return"),
    ),
    ins={"returns": _lenient(RETURNS, WINDOW)},
    description="Annualized standard deviation of the log returns of the last 20 workdays, 252"
    " workdays a year. Where fewer than 20 of them have a return, as before 1999-02-01 and after a"
    " currency comes, the number is stated and the volatility is null." + _PER_WORKDAY,
)
def volatility_20d(context: dg.AssetExecutionContext, returns: pd.DataFrame) -> Made:
    """date, currency, volatility, returns."""
    if keys := ready_keys(context, returns=returns):
        days = [WORKDAYS.day(key) for key in keys]
        window = WORKDAYS.days_around(days[0], WINDOW.start_offset, 0)
        workdays = [
            *window[:-1],
            *CALENDAR.workdays(days[0], days[-1] + timedelta(days=1)),
        ]
        rows = transforms.volatility(returns, days, workdays)
        yield _made(context, rows, keys, {RETURNS: WINDOW})


@dg.asset(
    **_COMMON,
    deps=[calendar.key for calendar in CALENDARS],
    metadata=_metadata(
        dg.TableColumn("pair", "string", "currency pair"),
        dg.TableColumn("spot_value_date", "date32", "when a spot trade of the day settles"),
    ),
    description="Spot value date of EUR/USD trades of the day: two XECB workdays on, then on to the"
    " first day on which XECB and XFED are both open. Convention: I. J. Clark, Foreign Exchange"
    " Option Pricing (2011), chapter 1." + _PER_WORKDAY,
)
def spot_value_dates(context: dg.AssetExecutionContext) -> Made:
    """date, pair, spot_value_date."""
    keys = context.partition_keys
    days = [WORKDAYS.day(key) for key in keys]
    settled = settle(days, CALENDAR, DOLLAR_CALENDAR)
    rows = pd.DataFrame({"date": days, "pair": "EURUSD", "spot_value_date": settled})
    typed = rows.astype({"date": "datetime64[ms]", "spot_value_date": "datetime64[ms]"})
    yield _made(context, typed, keys, {}, spot_days_used(days, COUNTED_CALENDARS))


WORKDAY_ASSETS = [reference_rates, usd_crosses, returns, volatility_20d, spot_value_dates]


#: The calendars whose days the assets count, by name.
COUNTED_CALENDARS = {calendar.name: calendar for calendar in (CALENDAR, DOLLAR_CALENDAR)}


def spot_days_used(
    trades: Sequence[date], calendars: Mapping[str, WorkdayCalendar]
) -> dict[date, Mapping[str, list[str]]]:
    """By trade date, what `spot_value_dates` records of the calendars' days that it counted."""
    euro, dollar = calendars[CALENDAR.name], calendars[DOLLAR_CALENDAR.name]
    settled = zip(trades, settle(trades, euro, dollar), strict=True)
    return {trade: calendar_days(trade, value, euro, dollar) for trade, value in settled}


#: Assets that take days from calendars by themselves, not by a partition mapping.
DAYS_USED = {spot_value_dates.key: spot_days_used}


def _made(
    context: dg.AssetExecutionContext,
    rows: pd.DataFrame,
    keys: Sequence[str],
    inputs: Inputs,
    days_used: Mapping[date, Mapping[str, Sequence[str]]] | None = None,
) -> dg.Output[pd.DataFrame]:
    """The output about `keys`, each with its own rows, preview and inputs as metadata.

    `days_used` are inputs by day beside those that the mappings `inputs` name.
    """
    calendar = calendar_metadata(CALENDAR)
    metadata = {}
    for key, own in rows_metadata(rows, keys).items():
        day = WORKDAYS.day(key)
        used: dict[str, Sequence[str]] = {
            asset.to_user_string(): [
                str(d) for d in WORKDAYS.days_around(day, mapping.start_offset, mapping.end_offset)
            ]
            for asset, mapping in inputs.items()
        }
        used |= (days_used or {}).get(day, {})
        metadata[key] = {**own, **calendar, **inputs_metadata(used)}
    add_partition_metadata(context, metadata)
    return made(rows, keys)
