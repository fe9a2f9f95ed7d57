"""Mappings between workday assets, in user code and as the host rebuilds them."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.snap import TimeWindowPartitionsSnap

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    previous_workday,
    trailing_workdays,
)
from workday_assets.errors import InvalidInputError

XMAS = WorkdayCalendar.build(
    "XMAS",
    "2024-12-02",
    "2025-01-31",
    holidays={"2024-12-25": "Christmas Day", "2025-01-01": "New Year's Day"},
)
OURS = WorkdayPartitionsDefinition(XMAS, "America/New_York")
HOST = TimeWindowPartitionsSnap.from_def(OURS).get_partitions_definition()

UPSTREAM: list[tuple[str, dg.PartitionMapping, str, list[str]]] = [
    ("previous-over-christmas", previous_workday(), "2024-12-26", ["2024-12-24"]),
    ("previous-over-weekend", previous_workday(), "2024-12-30", ["2024-12-27"]),
    ("previous-of-the-first", previous_workday(), "2024-12-02", []),
    ("trailing-2", trailing_workdays(2), "2024-12-26", ["2024-12-24", "2024-12-26"]),
    ("trailing-2-of-the-first", trailing_workdays(2), "2024-12-02", ["2024-12-02"]),
    (
        "trailing-4-over-new-year",
        trailing_workdays(4),
        "2025-01-02",
        ["2024-12-27", "2024-12-30", "2024-12-31", "2025-01-02"],
    ),
    ("trailing-1", trailing_workdays(1), "2024-12-26", ["2024-12-26"]),
]


@pytest.mark.parametrize("definition", [OURS, HOST], ids=["ours", "host"])
@pytest.mark.parametrize(
    ("mapping", "day", "expected"), [u[1:] for u in UPSTREAM], ids=[u[0] for u in UPSTREAM]
)
def test_upstream_workdays(
    definition: dg.TimeWindowPartitionsDefinition,
    mapping: dg.PartitionMapping,
    day: str,
    expected: list[str],
) -> None:
    """What a workday needs, counted in workdays; nothing is required that does not exist."""
    with partition_loading_context(pendulum.datetime(2025, 2, 1)):
        result = mapping.get_upstream_mapped_partitions_result_for_partitions(
            definition.subset_with_partition_keys([day]), definition, definition
        )
        assert sorted(result.partitions_subset.get_partition_keys()) == expected
        assert list(result.required_but_nonexistent_partition_keys) == []


DOWNSTREAM: list[tuple[str, dg.PartitionMapping, str, list[str]]] = [
    ("previous", previous_workday(), "2024-12-24", ["2024-12-26"]),
    ("trailing-2", trailing_workdays(2), "2024-12-24", ["2024-12-24", "2024-12-26"]),
]


@pytest.mark.parametrize("definition", [OURS, HOST], ids=["ours", "host"])
@pytest.mark.parametrize(
    ("mapping", "day", "expected"), [d[1:] for d in DOWNSTREAM], ids=[d[0] for d in DOWNSTREAM]
)
def test_downstream_workdays(
    definition: dg.TimeWindowPartitionsDefinition,
    mapping: dg.PartitionMapping,
    day: str,
    expected: list[str],
) -> None:
    """What needs a workday is the reverse of what it needs."""
    with partition_loading_context(pendulum.datetime(2025, 2, 1)):
        result = mapping.get_downstream_partitions_for_partitions(
            definition.subset_with_partition_keys([day]), definition, definition
        )
        assert sorted(result.get_partition_keys()) == expected


@pytest.mark.parametrize("n", [0, -1], ids=["zero", "negative"])
def test_trailing_nothing_is_refused(n: Any) -> None:
    """A window of no workday is a mistake."""
    with pytest.raises(InvalidInputError, match="names no workday"):
        trailing_workdays(n)


@pytest.mark.parametrize(("start", "end"), [(-1, -1), (-1, 0), (-19, 0), (0, 0)])
def test_days_around_is_what_the_mapping_says(start: int, end: int) -> None:
    """The planner's quick way names the same upstream days as Dagster's mapping, for every day."""
    mapping = dg.TimeWindowPartitionMapping(start, end, True)
    with partition_loading_context(pendulum.datetime(2025, 2, 1)):
        for key in OURS.get_partition_keys():
            result = mapping.get_upstream_mapped_partitions_result_for_partitions(
                OURS.subset_with_partition_keys([key]), OURS, OURS
            )
            expected = sorted(result.partitions_subset.get_partition_keys())
            assert [str(d) for d in OURS.days_around(OURS.day(key), start, end)] == expected
