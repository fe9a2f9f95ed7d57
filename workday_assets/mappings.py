"""Partition mappings between workday assets, by the field's names.

Each is one of Dagster's own mapping values: a class of ours would not survive the way to the
webserver and the daemon.
"""

from __future__ import annotations

import warnings

import dagster as dg

from workday_assets.errors import InvalidInputError


def previous_workday() -> dg.TimeWindowPartitionMapping:
    """Workday t needs the workday before it; the first partition needs nothing."""
    return _offsets(-1, -1)


def trailing_workdays(n: int) -> dg.TimeWindowPartitionMapping:
    """Workday t needs the last `n` workdays up to t, t included; early ones need what there is.

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


def _offsets(start: int, end: int) -> dg.TimeWindowPartitionMapping:
    with warnings.catch_warnings():
        # Without this beta option the first partitions, whose offsets reach before the start,
        # could never run; a test holds its behaviour.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return dg.TimeWindowPartitionMapping(
            start_offset=start, end_offset=end, allow_nonexistent_upstream_partitions=True
        )
