import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from workday_assets.errors import (
    InvalidInputError,
    MissingPartitionError,
    UnexpectedRowsError,
    UnreadablePartitionError,
)
from workday_assets.storage.parquet import ParquetIOManager

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

WEEKDAYS = dg.DailyPartitionsDefinition(
    "2026-10-01", end_date="2026-11-01", exclusions=["0 0 * * 0,6"]
)
SCHEMA = dg.TableSchema(
    [
        dg.TableColumn("date", "date32"),
        dg.TableColumn("currency", "string"),
        dg.TableColumn("rate", "float64"),
    ]
)
ARROW = pa.schema([("date", pa.date32()), ("currency", pa.string()), ("rate", pa.float64())])
DECLARED = {"dagster/column_schema": SCHEMA}
ROWS = [
    ("2026-10-23", "USD", 1.1703),
    ("2026-10-23", "JPY", 176.87),
    ("2026-10-26", "USD", 1.1721),
    ("2026-10-27", "USD", 1.1688),
]


def table(*rows: tuple[str, str, float]) -> pd.DataFrame:
    """A table of rates, typed."""
    frame = pd.DataFrame(rows, columns=["date", "currency", "rate"])
    return frame.astype({"date": "datetime64[ms]", "currency": "str", "rate": "float64"})


def stored(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every file in `folder`, hidden ones too, as PyArrow reads them."""
    return {
        path.name: [tuple(str(v) for v in row.values()) for row in pq.read_table(path).to_pylist()]
        for path in sorted(folder.iterdir())
    }


def run(assets: Sequence[dg.AssetsDefinition], base: object, first: str, last: str) -> Any:
    """Materialize the assets in one run over the keys from `first` to `last`."""
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            assets,
            instance=instance,
            resources={"io_manager": ParquetIOManager(base_path=str(base))},
            tags={
                "dagster/asset_partition_range_start": first,
                "dagster/asset_partition_range_end": last,
            },
        )


def write(
    base: object,
    frame: object,
    keys: Sequence[str],
    *,
    asset: Sequence[str] = ("ecb", "rates"),
    metadata: Mapping[str, Any] = DECLARED,
    partitions: dg.PartitionsDefinition[Any] = WEEKDAYS,
) -> dg.OutputContext:
    """Hand `frame` to the I/O manager as the output of a run over `keys`, first to last."""
    context = dg.build_output_context(
        asset_key=list(asset),
        definition_metadata=dict(metadata),
        asset_partitions_def=partitions,
        asset_partition_key_range=dg.PartitionKeyRange(keys[0], keys[-1]),
    )
    with context:
        ParquetIOManager(base_path=str(base)).handle_output(context, frame)  # type: ignore[arg-type]
    return context


def read(
    base: object,
    keys: Sequence[str],
    *,
    asset: Sequence[str] = ("ecb", "rates"),
    partitions: dg.PartitionsDefinition[Any] = WEEKDAYS,
    lenient: bool = False,
) -> pd.DataFrame:
    """Load the keys, first to last, as an input."""
    context = dg.build_input_context(
        definition_metadata={"allow_missing_partitions": lenient},
        asset_key=list(asset),
        asset_partitions_def=partitions,
        asset_partition_key_range=dg.PartitionKeyRange(keys[0], keys[-1]),
    )
    with context:
        return ParquetIOManager(base_path=str(base)).load_input(context)


def sha256sum(path: Path) -> str:
    """What the system's own command says of a file."""
    found = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
    return found.stdout.split()[0]


def rates_asset(rows: pd.DataFrame, metadata: Mapping[str, Any] = DECLARED) -> dg.AssetsDefinition:
    """An asset `ecb/rates` by weekday that returns `rows`, whatever the keys."""

    @dg.asset(
        key=["ecb", "rates"],
        partitions_def=WEEKDAYS,
        metadata=metadata,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def rates() -> pd.DataFrame:
        return rows

    return rates


def previous_asset(seen: list[pd.DataFrame]) -> dg.AssetsDefinition:
    """An asset that puts what it gets of the previous weekday's `ecb/rates` into `seen`."""
    previous = dg.TimeWindowPartitionMapping(
        start_offset=-1, end_offset=-1, allow_nonexistent_upstream_partitions=True
    )

    @dg.asset(
        partitions_def=WEEKDAYS,
        ins={"rates": dg.AssetIn(["ecb", "rates"], partition_mapping=previous)},
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def child(rates: pd.DataFrame) -> pd.DataFrame:
        seen.append(rates)
        return table()

    return child


@pytest.fixture
def memory() -> Iterator[str]:
    """An empty folder of fsspec's memory file system."""
    yield "memory://bucket/base"
    MemoryFileSystem.store.clear()


def test_one_run_over_many_keys_writes_each_row_to_its_key(tmp_path: Path) -> None:
    """Friday to Tuesday in one run is three files, each with its own day's rows in their order."""
    shuffled = table(ROWS[2], ROWS[0], ROWS[3], ROWS[1])
    result = run([rates_asset(shuffled)], tmp_path, "2026-10-23", "2026-10-27")
    folder = tmp_path / "ecb" / "rates"
    assert stored(folder) == {
        "2026-10-23.parquet": [("2026-10-23", "USD", "1.1703"), ("2026-10-23", "JPY", "176.87")],
        "2026-10-26.parquet": [("2026-10-26", "USD", "1.1721")],
        "2026-10-27.parquet": [("2026-10-27", "USD", "1.1688")],
    }
    events = result.asset_materializations_for_node("ecb__rates")
    assert [event.partition for event in events] == ["2026-10-23", "2026-10-26", "2026-10-27"]
    recorded = {name: value.value for name, value in events[0].metadata.items()}
    assert {name: recorded[name] for name in ("path", "rows", "files")} == {
        "path": str(folder),
        "rows": 4,
        "files": 3,
    }


def test_one_key_records_its_file(tmp_path: Path) -> None:
    """A run of one partition names the file itself."""
    context = write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    metadata = context.get_logged_metadata()
    assert metadata["path"].value == str(tmp_path / "ecb" / "rates" / "2026-10-26.parquet")
    assert (metadata["rows"].value, metadata["files"].value) == (1, 1)


def test_each_materialization_records_its_own_file(tmp_path: Path) -> None:
    """Its rows and the SHA-256 of its bytes, as `sha256sum` gives it, beside the asset's own."""
    folder = tmp_path / "ecb" / "rates"
    result = run([rates_asset(table(*ROWS))], tmp_path, "2026-10-23", "2026-10-27")
    events = result.asset_materializations_for_node("ecb__rates")
    assert [event.metadata["workday/file"].value for event in events] == [
        {"rows": rows, "sha256": sha256sum(folder / f"{key}.parquet")}
        for key, rows in (("2026-10-23", 2), ("2026-10-26", 1), ("2026-10-27", 1))
    ]


def test_input_is_the_rows_of_its_keys_in_key_order(tmp_path: Path) -> None:
    """Monday and Tuesday read Friday and Monday by the mapping, as one typed table."""
    seen: list[pd.DataFrame] = []
    run([rates_asset(table(*ROWS))], tmp_path, "2026-10-23", "2026-10-27")
    source = rates_asset(table(*ROWS[2:]))
    run([source, previous_asset(seen)], tmp_path, "2026-10-26", "2026-10-27")
    pd.testing.assert_frame_equal(seen[0], table(*ROWS[:3]))


def test_input_without_keys_is_an_empty_typed_table(tmp_path: Path) -> None:
    """The first partition has no previous one: its input has the declared columns and no rows."""
    seen: list[pd.DataFrame] = []
    first = table(("2026-10-01", "USD", 1.17))
    run([rates_asset(first), previous_asset(seen)], tmp_path, "2026-10-01", "2026-10-01")
    pd.testing.assert_frame_equal(seen[0], table())


def test_input_without_keys_needs_a_schema(tmp_path: Path) -> None:
    """Without keys and without a declared schema the columns cannot be known."""
    first = table(("2026-10-01", "USD", 1.17))
    assets = [rates_asset(first, metadata={}), previous_asset([])]
    with pytest.raises(
        InvalidInputError,
        match=r"asset ecb/rates: .* give the asset metadata dagster/column_schema",
    ):
        run(assets, tmp_path, "2026-10-01", "2026-10-01")


def test_key_without_rows_gets_an_empty_typed_file(tmp_path: Path) -> None:
    """A key that was asked for exists afterwards, with the declared types, also without rows."""
    untyped = pd.DataFrame(columns=["date", "currency", "rate"])
    write(tmp_path, untyped, ["2026-10-26", "2026-10-27"])
    folder = tmp_path / "ecb" / "rates"
    assert stored(folder) == {"2026-10-26.parquet": [], "2026-10-27.parquet": []}
    assert pq.read_schema(folder / "2026-10-26.parquet").equals(ARROW)
    pd.testing.assert_frame_equal(read(tmp_path, ["2026-10-26"]), table())


def test_rows_of_another_key_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Rows of a day nobody asked for are an error with asset, key and path, and no file appears."""
    with pytest.raises(UnexpectedRowsError) as caught:
        write(tmp_path, table(*ROWS, ("2026-10-27", "JPY", 176.5)), ["2026-10-23", "2026-10-26"])
    path = tmp_path / "ecb" / "rates" / "2026-10-27.parquet"
    assert str(caught.value) == (
        "asset ecb/rates, partition 2026-10-27: the output has 2 rows of a partition that the run"
        f" was not asked for ({path})."
    )
    assert (caught.value.asset, caught.value.partition_key) == ("ecb/rates", "2026-10-27")
    assert list(tmp_path.rglob("*")) == []


def test_missing_upstream_file_is_named(tmp_path: Path) -> None:
    """The first missing key is an error with asset, key and path."""
    write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    with pytest.raises(MissingPartitionError) as caught:
        read(tmp_path, ["2026-10-23", "2026-10-27"])
    path = tmp_path / "ecb" / "rates" / "2026-10-23.parquet"
    assert str(caught.value) == (
        "asset ecb/rates, partition 2026-10-23: it is needed and not stored; materialize it first"
        f" ({path})."
    )


def test_missing_files_are_left_out_where_the_input_allows_it(tmp_path: Path) -> None:
    """A lenient input has the rows that are there, and names the keys that are not."""
    write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    lenient = read(tmp_path, ["2026-10-23", "2026-10-27"], lenient=True)
    pd.testing.assert_frame_equal(lenient, table(ROWS[2]))
    assert lenient.attrs == {"missing_partitions": ["2026-10-23", "2026-10-27"]}
    assert read(tmp_path, ["2026-10-26"], lenient=True).attrs == {"missing_partitions": []}


def test_a_damaged_column_name_is_an_unreadable_file(tmp_path: Path) -> None:
    """PyArrow raises no error of its own for a name that is not UTF-8."""
    write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    file = tmp_path / "ecb" / "rates" / "2026-10-26.parquet"
    file.write_bytes(file.read_bytes().replace(b"currency", b"currenc\xff"))
    with pytest.raises(UnreadablePartitionError, match="partition 2026-10-26"):
        read(tmp_path, ["2026-10-26"])


def test_unreadable_file_is_named_although_missing_ones_are_allowed(tmp_path: Path) -> None:
    """A file that is there and broken is a fault, never a missing day."""
    write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    (tmp_path / "ecb" / "rates" / "2026-10-26.parquet").write_bytes(b"PAR1")
    with pytest.raises(UnreadablePartitionError, match="partition 2026-10-26"):
        read(tmp_path, ["2026-10-26"], lenient=True)


def test_output_can_be_about_some_of_the_keys(tmp_path: Path) -> None:
    """Only the keys that an output names get a file and a record; the attribute is not stored."""
    rows = table(*ROWS[:2])
    rows.attrs["made_partitions"] = ["2026-10-23"]
    result = run([rates_asset(rows)], tmp_path, "2026-10-23", "2026-10-27")
    made = result.asset_materializations_for_node("ecb__rates")
    assert [event.partition for event in made] == ["2026-10-23"]
    folder = tmp_path / "ecb" / "rates"
    assert sorted(stored(folder)) == ["2026-10-23.parquet"]
    assert pd.read_parquet(folder / "2026-10-23.parquet").attrs == {}


@pytest.mark.parametrize("named", [[], ["2026-10-30"]], ids=["none", "not-asked-for"])
def test_output_about_other_keys_is_refused(named: list[str], tmp_path: Path) -> None:
    """An output names some of its run's keys; with none to make, there is no output to store."""
    rows = table()
    rows.attrs["made_partitions"] = named
    with pytest.raises(InvalidInputError, match=r"attrs\['made_partitions'\]=.*of this run"):
        run([rates_asset(rows)], tmp_path, "2026-10-23", "2026-10-27")
    assert list(tmp_path.rglob("*")) == []


def test_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    """A file that something else wrote is an error with asset, key and path."""
    write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    path = tmp_path / "ecb" / "rates" / "2026-10-26.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        UnreadablePartitionError, match="2026-10-26: its file cannot be read as Parquet"
    ):
        read(tmp_path, ["2026-10-26"])


def test_writing_twice_equals_writing_once(tmp_path: Path) -> None:
    """A second write leaves the same files with the same bytes; rows that are gone are gone."""
    keys = ["2026-10-23", "2026-10-27"]
    contents = []
    for _ in range(2):
        write(tmp_path, table(*ROWS), keys)
        contents.append({path.name: path.read_bytes() for path in tmp_path.rglob("*.*")})
    assert contents[0] == contents[1]
    assert len(contents[0]) == 3
    write(tmp_path, table(ROWS[3]), keys)
    pd.testing.assert_frame_equal(read(tmp_path, keys), table(ROWS[3]))


KILLED = """
import os, signal, sys
import pandas as pd
from test_parquet import ROWS, table, write
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write(sys.argv[1], table((sys.argv[2], "USD", 9.0)), [sys.argv[2]])
"""


@pytest.mark.parametrize(
    ("scheme", "key"),
    [
        pytest.param("", "2026-10-26", id="old stays"),
        pytest.param("", "2026-10-27", id="new is absent"),
        pytest.param("file://", "2026-10-26", id="old stays at a file URL"),
    ],
)
def test_kill_between_write_and_replace(scheme: str, key: str, tmp_path: Path) -> None:
    """A process killed with all its bytes written changes nothing, and the next write succeeds."""
    write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    folder = tmp_path / "ecb" / "rates"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    child = subprocess.run(
        [sys.executable, "-c", KILLED, f"{scheme}{tmp_path}", key],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    leftover = (after.keys() - before.keys()).pop()
    assert leftover.startswith(f".{key}.parquet.")
    assert pq.read_table(folder / leftover)["rate"].to_pylist() == [9.0]
    assert after == before | {leftover: after[leftover]}

    write(tmp_path, table((key, "USD", 2.0)), [key])
    pd.testing.assert_frame_equal(read(tmp_path, [key]), table((key, "USD", 2.0)))


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """Where a file cannot be put in place, the error is raised and its temporary file is gone."""
    in_the_way = tmp_path / "ecb" / "rates" / "2026-10-26.parquet"
    in_the_way.mkdir(parents=True)
    with pytest.raises(OSError, match=r"2026-10-26\.parquet"):
        write(tmp_path, table(ROWS[2]), ["2026-10-26"])
    assert list((tmp_path / "ecb" / "rates").iterdir()) == [in_the_way]


def test_concurrent_writers_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers of one key that finish together both succeed, and one's table is there whole."""
    key = "2026-10-26"
    tables = [table(*[(key, f"C{i:03}", value) for i in range(500)]) for value in (1.0, 2.0)]
    both_written, replace = threading.Barrier(2, timeout=60), os.replace

    def replace_together(source: Path, target: Path) -> None:
        both_written.wait()
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_together)
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda frame: write(tmp_path, frame, [key]), tables):
            pass
    found = read(tmp_path, [key])
    pd.testing.assert_frame_equal(found, tables[int(found["rate"].iloc[0]) - 1])
    assert [path.name for path in (tmp_path / "ecb" / "rates").iterdir()] == [f"{key}.parquet"]


def test_reader_of_a_changing_file_sees_whole_tables(tmp_path: Path) -> None:
    """While a key is written again and again, every read is one of the two tables."""
    key = "2026-10-26"
    tables = [table(*[(key, f"C{i:03}", value) for i in range(500)]) for value in (1.0, 2.0)]
    write(tmp_path, tables[0], [key])
    with ThreadPoolExecutor(1) as pool:
        writes = [pool.submit(write, tmp_path, tables[i % 2], [key]) for i in range(20)]
        while not writes[-1].done():
            found = read(tmp_path, [key])
            pd.testing.assert_frame_equal(found, tables[int(found["rate"].iloc[0]) - 1])


def test_object_store_gets_one_complete_put_a_file(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another file system each file is one request, without temporary files or renames."""
    puts: list[str] = []
    original = MemoryFileSystem.pipe_file

    def pipe_file(self: MemoryFileSystem, path: str, value: bytes, **kwargs: Any) -> None:
        puts.append(path)
        original(self, path, value, **kwargs)

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", pipe_file)
    keys = ["2026-10-23", "2026-10-27"]
    write(memory, table(*ROWS), keys)
    folder = "/bucket/base/ecb/rates"
    wanted = [f"{folder}/{day}.parquet" for day in ("2026-10-23", "2026-10-26", "2026-10-27")]
    assert sorted(puts) == wanted
    assert sorted(MemoryFileSystem.store) == wanted
    pd.testing.assert_frame_equal(read(memory, keys), table(*ROWS))


def test_object_store_misses_a_file_by_name(memory: str) -> None:
    """A missing object is the same typed error as a missing file."""
    with pytest.raises(MissingPartitionError, match=r"2026-10-23\.parquet"):
        read(memory, ["2026-10-23"])


def test_file_url_is_a_local_folder(tmp_path: Path) -> None:
    """A file:// address is written like a path."""
    write(f"file://{tmp_path}", table(ROWS[2]), ["2026-10-26"])
    pd.testing.assert_frame_equal(read(tmp_path, ["2026-10-26"]), table(ROWS[2]))


def test_partition_column_and_weeks(tmp_path: Path) -> None:
    """For weeks the column that the asset names holds the first date of each week."""
    weeks = dg.WeeklyPartitionsDefinition("2026-10-05", day_offset=1, end_date="2026-11-02")
    frame = pd.DataFrame(
        {"week": pd.to_datetime(["2026-10-12", "2026-10-05"]).as_unit("ms"), "high": [2.0, 1.0]}
    )
    keys = ["2026-10-05", "2026-10-12"]
    write(tmp_path, frame, keys, metadata={"partition_column": "week"}, partitions=weeks)
    assert stored(tmp_path / "ecb" / "rates") == {
        "2026-10-05.parquet": [("2026-10-05", "1.0")],
        "2026-10-12.parquet": [("2026-10-12", "2.0")],
    }
    expected = frame.iloc[[1, 0]].reset_index(drop=True)
    pd.testing.assert_frame_equal(read(tmp_path, keys, partitions=weeks), expected)


def test_types_survive_and_the_index_does_not(tmp_path: Path) -> None:
    """Without a declared schema a table loads with the types it had, dates as datetime64[ms]."""
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["2026-10-26", "2026-10-27"]).as_unit("ns"),
            "count": pd.array([1, None], dtype="Int64"),
            "flag": [True, False],
            "note": ["x", None],
            "at": pd.to_datetime(["2026-10-26 16:00", "2026-10-27 16:05"], utc=True),
        },
        index=[7, 8],
    )
    keys = ["2026-10-26", "2026-10-27"]
    write(tmp_path, frame, keys, metadata={})
    expected = frame.reset_index(drop=True).astype({"date": "datetime64[ms]"})
    pd.testing.assert_frame_equal(read(tmp_path, keys), expected)


def test_files_with_and_without_values_load_together(tmp_path: Path) -> None:
    """A column that was empty on one day and text on the next is one column of text."""
    frame = pd.DataFrame({"date": pd.to_datetime(["2026-10-26"]).as_unit("ms"), "note": [None]})
    write(tmp_path, frame, ["2026-10-26"], metadata={})
    other = frame.assign(date=pd.Timestamp("2026-10-27"), note="x")
    write(tmp_path, other, ["2026-10-27"], metadata={})
    assert read(tmp_path, ["2026-10-26", "2026-10-27"])["note"].fillna("").tolist() == ["", "x"]


@pytest.mark.parametrize(
    ("frame", "metadata", "why"),
    [
        pytest.param([1], {}, "returned list; return a pandas.DataFrame", id="no table"),
        pytest.param(
            table(ROWS[2]).drop(columns="date"), {}, "lacks columns ['date']", id="no date column"
        ),
        pytest.param(
            table(ROWS[2]).drop(columns="rate"), DECLARED, "lacks columns ['rate']",
            id="declared column missing",
        ),
        pytest.param(
            table(ROWS[2]).assign(extra=1), DECLARED, "has columns ['extra']",
            id="undeclared column",
        ),
        pytest.param(
            table(ROWS[2]).assign(rate="high"), DECLARED, "does not fit its type", id="another type"
        ),
        pytest.param(
            table(ROWS[2]).assign(date=pd.NaT), {}, "rows without a date", id="row without a date"
        ),
        pytest.param(
            table(ROWS[2]).assign(date=pd.Timestamp("2026-10-26 16:00")), {},
            "holds a zone or a time of day", id="time of day",
        ),
        pytest.param(
            table(ROWS[2]).assign(date=pd.Timestamp("2026-10-26", tz="Europe/Berlin")), DECLARED,
            "holds a zone or a time of day", id="zone",
        ),
        pytest.param(
            table(ROWS[2]).assign(date="Monday"), {}, "does not hold dates", id="not a date"
        ),
    ],
)  # fmt: skip
def test_unfit_output_is_refused(
    frame: object, metadata: Mapping[str, Any], why: str, tmp_path: Path
) -> None:
    """Output that is not the declared table is one sentence, and no file appears."""
    with pytest.raises(InvalidInputError) as caught:
        write(tmp_path, frame, ["2026-10-26"], metadata=metadata)
    assert str(caught.value).startswith("asset ecb/rates")
    assert why in str(caught.value)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("part", ["..", ".", "a/b", "a\\b", "../../etc"], ids=repr)
@pytest.mark.parametrize("where", ["partition key", "asset key"])
def test_no_name_leads_out_of_the_base_folder(part: str, where: str, tmp_path: Path) -> None:
    """A key with separators or dots alone is refused for writing and for reading."""
    base = tmp_path / "base" / "deep"
    key, asset = (part, ["ecb", "rates"]) if where == "partition key" else ("k", ["ecb", part])
    partitions = dg.StaticPartitionsDefinition([key])
    frame = pd.DataFrame({"date": [key]})
    with pytest.raises(InvalidInputError, match="cannot name a file or folder below base_path"):
        write(base, frame, [key], asset=asset, metadata={}, partitions=partitions)
    with pytest.raises(InvalidInputError, match="cannot name a file or folder below base_path"):
        read(base, [key], asset=asset, partitions=partitions)
    assert list(tmp_path.rglob("*")) == []


def test_keys_that_are_no_dates(tmp_path: Path) -> None:
    """Partitions without a time window are stored by the text in their column."""
    regions = dg.StaticPartitionsDefinition(["eu", "us"])
    frame = pd.DataFrame({"region": ["us", "eu"], "n": [2, 1]})
    write(
        tmp_path, frame, ["eu", "us"], metadata={"partition_column": "region"}, partitions=regions
    )
    expected = pd.DataFrame({"region": ["eu", "us"], "n": [1, 2]})
    pd.testing.assert_frame_equal(read(tmp_path, ["eu", "us"], partitions=regions), expected)


def test_asset_without_partitions_is_refused(tmp_path: Path) -> None:
    """An asset without partitions has no file name here."""
    manager = ParquetIOManager(base_path=str(tmp_path))
    with (
        dg.build_output_context(asset_key=["a"]) as output,
        pytest.raises(InvalidInputError, match="asset a has no partitions"),
    ):
        manager.handle_output(output, table())
    with (
        dg.build_input_context(asset_key=["a"]) as input_,
        pytest.raises(InvalidInputError, match="asset a has no partitions"),
    ):
        manager.load_input(input_)
