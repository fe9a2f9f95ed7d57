"""The assets on a real instance, their files against the ECB's own, and what they record."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from support.ecb import read_history

from workday_assets.ecb.assets import CALENDAR, WORKDAYS, reference_rates, returns, usd_crosses
from workday_assets.ecb.metadata import add_partition_metadata
from workday_assets.ecb.source import EcbRates
from workday_assets.storage.parquet import ParquetIOManager

HISTORY = read_history()
ASSETS = [reference_rates, usd_crosses, returns]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def run(
    instance: dg.DagsterInstance, base: Path, first: str, last: str | None = None
) -> dg.ExecuteInProcessResult:
    """All assets of one workday, or of a range in a single run."""
    tags = {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last or first,
    }
    return dg.materialize(
        ASSETS,
        instance=instance,
        partition_key=None if last else first,
        tags=tags if last else None,
        resources={"ecb_rates": EcbRates(), "io_manager": ParquetIOManager(base_path=str(base))},
    )


def stored(base: Path, asset: str, day: str) -> pd.DataFrame:
    """One partition's file."""
    return pd.read_parquet(base / "ecb" / asset / f"{day}.parquet")


def metadata(instance: dg.DagsterInstance, asset: str, day: str) -> dict[str, Any]:
    """What the newest materialization of a partition recorded."""
    filters = dg.EventRecordsFilter(
        dg.DagsterEventType.ASSET_MATERIALIZATION,
        asset_key=dg.AssetKey(["ecb", asset]),
        asset_partitions=[day],
    )
    record = instance.get_event_records(filters, limit=1)[0]
    materialization = record.asset_materialization
    assert materialization is not None
    return {key: value.value for key, value in materialization.metadata.items()}


def test_first_workday_has_rates_and_empty_typed_returns(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """1999-01-04 has no workday before it: its returns are a table without rows, with types."""
    assert run(instance, tmp_path, "1999-01-04").success
    rates = stored(tmp_path, "reference_rates", "1999-01-04")
    assert dict(zip(rates["currency"], rates["rate"], strict=True)) == HISTORY[date(1999, 1, 4)]
    empty = stored(tmp_path, "returns", "1999-01-04")
    assert (len(empty), list(empty.columns)) == (0, ["date", "currency", "log_return"])
    assert empty["log_return"].dtype == "float64"


def test_a_range_reads_the_workday_before_it(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """Over Easter 2024 the return of Tuesday is against Thursday, and every day has its file."""
    rates = dg.materialize(
        [reference_rates],
        instance=instance,
        partition_key="2024-03-27",
        resources={
            "ecb_rates": EcbRates(),
            "io_manager": ParquetIOManager(base_path=str(tmp_path)),
        },
    )
    assert rates.success
    assert run(instance, tmp_path, "2024-03-28", "2024-04-03").success
    files = sorted(path.stem for path in (tmp_path / "ecb" / "returns").iterdir())
    assert files == ["2024-03-28", "2024-04-02", "2024-04-03"]
    tuesday = stored(tmp_path, "returns", "2024-04-02").set_index("currency")["log_return"]
    expected = math.log(HISTORY[date(2024, 4, 2)]["USD"] / HISTORY[date(2024, 3, 28)]["USD"])
    assert tuesday["USD"] == pytest.approx(expected, rel=1e-12)


def test_each_partition_records_its_own_rows_and_inputs(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Also in a single run, a partition says its date, rows, calendar and exact upstream keys."""
    run(instance, tmp_path, "1999-01-04", "1999-01-06")
    found = metadata(instance, "returns", "1999-01-06")
    keys = ["1999-01-05", "1999-01-06"]
    assert found["workday/inputs"] == {
        "ecb/reference_rates": {
            "count": 2,
            "first": "1999-01-05",
            "last": "1999-01-06",
            "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest(),
        }
    }
    assert found["workday/calendar"] == {"name": "XECB", "fingerprint": CALENDAR.fingerprint}
    assert found["date"] == "1999-01-06"
    quoted = HISTORY[date(1999, 1, 6)].keys() & HISTORY[date(1999, 1, 5)].keys()
    assert found["dagster/partition_row_count"] == len(quoted)
    assert found["preview"].splitlines()[2].startswith("| AUD |")
    first = metadata(instance, "returns", "1999-01-04")
    assert first["workday/inputs"]["ecb/reference_rates"]["count"] == 1
    assert first["dagster/partition_row_count"] == 0


def test_running_twice_stores_the_same_bytes(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """A partition written twice equals one written once."""
    run(instance, tmp_path, "1999-01-04", "1999-01-05")
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.parquet"))}
    run(instance, tmp_path, "1999-01-04", "1999-01-05")
    assert {
        path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()
    } == before


@pytest.mark.parametrize("in_one_go", [False, True], ids=["dagsters-method", "ours"])
def test_partition_metadata_is_what_dagsters_own_method_adds(
    instance: dg.DagsterInstance, in_one_go: bool
) -> None:
    """Adding all partitions' metadata at once leaves what adding one after the other leaves."""
    keys = ["1999-01-04", "1999-01-05", "1999-01-06"]

    @dg.asset(partitions_def=WORKDAYS, backfill_policy=dg.BackfillPolicy.single_run())
    def noted(context: dg.AssetExecutionContext) -> None:
        context.add_asset_metadata({"common": 1})
        by_key: dict[str, dict[str, Any]] = {key: {"own": key} for key in context.partition_keys}
        if in_one_go:
            add_partition_metadata(context, by_key)
        else:
            for key, values in by_key.items():
                context.add_asset_metadata(values, partition_key=key)

    result = dg.materialize(
        [noted],
        instance=instance,
        tags={
            "dagster/asset_partition_range_start": keys[0],
            "dagster/asset_partition_range_end": keys[-1],
        },
    )
    assert _own(result.asset_materializations_for_node("noted")) == [
        (key, {"common": 1, "own": key}) for key in keys
    ]


def _own(found: Sequence[dg.AssetMaterialization]) -> list[tuple[str | None, dict[str, Any]]]:
    return [
        (event.partition, json.loads(json.dumps({k: v.value for k, v in event.metadata.items()})))
        for event in found
    ]
