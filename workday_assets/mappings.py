"""Partition mappings between workday assets, by the field's names.

The webserver and the daemon know Dagster's own mapping classes and no others, so each mapping here
is one of those to them; `docs/host-differences.md` says where they then believe something else.
"""

from __future__ import annotations

import warnings
from typing import Any

import dagster as dg
from dagster._core.definitions.partitions.mapping import UpstreamPartitionsResult
from dagster._core.definitions.partitions.subset import (
    PartitionsSubset,
    TimeWindowPartitionsSubset,
)

from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition


def previous_workday() -> dg.TimeWindowPartitionMapping:
    """Workday t needs the workday before it; the first partition needs nothing.

    Between assets of the same calendar only: Dagster steps back over the days of the downstream
    calendar and then looks for the same dates upstream, which may be closed there.
    """
    return _offsets(-1, -1)


def trailing_workdays(n: int) -> dg.TimeWindowPartitionMapping:
    """Workday t needs the last `n` workdays up to t, t included; early ones need what there is.

    Between assets of the same calendar only, see `previous_workday`.

    Raises:
        InvalidInputError: `n` is less than 1.
    """
    if n < 1:
        raise InvalidInputError(
            f"n={n} names no workday; give 1 or more (1 is the same workday alone)."
        )
    return _offsets(1 - n, 0)


def rollup() -> dg.TimeWindowPartitionMapping:
    """A week, month, quarter or year needs the workdays inside it, and no other.

    A period without a workday needs nothing. Exact in runs and in this package's decisions; what
    the webserver and the daemon believe of it is another matter, see `docs/host-differences.md`.
    """
    return _offsets(0, 0)


def same_workday(*, across_zones: bool = False) -> dg.PartitionMapping:
    """Workday t needs the same local date of another calendar, or nothing where that is closed.

    A date that is open there and not over yet is needed all the same, and is waited for.

    Args:
        across_zones: whether the two definitions have different timezones. The webserver then
            refuses a backfill that holds a day which is closed upstream, see
            `docs/host-differences.md`; `workday-assets backfill` and the sensors do not.
    """
    return (
        IdentityPartitionMapping() if across_zones else _offsets(0, 0, TimeWindowPartitionMapping)
    )


class SameWorkday:
    """Both directions of `same_workday`, by dates; a mapping class of Dagster's makes it whole."""

    def validate_partition_mapping(
        self,
        upstream_partitions_def: dg.PartitionsDefinition[Any],
        downstream_partitions_def: dg.PartitionsDefinition[Any] | None,
    ) -> None:
        """Check what is mapped, when definitions are loaded.

        Raises:
            InvalidInputError: one of the two has no workday partitions, or they have different
                zones without ``across_zones=True``.
        """
        upstream, ours = upstream_partitions_def, downstream_partitions_def
        for name, found in (("upstream", upstream), ("downstream", ours)):
            if not isinstance(found, WorkdayPartitionsDefinition):
                raise InvalidInputError(
                    f"same_workday() maps workdays to workdays, and the {name} asset has partitions"
                    f" of {type(found).__name__}; give it a WorkdayPartitionsDefinition or another"
                    " mapping."
                )
        if isinstance(self, dg.TimeWindowPartitionMapping) and upstream.timezone != ours.timezone:
            raise InvalidInputError(
                f"same_workday() is between timezones {upstream.timezone} upstream and"
                f" {ours.timezone} downstream; say so with same_workday(across_zones=True)."
            )

    def get_upstream_mapped_partitions_result_for_partitions(
        self,
        downstream_partitions_subset: PartitionsSubset[Any],
        downstream_partitions_def: WorkdayPartitionsDefinition,
        upstream_partitions_def: WorkdayPartitionsDefinition,
        *_: object,
        **__: object,
    ) -> UpstreamPartitionsResult:
        """The same dates upstream; none is ever called required and nonexistent."""
        keys = _same_dates(
            downstream_partitions_subset, downstream_partitions_def, upstream_partitions_def
        )
        nothing = TimeWindowPartitionsSubset(upstream_partitions_def, 0, [])
        # Validated, a date that is not over yet in its zone would be left out, not waited for.
        found = nothing.with_partition_keys(keys, validate=False)
        return UpstreamPartitionsResult(
            partitions_subset=found, required_but_nonexistent_subset=nothing
        )

    def get_downstream_partitions_for_partitions(
        self,
        upstream_partitions_subset: PartitionsSubset[Any],
        upstream_partitions_def: WorkdayPartitionsDefinition,
        downstream_partitions_def: WorkdayPartitionsDefinition,
        *_: object,
        **__: object,
    ) -> PartitionsSubset[Any]:
        """The same dates downstream, of those that are over."""
        keys = _same_dates(
            upstream_partitions_subset, upstream_partitions_def, downstream_partitions_def
        )
        return downstream_partitions_def.subset_with_partition_keys(keys)

    @property
    def description(self) -> str:
        """What the UI shows of it."""
        return "The same local date of the other calendar, or nothing where that is closed."


# Dagster stores a mapping by the name of its class. With the name of their base these two arrive at
# the webserver and the daemon as that base; a test sends them through a real code location.


class TimeWindowPartitionMapping(SameWorkday, dg.TimeWindowPartitionMapping):  # type: ignore[misc]
    """`same_workday` in one zone; to the host, Dagster's class of this name."""


class IdentityPartitionMapping(SameWorkday, dg.IdentityPartitionMapping):  # type: ignore[misc]
    """`same_workday` across zones; to the host, Dagster's class of this name."""


def _same_dates(
    subset: PartitionsSubset[Any],
    of: WorkdayPartitionsDefinition,
    to: WorkdayPartitionsDefinition,
) -> list[str]:
    days = (of.day(key) for key in subset.get_partition_keys())
    return [day.strftime(to.fmt) for day in days if to.days_around(day, 0, 0)]


def _offsets(
    start: int,
    end: int,
    mapping: type[dg.TimeWindowPartitionMapping] = dg.TimeWindowPartitionMapping,
) -> dg.TimeWindowPartitionMapping:
    with warnings.catch_warnings():
        # Without this beta option the first partitions, whose offsets reach before the start,
        # could never run; a test holds its behaviour.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return mapping(
            start_offset=start, end_offset=end, allow_nonexistent_upstream_partitions=True
        )
