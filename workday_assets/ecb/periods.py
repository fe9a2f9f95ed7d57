"""The assets with a partition per week or month, made of exactly the workdays inside."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import dagster as dg
import pandas as pd

from workday_assets.ecb import transforms
from workday_assets.ecb.assets import CALENDAR, RATES, TIMEZONE, WORKDAYS
from workday_assets.ecb.charts import month_chart
from workday_assets.ecb.metadata import (
    add_partition_metadata,
    calendar_metadata,
    found_metadata,
    inputs_metadata,
    rows_metadata,
)
from workday_assets.mappings import rollup
from workday_assets.readiness import missing_keys

# The open period is a partition too, so that it can be made at the close of its last workday; the
# web server counts it as missing until then.
WEEKS = dg.WeeklyPartitionsDefinition("1999-01-04", timezone=TIMEZONE, day_offset=1, end_offset=1)
MONTHS = dg.MonthlyPartitionsDefinition("1999-01-01", timezone=TIMEZONE, end_offset=1)

_COLUMNS = [
    dg.TableColumn("date", "date32", "first date of the period"),
    dg.TableColumn("currency", "string", "ISO 4217 code"),
    dg.TableColumn("open", "float64", "first rate of the period, units per euro"),
    dg.TableColumn("high", "float64", "highest rate"),
    dg.TableColumn("low", "float64", "lowest rate"),
    dg.TableColumn("close", "float64", "last rate"),
    dg.TableColumn("mean", "float64", "arithmetic mean of the rates"),
    dg.TableColumn("days", "int64", "days of the period that quote the currency"),
]
_COMMON: dict[str, Any] = {
    "key_prefix": "ecb",
    "group_name": "ecb",
    "owners": ["team:market-data"],
    "backfill_policy": dg.BackfillPolicy.single_run(),
    "tags": {"workday/calendar": CALENDAR.name},
    "kinds": {"pandas", "parquet"},
    "metadata": {
        **calendar_metadata(CALENDAR),
        "dagster/column_schema": dg.TableSchema(_COLUMNS),
    },
    "ins": {
        "reference_rates": dg.AssetIn(
            RATES, partition_mapping=rollup(), metadata={"allow_missing_partitions": True}
        )
    },
}
_MADE_OF = (
    f" of the reference rates, from the {CALENDAR.name} workdays inside it and no other. A workday"
    " whose rates are not there is named in the metadata."
)


@dg.asset(
    **_COMMON,
    partitions_def=WEEKS,
    description="Open, high, low, close and mean of each ISO week" + _MADE_OF,
)
def weekly_summary(
    context: dg.AssetExecutionContext, reference_rates: pd.DataFrame
) -> pd.DataFrame:
    """date, currency, open, high, low, close, mean, days."""
    return _summary(context, reference_rates)


@dg.asset(
    **_COMMON,
    partitions_def=MONTHS,
    description="Open, high, low, close and mean of each month" + _MADE_OF,
)
def monthly_summary(
    context: dg.AssetExecutionContext, reference_rates: pd.DataFrame
) -> pd.DataFrame:
    """date, currency, open, high, low, close, mean, days."""
    charts = {
        key: {"chart": month_chart(reference_rates, date.fromisoformat(key))}
        for key in context.partition_keys
    }
    return _summary(context, reference_rates, charts)


PERIOD_ASSETS = [weekly_summary, monthly_summary]


def _summary(
    context: dg.AssetExecutionContext,
    rates: pd.DataFrame,
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """The rows of the run's periods; `more` is metadata by key beside what each period records."""
    missing_keys(context, "reference_rates", rates)  # refuses files that are gone
    keys = context.partition_keys
    rows = transforms.summary(rates, [date.fromisoformat(key) for key in keys])
    metadata = rows_metadata(rows, keys)
    found = {day.date() for day in rates["date"].unique().tolist()}
    for key, expected in zip(keys, _expected(context, keys), strict=True):
        used = [day for day in expected if day in found]
        metadata[key] = {
            **found_metadata(expected, used),
            **(more or {}).get(key, {}),
            **metadata[key],
            **calendar_metadata(CALENDAR),
            **inputs_metadata({RATES.to_user_string(): list(map(str, used))}),
        }
    add_partition_metadata(context, metadata)
    return rows


def _expected(context: dg.AssetExecutionContext, keys: Sequence[str]) -> Iterator[list[date]]:
    """The workdays of each period that are partitions, complete or not."""
    definition = context.assets_def.partitions_def
    assert isinstance(definition, dg.TimeWindowPartitionsDefinition)  # noqa: S101 - WEEKS or MONTHS
    for key in keys:
        window = definition.time_window_for_partition_key(key)
        first = max(window.start.date(), WORKDAYS.first_date)
        yield CALENDAR.workdays(first, window.end.date())
