"""Runs that others launch over days whose inputs nobody has made, on a real instance."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition, trailing_workdays
from workday_assets.errors import MissingPartitionError
from workday_assets.readiness import made, ready_keys
from workday_assets.storage.parquet import ParquetIOManager

# 2026-01-01 is a Thursday; the workdays are 2, 5, 6, 7, 8, 9, 12 ... January.
CALENDAR = WorkdayCalendar.build(
    "SMALL", "2026-01-02", "2026-01-31", holidays={"2026-01-19": "A Monday"}
)
WORKDAYS = WorkdayPartitionsDefinition(CALENDAR, "Europe/Berlin")
COLUMNS = dg.TableSchema([dg.TableColumn("date", "date32"), dg.TableColumn("n", "int64")])
OPTIONS: dict[str, Any] = {
    "partitions_def": WORKDAYS,
    "backfill_policy": dg.BackfillPolicy.single_run(),
    "metadata": {"dagster/column_schema": COLUMNS},
}


def table(keys: list[str], values: list[int]) -> pd.DataFrame:
    """A row per key."""
    return pd.DataFrame({"date": pd.to_datetime(keys), "n": values})


@dg.asset(**OPTIONS)
def numbers(context: dg.AssetExecutionContext) -> pd.DataFrame:
    """The day of the month."""
    keys = list(context.partition_keys)
    return table(keys, [date.fromisoformat(key).day for key in keys])


@dg.asset(
    **OPTIONS,
    output_required=False,
    ins={
        "numbers": dg.AssetIn(
            partition_mapping=trailing_workdays(3), metadata={"allow_missing_partitions": True}
        )
    },
)
def sums(
    context: dg.AssetExecutionContext, numbers: pd.DataFrame
) -> Iterator[dg.Output[pd.DataFrame]]:
    """The sum over three workdays."""
    keys = ready_keys(context, numbers=numbers)
    if keys:
        of_day = numbers.set_index(numbers["date"].dt.strftime("%Y-%m-%d"))["n"]
        around = [WORKDAYS.days_around(WORKDAYS.day(key), -2, 0) for key in keys]
        values = [sum(int(of_day[str(day)]) for day in days) for days in around]
        yield made(table(keys, values), keys)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def run(
    instance: dg.DagsterInstance,
    base: Path,
    asset: dg.AssetsDefinition,
    first: str,
    last: str,
    *,
    raise_on_error: bool = True,
) -> dg.ExecuteInProcessResult:
    """One run of one asset over first to last."""
    one = first == last
    tags = {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last,
    }
    return dg.materialize(
        [numbers, sums],
        selection=[asset],
        instance=instance,
        partition_key=first if one else None,
        tags={} if one else tags,
        resources={"io_manager": ParquetIOManager(base_path=str(base))},
        raise_on_error=raise_on_error,
    )


def made_sums(instance: dg.DagsterInstance) -> list[str]:
    """The recorded partitions of `sums`."""
    return sorted(instance.get_materialized_partitions(dg.AssetKey("sums")))


def not_ready(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> str | None:
    """What the run's tag says."""
    found = instance.get_run_by_id(result.run_id)
    assert found is not None
    return found.tags.get("workday/not_ready")


def test_days_past_the_range_are_left_out(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """A run that spills two days past what was made computes what it can, and the rest not."""
    run(instance, tmp_path, numbers, "2026-01-02", "2026-01-08")
    result = run(instance, tmp_path, sums, "2026-01-02", "2026-01-12")
    assert result.success
    made_days = ["2026-01-02", "2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08"]
    assert made_sums(instance) == made_days
    assert not_ready(instance, result) == "2026-01-09 to 2026-01-12"
    files = sorted(path.stem for path in (tmp_path / "sums").iterdir())
    assert files == made_days
    stored = pd.read_parquet(tmp_path / "sums" / "2026-01-08.parquet")
    assert stored["n"].tolist() == [6 + 7 + 8]


def test_hole_leaves_out_the_days_that_need_it(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """A missing day takes itself and the two workdays after it out, over a closed Monday too."""
    run(instance, tmp_path, numbers, "2026-01-13", "2026-01-15")
    run(instance, tmp_path, numbers, "2026-01-20", "2026-01-23")
    result = run(instance, tmp_path, sums, "2026-01-15", "2026-01-22")
    # The 16th is missing, the 19th closed: 16, 20 and 21 need the 16th, the 22nd does not.
    assert made_sums(instance) == ["2026-01-15", "2026-01-22"]
    assert not_ready(instance, result) == "2026-01-16 to 2026-01-21"


def test_day_that_is_not_ready_is_no_failure(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """Alone, such a day ends its run without a materialization, and once ready it is made."""
    run(instance, tmp_path, numbers, "2026-01-05", "2026-01-06")
    result = run(instance, tmp_path, sums, "2026-01-07", "2026-01-07")
    assert (result.success, made_sums(instance)) == (True, [])
    assert not_ready(instance, result) == "2026-01-07"
    run(instance, tmp_path, numbers, "2026-01-07", "2026-01-07")
    again = run(instance, tmp_path, sums, "2026-01-07", "2026-01-07")
    assert (made_sums(instance), not_ready(instance, again)) == (["2026-01-07"], None)


def test_recorded_day_without_its_file_is_a_fault(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """A file that is gone is broken data, and must not pass for a day that nobody made."""
    run(instance, tmp_path, numbers, "2026-01-05", "2026-01-07")
    (tmp_path / "numbers" / "2026-01-06.parquet").unlink()
    with pytest.raises(MissingPartitionError, match="2026-01-06: it is recorded as materialized"):
        run(instance, tmp_path, sums, "2026-01-07", "2026-01-07")
    result = run(instance, tmp_path, sums, "2026-01-07", "2026-01-07", raise_on_error=False)
    assert (result.success, not_ready(instance, result)) == (False, None)
