"""The assets on the euro reference rates; each works for one workday and for thousands alike."""

import warnings
from typing import Any

import dagster as dg
import pandas as pd

from workday_assets.calendars import WorkdayCalendar
from workday_assets.ecb import transforms
from workday_assets.ecb.metadata import (
    add_partition_metadata,
    calendar_metadata,
    inputs_metadata,
    rows_metadata,
)
from workday_assets.ecb.source import EcbRates
from workday_assets.mappings import trailing_workdays
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.timetable import WorkdayTimetable

CALENDAR = WorkdayCalendar.named("XECB")
TIMEZONE = "Europe/Berlin"
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, TIMEZONE, start="1999-01-04")
TIMETABLE = WorkdayTimetable(CALENDAR, TIMEZONE)

# Dagster calls the parameter beta at each load; the tests hold its behaviour.
warnings.filterwarnings("ignore", message=".*`backfill_policy`", category=dg.BetaWarning)

RATES = dg.AssetKey(["ecb", "reference_rates"])

_COMMON: dict[str, Any] = {
    "key_prefix": "ecb",
    "group_name": "ecb",
    "owners": ["team:market-data"],
    "partitions_def": WORKDAYS,
    "backfill_policy": dg.BackfillPolicy.single_run(),
    "tags": {"workday/calendar": CALENDAR.name},
}


def _metadata(value: str, description: str) -> dict[str, Any]:
    """The calendar and the columns: date, currency and one value."""
    columns = [
        dg.TableColumn("date", "date32", "local date of the partition"),
        dg.TableColumn("currency", "string", "ISO 4217 code"),
        dg.TableColumn(value, "float64", description),
    ]
    return {**calendar_metadata(CALENDAR), "dagster/column_schema": dg.TableSchema(columns)}


_PER_WORKDAY = f" One partition per workday of the {CALENDAR.name} calendar."


@dg.asset(
    **_COMMON,
    kinds={"pandas", "parquet"},
    metadata=_metadata("rate", "units per euro"),
    description="Euro foreign exchange reference rates: one row per currency quoted that day, in"
    " units of the currency per euro. Source: European Central Bank." + _PER_WORKDAY,
)
def reference_rates(context: dg.AssetExecutionContext, ecb_rates: EcbRates) -> pd.DataFrame:
    """date, currency, rate."""
    rows = transforms.reference_rates(ecb_rates.table(context.partition_keys, CALENDAR))
    _record(context, rows)
    return rows


@dg.asset(
    **_COMMON,
    kinds={"pandas", "parquet"},
    metadata=_metadata("rate", "units per US dollar"),
    ins={"reference_rates": dg.AssetIn(RATES)},
    description="Every currency, the euro included, in units per US dollar." + _PER_WORKDAY,
)
def usd_crosses(context: dg.AssetExecutionContext, reference_rates: pd.DataFrame) -> pd.DataFrame:
    """date, currency, rate."""
    rows = transforms.usd_crosses(reference_rates)
    _record(context, rows)
    return rows


@dg.asset(
    **_COMMON,
    kinds={"pandas", "parquet"},
    metadata=_metadata("log_return", "ln(rate / rate of the previous workday)"),
    ins={"reference_rates": dg.AssetIn(RATES, partition_mapping=trailing_workdays(2))},
    description="Log return of each currency against the previous workday, where both days quote"
    " it. The first workday, 1999-01-04, has none before it and is an empty table." + _PER_WORKDAY,
)
def returns(context: dg.AssetExecutionContext, reference_rates: pd.DataFrame) -> pd.DataFrame:
    """date, currency, log_return."""
    days = [WORKDAYS.day(key) for key in context.partition_keys]
    first = WORKDAYS.first_workday
    pairs = [(day, CALENDAR.previous(day)) for day in days if day > first]
    rows = transforms.returns(reference_rates, reference_rates, pairs)
    _record(context, rows)
    return rows


def _record(context: dg.AssetExecutionContext, rows: pd.DataFrame) -> None:
    """Give each partition of the run its own rows, preview and inputs as metadata."""
    mappings = _mappings(context)
    calendar = calendar_metadata(CALENDAR)
    metadata = {}
    for key, own in rows_metadata(rows, context.partition_keys).items():
        day = WORKDAYS.day(key)
        inputs = {
            asset: [str(d) for d in WORKDAYS.days_around(day, m.start_offset, m.end_offset)]
            for asset, m in mappings.items()
        }
        metadata[key] = {**own, **calendar, **inputs_metadata(inputs)}
    add_partition_metadata(context, metadata)


def _mappings(context: dg.AssetExecutionContext) -> dict[str, dg.TimeWindowPartitionMapping]:
    """By upstream asset, the mapping that names the upstream keys of a key."""
    found = {}
    for upstream in context.assets_def.keys_by_input_name.values():
        mapping = context.assets_def.get_partition_mapping(upstream)
        if not isinstance(mapping, dg.TimeWindowPartitionMapping):
            mapping = dg.TimeWindowPartitionMapping()  # none given: the same workday
        found[upstream.to_user_string()] = mapping
    return found
