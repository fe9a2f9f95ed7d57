"""What a run does with days whose inputs are not there yet: they are not ready, and no failure.

A backfill launched in the UI over an asset with a trailing window also asks for the days after its
range, whose inputs nobody has made. Those must neither be computed from half a window nor look
broken. The planner never asks for such a day; this is for runs that others launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dagster as dg
import pandas as pd

from workday_assets.automation.recorded import NOT_READY_TAG
from workday_assets.errors import MissingPartitionError
from workday_assets.partitions import WorkdayPartitionsDefinition
from workday_assets.storage.parquet import MADE, MISSING


def ready_keys(context: dg.AssetExecutionContext, **inputs: pd.DataFrame) -> list[str]:
    """The run's partition keys whose every input is stored, oldest first.

    The others are named in the run's log and in its tag `workday/not_ready`.

    Args:
        context: of an asset with workday partitions.
        inputs: by input name, tables loaded by `ParquetIOManager` with the input metadata
            ``allow_missing_partitions``; their upstream assets have the same partitions definition.

    Raises:
        MissingPartitionError: a partition is recorded as materialized, and its file is gone.
    """
    keys = list(context.partition_keys)
    waits: dict[str, str] = {}
    for name, table in inputs.items():
        missing = missing_keys(context, name, table)
        if not missing:
            continue
        definition = context.assets_def.partitions_def
        assert isinstance(definition, WorkdayPartitionsDefinition)  # noqa: S101 - see above
        upstream = context.assets_def.keys_by_input_name[name]
        mapping = context.assets_def.get_partition_mapping(upstream)
        if not isinstance(mapping, dg.TimeWindowPartitionMapping):
            mapping = dg.TimeWindowPartitionMapping()
        for key in keys:
            around = definition.days_around(
                definition.day(key), mapping.start_offset, mapping.end_offset
            )
            needed = [day.strftime(definition.fmt) for day in around]
            absent = [upstream_key for upstream_key in needed if upstream_key in missing]
            if absent:
                waits.setdefault(key, f"{upstream.to_user_string()} {absent[0]}")
    leave_out(context, waits)
    return [key for key in keys if key not in waits]


def missing_keys(context: dg.AssetExecutionContext, name: str, table: pd.DataFrame) -> set[str]:
    """The upstream partitions of an input that were never made; see `ready_keys` for the arguments.

    Raises:
        MissingPartitionError: a partition is recorded as materialized, and its file is gone.
    """
    missing = set(table.attrs[MISSING])
    upstream = context.assets_def.keys_by_input_name[name]
    lost = missing and missing & context.instance.get_materialized_partitions(upstream)
    if lost:
        why = "it is recorded as materialized, and its file is gone; materialize it again"
        raise MissingPartitionError(upstream.to_user_string(), min(lost), "no file", why)
    return missing


def made(rows: pd.DataFrame, keys: Sequence[str]) -> dg.Output[pd.DataFrame]:
    """An output that is about `keys` alone; the run's other keys are not materialized."""
    rows.attrs[MADE] = list(keys)
    return dg.Output(rows)


def leave_out(context: dg.AssetExecutionContext, waits: Mapping[str, str]) -> None:
    """Name keys that are not ready in the run's log and in its tag `workday/not_ready`.

    Args:
        context: of the asset that leaves them out.
        waits: by partition key, oldest first, what it waits for; none tells nothing.
    """
    if not waits:
        return
    first, last = next(iter(waits)), next(reversed(list(waits)))
    days = first if first == last else f"{first} to {last}"
    context.log.warning(
        f"not ready, and left out: {len(waits)} partitions, {days}; {first} waits for"
        f" {waits[first]}."
    )
    context.instance.add_run_tags(context.run.run_id, {NOT_READY_TAG: days})
