"""Asset checks on the reference rates, over the days of a run, whether one or thousands.

One step reads the days once, with what is needed before them, and evaluates every check once per
run. Executed by itself, without partitions, it is about every day that is stored.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date, timedelta

import dagster as dg
import pandas as pd

from workday_assets.ecb import quality
from workday_assets.ecb.assets import RATES, WORKDAYS
from workday_assets.ecb.quality import Finding
from workday_assets.storage.parquet import MISSING

_SHOWN = 20

_WARN, _ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
#: By name: what it says when all is well, the severity otherwise, and what finds it.
_CHECKS: dict[str, tuple[str, dg.AssetCheckSeverity]] = {
    "one_rate_per_currency": (
        "Columns and types are right, every rate is a positive number, none is there twice.",
        _ERROR,
    ),
    "no_currency_vanishes": (
        "Every currency quoted on the workday before is quoted, but for known ends.",
        _ERROR,
    ),
    "no_jump": (
        f"No rate moves by more than {quality.JUMP_SIGMAS:g} standard deviations of its last"
        f" {quality.JUMP_WINDOW} workdays, but for known jumps.",
        _WARN,
    ),
    "no_stale_rate": (
        f"No rate stays the same for {quality.STALE_DAYS} workdays, but for known pegs.",
        _WARN,
    ),
}
_ON_TABLE: dict[str, Callable[[pd.DataFrame], list[Finding]]] = {
    "no_currency_vanishes": quality.vanished,
    "no_jump": quality.jumps,
    "no_stale_rate": quality.stale,
}


@dg.multi_asset_check(
    name="ecb_reference_rates_checks",
    specs=[
        dg.AssetCheckSpec(name, asset=RATES, description=said)
        for name, (said, _) in _CHECKS.items()
    ],
    can_subset=True,
    required_resource_keys={"io_manager"},
)
def reference_rates_checks(
    context: dg.AssetCheckExecutionContext,
) -> Iterator[dg.AssetCheckResult]:
    """The checks that are asked for, on the run's days that are stored."""
    rows, days, workdays = _load(context, _asked(context))
    wide = quality.table(rows, workdays)
    for name in sorted(key.name for key in context.selected_asset_check_keys):
        find = _ON_TABLE.get(name)
        found = quality.malformed(rows, days) if find is None else find(wide)
        yield _result(name, days, [finding for finding in found if finding.day in days])


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
    span = f"{len(days)} days, {min(days)} to {max(days)}" if days else "no day that is stored"
    metadata: dict[str, dg.MetadataValue] = {
        "workday/checked": dg.MetadataValue.text(span),
        "workday/findings": dg.MetadataValue.int(len(found)),
    }
    if found:
        lines = [f"| {each.day} | {each.currency} | {each.said} |" for each in found[:_SHOWN]]
        shown = "\n".join(["| day | currency | |", "|---|---|---|", *lines])
        metadata["workday/first_findings"] = dg.MetadataValue.md(shown)
        first = found[0]
        what = f"{len(found)} findings in {span}; the first: {first.day} {first.currency}"
        said = f"{what} {first.said}."
    else:
        said = f"Nothing found in {span}."
    return dg.AssetCheckResult(
        asset_key=RATES,
        check_name=name,
        passed=not found,
        severity=_CHECKS[name][1],
        description=said,
        metadata=metadata,
    )
