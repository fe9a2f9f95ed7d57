"""Asset checks on the reference rates, over the days of a run, whether one or thousands.

One step reads the days once, with what is needed before them, and evaluates every check once per
run. Executed by itself, without partitions, it is about every day that is stored.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta

import dagster as dg
import pandas as pd

from workday_assets.ecb import quality
from workday_assets.ecb.assets import RATES, WORKDAYS
from workday_assets.ecb.quality import Finding
from workday_assets.storage.parquet import MISSING

WELL_FORMED, PLAUSIBLE = "well_formed", "plausible"
_SEVERITY = {WELL_FORMED: dg.AssetCheckSeverity.ERROR, PLAUSIBLE: dg.AssetCheckSeverity.WARN}
_SHOWN = 20

# Two checks and not one per rule: of a run over a range Dagster writes a row per partition for each
# check that it plans. What a rule found is in the findings.
_SPECS = [
    dg.AssetCheckSpec(
        WELL_FORMED,
        asset=RATES,
        description="Columns and types are right, every day has rows, every rate is a positive"
        " number, and none is there twice.",
    ),
    dg.AssetCheckSpec(
        PLAUSIBLE,
        asset=RATES,
        description="Every currency quoted on the workday before is quoted; no rate moves by more"
        f" than {quality.JUMP_SIGMAS:g} standard deviations of its last {quality.JUMP_WINDOW}"
        f" workdays, or stays the same for {quality.STALE_DAYS}. Known ends, jumps and pegs pass.",
    ),
]


@dg.multi_asset_check(
    name="ecb_reference_rates_checks",
    specs=_SPECS,
    can_subset=True,
    required_resource_keys={"io_manager"},
)
def reference_rates_checks(
    context: dg.AssetCheckExecutionContext,
) -> Iterator[dg.AssetCheckResult]:
    """The checks that are asked for, on the run's days that are stored."""
    rows, days, workdays = _load(context, _asked(context))
    asked = {key.name for key in context.selected_asset_check_keys}
    if WELL_FORMED in asked:
        yield _result(WELL_FORMED, days, quality.malformed(rows, days))
    if PLAUSIBLE in asked:
        yield _result(PLAUSIBLE, days, quality.implausible(rows, days, workdays))


#: All checks of the project's data.
CHECKS = [reference_rates_checks]


def _asked(context: dg.AssetCheckExecutionContext) -> list[date]:
    """The workdays of the run, of a run without partitions those that are materialized; ordered."""
    op_context = context.op_execution_context
    if op_context.has_partition_key or op_context.has_partition_key_range:
        keys = WORKDAYS.get_partition_keys_in_range(op_context.partition_key_range)
    else:
        keys = sorted(context.instance.get_materialized_partitions(RATES))
    return [WORKDAYS.day(key) for key in keys]


def _load(
    context: dg.AssetCheckExecutionContext, asked: Sequence[date]
) -> tuple[pd.DataFrame, Collection[date], list[date]]:
    """The rows, the days asked for that are stored, and all workdays from those before them on."""
    if not asked:
        return quality.NO_ROWS, [], []
    before = WORKDAYS.days_around(asked[0], -quality.LOOK_BACK, -1)
    workdays = [*before, *WORKDAYS.calendar.workdays(asked[0], asked[-1] + timedelta(days=1))]
    first, last = (day.strftime(WORKDAYS.fmt) for day in (workdays[0], workdays[-1]))
    stored = dg.build_input_context(
        asset_key=RATES,
        asset_partitions_def=WORKDAYS,
        asset_partition_key_range=dg.PartitionKeyRange(first, last),
        definition_metadata={"allow_missing_partitions": True},
    )
    rows = context.resources.io_manager.load_input(stored)
    missing = {WORKDAYS.day(key) for key in rows.attrs[MISSING]}
    return rows, dict.fromkeys(day for day in asked if day not in missing), workdays


def _result(name: str, days: Collection[date], found: Sequence[Finding]) -> dg.AssetCheckResult:
    span = _span(days)
    metadata: dict[str, dg.MetadataValue] = {
        "workday/checked": dg.MetadataValue.text(span),
        "workday/findings": dg.MetadataValue.int(len(found)),
    }
    if found:
        lines = [f"| {each.day} | {each.currency} | {each.said} |" for each in found[:_SHOWN]]
        shown = "\n".join(["| day | currency | |", "|---|---|---|", *lines])
        metadata["workday/first_findings"] = dg.MetadataValue.md(shown)
        first = found[0]
        rest = f" and {len(found) - 1} more" if len(found) > 1 else ""
        said = f"{first.day}: {first.currency} {first.said}{rest}; in {span}."
    else:
        said = f"Nothing found in {span}."
    return dg.AssetCheckResult(
        asset_key=RATES,
        check_name=name,
        passed=not found,
        severity=_SEVERITY[name],
        description=said,
        metadata=metadata,
    )


def _span(days: Collection[date]) -> str:
    if not days:
        return "no day that is stored"
    first, last = min(days), max(days)
    return f"{len(days)} days, {first} to {last}" if len(days) > 1 else f"one day, {first}"
