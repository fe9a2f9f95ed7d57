"""Weeks, months and volatility: every one since 1999 against pandas on the ECB's own file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.ecb import read_history

from workday_assets.ecb import transforms
from workday_assets.ecb.assets import RATES, RETURNS, reference_rates, returns, volatility_20d
from workday_assets.ecb.periods import monthly_summary, weekly_summary
from workday_assets.storage.parquet import ParquetIOManager

HISTORY = read_history()
#: The ECB's file: a row per workday, a column per currency, NaN where not quoted.
WIDE = pd.DataFrame.from_dict(HISTORY, orient="index").sort_index(axis="columns")
WIDE.index = pd.DatetimeIndex(WIDE.index)
WIDE_RETURNS = np.log(WIDE / WIDE.shift(1))

MONTHS = [f"{day:%Y-%m-%d}" for day in pd.date_range("1999-01-01", WIDE.index[-1], freq="MS")]
WEEKS = [f"{day:%Y-%m-%d}" for day in pd.date_range("1999-01-04", WIDE.index[-1], freq="W-MON")]
JANUARY_2026 = [
    "2026-01-02",
    "2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08", "2026-01-09",
    "2026-01-12", "2026-01-13", "2026-01-14", "2026-01-15", "2026-01-16",
    "2026-01-19", "2026-01-20", "2026-01-21", "2026-01-22", "2026-01-23",
    "2026-01-26", "2026-01-27", "2026-01-28", "2026-01-29", "2026-01-30",
]  # fmt: skip
COLUMNS = ["date", "currency", "open", "high", "low", "close", "mean", "days"]


def store(base: Path, key: dg.AssetKey, column: str, wide: pd.DataFrame) -> None:
    """An upstream file per day, written without this project's code."""
    folder = base.joinpath(*key.path)
    folder.mkdir(parents=True)
    schema = pa.schema([("date", pa.date32()), ("currency", pa.string()), (column, pa.float64())])
    for day, values in zip(wide.index, wide.to_numpy(), strict=True):
        quoted = ~np.isnan(values)
        columns = [[day.date()] * int(quoted.sum()), wide.columns[quoted], values[quoted]]
        table = pa.table(columns, schema=schema)
        pq.write_table(table, folder / f"{day:%Y-%m-%d}.parquet")


def run(asset: dg.AssetsDefinition, base: Path, first: str, last: str | None = None) -> Any:
    """Materialize one partition, or a range in a single run; metadata by partition."""
    upstream = [*reference_rates.specs, *returns.specs]
    tags = {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last or first,
    }
    result = dg.materialize(
        [asset, *upstream],
        selection=[asset],
        partition_key=None if last else first,
        tags=tags if last else None,
        resources={"io_manager": ParquetIOManager(base_path=str(base))},
    )
    events = result.asset_materializations_for_node(asset.node_def.name)
    return {
        event.partition: {key: value.value for key, value in event.metadata.items()}
        for event in events
    }


def stored(base: Path, asset: dg.AssetsDefinition) -> pd.DataFrame:
    """All rows of all files, each in the file of its own date."""
    folder = base.joinpath(*asset.key.path)
    columns = ds.dataset(folder).schema.names
    frame = ds.dataset(folder).to_table(columns=[*columns, "__filename"]).to_pandas()
    names = frame.pop("__filename").map(lambda name: Path(name).stem)
    assert (names == frame["date"].astype(str)).all()
    typed = frame.astype({"date": "datetime64[ms]"})
    return typed.sort_values(["date", "currency"], ignore_index=True)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the rates and the returns of every workday since 1999."""
    path = tmp_path_factory.mktemp("data")
    store(path, RATES, "rate", WIDE)
    store(path, RETURNS, "log_return", WIDE_RETURNS)
    return path


@pytest.fixture(scope="module")
def months(base: Path) -> dict[str, dict[str, Any]]:
    """Every month, made in one run: its metadata."""
    found: dict[str, dict[str, Any]] = run(monthly_summary, base, MONTHS[0], MONTHS[-1])
    return found


@pytest.fixture(scope="module")
def weeks(base: Path) -> dict[str, dict[str, Any]]:
    """Every week, made in one run: its metadata."""
    found: dict[str, dict[str, Any]] = run(weekly_summary, base, WEEKS[0], WEEKS[-1])
    return found


def resampled(rule: str) -> pd.DataFrame:
    """What pandas makes of the ECB's file by calendar periods that start at midnight."""
    groups = WIDE.resample(rule, closed="left", label="left")
    parts = {
        "open": groups.first(), "high": groups.max(), "low": groups.min(), "close": groups.last(),
        "mean": groups.mean(), "days": groups.count(),
    }  # fmt: skip
    long = {name: part.rename_axis(columns="currency").stack() for name, part in parts.items()}
    frame = pd.DataFrame(long).query("days > 0").rename_axis(["date", "currency"]).reset_index()
    return frame.astype({"date": "datetime64[ms]", "days": "int64"})[COLUMNS]


def test_every_month_since_1999_is_pandas_own(
    base: Path, months: Mapping[str, Mapping[str, Any]]
) -> None:
    """334 months to October 2026, row by row, each in its own file."""
    assert list(months)[:334] == MONTHS[:334]
    found = stored(base, monthly_summary)
    pd.testing.assert_frame_equal(found, resampled("MS"), check_dtype=False, rtol=1e-12)


def test_every_week_since_1999_is_pandas_own(
    base: Path, weeks: Mapping[str, Mapping[str, Any]]
) -> None:
    """1,452 ISO weeks to the one of 2026-10-26, row by row, each in its own file."""
    assert list(weeks)[:1452] == WEEKS[:1452]
    found = stored(base, weekly_summary)
    pd.testing.assert_frame_equal(found, resampled("W-MON"), check_dtype=False, rtol=1e-12)


def test_every_period_is_complete_and_says_so(
    months: Mapping[str, Mapping[str, Any]], weeks: Mapping[str, Mapping[str, Any]]
) -> None:
    """Expected by our calendar and found in the ECB's file: the same number in every period."""
    for rule, periods in (("MS", months), ("W-MON", weeks)):
        counts = WIDE["USD"].resample(rule, closed="left", label="left").count()
        for day, count in counts.items():
            said = periods[str(day)[:10]]
            assert said["workday/expected"] == said["workday/found"] == count
            assert said["workday/completeness"] == f"expected {count}, found {count}"


def january(base: Path, days: Sequence[str]) -> None:
    """Rates of some days as files, and unreadable ones beside January 2026."""
    store(base, RATES, "rate", WIDE.loc[pd.DatetimeIndex(days)])
    for outside in ("2025-12-31", "2026-02-02"):
        base.joinpath(*RATES.path, f"{outside}.parquet").write_bytes(b"not a table")


def test_january_2026_is_fed_by_exactly_its_21_workdays(tmp_path: Path) -> None:
    """The files of the workdays before and after it cannot be read, and nothing reads them."""
    january(tmp_path, JANUARY_2026)
    said = run(monthly_summary, tmp_path, "2026-01-01")["2026-01-01"]
    assert said["workday/completeness"] == "expected 21, found 21"
    assert said["workday/inputs"] == {
        "ecb/reference_rates": {
            "count": 21,
            "first": "2026-01-02",
            "last": "2026-01-30",
            "sha256": hashlib.sha256("\n".join(JANUARY_2026).encode()).hexdigest(),
        }
    }
    assert said["chart"].startswith(
        "![What one euro buys, January 2026: change since 2026-01-02](data:image/svg+xml;base64,"
    )
    dollar = stored(tmp_path, monthly_summary).set_index("currency").loc["USD"]
    rates = [HISTORY[date.fromisoformat(day)]["USD"] for day in JANUARY_2026]
    ends = [rates[0], max(rates), min(rates), rates[-1]]
    assert dollar[["open", "high", "low", "close"]].tolist() == ends
    assert (dollar["days"], dollar["mean"]) == (21, pytest.approx(sum(rates) / 21, rel=1e-12))


def test_a_missing_day_is_named_and_the_rest_is_used(tmp_path: Path) -> None:
    """A person who makes January by hand without the 15th gets 20 days, and is told which."""
    there = [day for day in JANUARY_2026 if day != "2026-01-15"]
    january(tmp_path, there)
    said = run(monthly_summary, tmp_path, "2026-01-01")["2026-01-01"]
    assert said["workday/completeness"] == "expected 21, found 20: 2026-01-15"
    assert (said["workday/expected"], said["workday/found"]) == (21, 20)
    digest = hashlib.sha256("\n".join(there).encode()).hexdigest()
    assert said["workday/inputs"]["ecb/reference_rates"]["sha256"] == digest
    assert stored(tmp_path, monthly_summary)["days"].max() == 20


@pytest.mark.parametrize(
    ("asset", "key", "expected"),
    [
        pytest.param(monthly_summary, "2026-01-01", 21, id="month"),
        # Good Friday 2026-04-03 is closed.
        pytest.param(weekly_summary, "2026-03-30", 4, id="week"),
    ],
)
def test_a_period_of_which_nothing_is_there_is_an_empty_typed_table(
    asset: dg.AssetsDefinition, key: str, expected: int, tmp_path: Path
) -> None:
    """No upstream day at all: columns and types, no rows, and every day named as missing."""
    tmp_path.joinpath(*RATES.path).mkdir(parents=True)
    said = run(asset, tmp_path, key)[key]
    assert said["workday/completeness"].startswith(f"expected {expected}, found 0: 20")
    schema = pq.read_schema(tmp_path.joinpath(*asset.key.path, f"{key}.parquet"))
    kinds = [pa.date32(), pa.string(), *[pa.float64()] * 5, pa.int64()]
    assert (schema.names, [str(kind) for kind in schema.types]) == (COLUMNS, list(map(str, kinds)))
    assert stored(tmp_path, asset).empty


@pytest.mark.parametrize(
    ("asset", "key"),
    [
        pytest.param(monthly_summary, "1999-01-01", id="first month"),
        pytest.param(monthly_summary, "2026-01-01", id="month"),
        pytest.param(weekly_summary, "1999-01-04", id="first week"),
        pytest.param(weekly_summary, "2025-12-29", id="week over new year"),
    ],
)
@pytest.mark.usefixtures("months", "weeks")
def test_one_period_alone_equals_itself_in_a_range(
    asset: dg.AssetsDefinition, key: str, base: Path, tmp_path: Path
) -> None:
    """The same bytes, whatever else the run makes."""
    tmp_path.joinpath("ecb").mkdir()
    tmp_path.joinpath(*RATES.path).symlink_to(base.joinpath(*RATES.path))
    run(asset, tmp_path, key)
    file = Path(*asset.key.path, f"{key}.parquet")
    assert (tmp_path / file).read_bytes() == (base / file).read_bytes()


def test_volatility_of_every_day_since_1999_is_numpys_own() -> None:
    """Every window of 20 rows of the file, cut out and measured one by one by NumPy."""
    long = WIDE_RETURNS.rename_axis("date").rename_axis(columns="currency").stack()
    days = [day.date() for day in WIDE.index]
    made = transforms.volatility(long.rename("log_return").reset_index(), days, days)
    found = made.pivot(index="date", columns="currency")

    rows = np.concatenate([np.full((19, WIDE.shape[1]), np.nan), WIDE_RETURNS.to_numpy()])
    windows = np.lib.stride_tricks.sliding_window_view(rows, 20, axis=0)
    quoted = ~np.isnan(windows)
    deviation = windows.std(axis=-1, ddof=1) * math.sqrt(252)
    today = quoted[..., -1]
    frame = {"index": WIDE.index.as_unit("ms"), "columns": WIDE.columns}
    for name, values in (("volatility", deviation), ("returns", quoted.sum(axis=-1))):
        expected = pd.DataFrame(np.where(today, values, np.nan), **frame)
        pd.testing.assert_frame_equal(
            found[name].reindex(**frame), expected, check_names=False, check_dtype=False,
            rtol=1e-9, atol=1e-13,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("currency", "day", "expected"),
    [
        pytest.param("USD", "1999-01-04", None, id="no workday before the first"),
        pytest.param("USD", "1999-01-29", 19, id="a day too early"),
        pytest.param("USD", "1999-02-01", 20, id="first full window"),
        pytest.param("LTL", "2014-12-31", 20, id="Lithuania's last day"),
        pytest.param("LTL", "2015-01-02", None, id="Lithuania has the euro"),
        pytest.param("HRK", "2022-12-30", 20, id="Croatia's last day"),
        pytest.param("HRK", "2023-01-02", None, id="Croatia has the euro"),
        pytest.param("BGN", "2025-12-31", 20, id="Bulgaria's last day"),
        pytest.param("BGN", "2026-01-02", None, id="Bulgaria has the euro"),
        pytest.param("RUB", "2022-03-01", 20, id="last day of the rouble"),
        pytest.param("RUB", "2022-03-02", None, id="rouble suspended"),
        pytest.param("ISK", "2018-02-01", None, id="first rate of the krona after its gap"),
        pytest.param("ISK", "2018-02-02", 1, id="first return of the krona after its gap"),
        pytest.param("ISK", "2018-02-28", 19, id="a day too early after the gap"),
        pytest.param("ISK", "2018-03-01", 20, id="full window after the gap"),
    ],
)
def test_currencies_come_and_go(
    currency: str, day: str, expected: int | None, base: Path, tmp_path: Path
) -> None:
    """How many returns the asset states; a volatility only with 20; no row without a return."""
    tmp_path.joinpath("ecb").mkdir()
    tmp_path.joinpath(*RETURNS.path).symlink_to(base.joinpath(*RETURNS.path))
    run(volatility_20d, tmp_path, day)
    rows = stored(tmp_path, volatility_20d).set_index("currency")
    assert (currency in rows.index) == (expected is not None)
    if expected is not None:
        row = rows.loc[currency]
        assert (row["returns"], pd.notna(row["volatility"])) == (expected, expected == 20)


def test_volatility_by_hand(tmp_path: Path) -> None:
    """19 returns of 0 and one of 1 %: mean 0.0005, squares 0.000095, a 19th of it, times 252.

    The 20 files are the workdays from Thursday 2025-12-18 to 2026-01-19: Christmas, Boxing Day and
    New Year are closed. What lies before them is unreadable.
    """
    days = pd.bdate_range("2025-12-18", "2026-01-19").difference(
        pd.DatetimeIndex(["2025-12-25", "2025-12-26", "2026-01-01"])
    )
    assert len(days) == 20
    store(tmp_path, RETURNS, "log_return", pd.DataFrame({"USD": [0.01] + 19 * [0.0]}, index=days))
    tmp_path.joinpath(*RETURNS.path, "2025-12-17.parquet").write_bytes(b"not a table")
    said = run(volatility_20d, tmp_path, "2026-01-19")["2026-01-19"]
    inputs = said["workday/inputs"]["ecb/returns"]
    assert (inputs["count"], inputs["first"], inputs["last"]) == (20, "2025-12-18", "2026-01-19")
    (row,) = stored(tmp_path, volatility_20d).to_dict("records")
    assert row["volatility"] == pytest.approx(math.sqrt(0.000095 / 19 * 252), rel=1e-12)


def test_volatility_of_a_range_has_the_bytes_of_its_single_days(base: Path, tmp_path: Path) -> None:
    """Over Easter 2024, in one run and day by day."""
    days = ["2024-03-28", "2024-04-02", "2024-04-03"]
    files = []
    for name, ranges in (
        ("range", [(days[0], days[-1])]),
        ("single", [(day, None) for day in days]),
    ):
        path = tmp_path / name
        path.joinpath("ecb").mkdir(parents=True)
        path.joinpath(*RETURNS.path).symlink_to(base.joinpath(*RETURNS.path))
        for first, last in ranges:
            run(volatility_20d, path, first, last)
        folder = path.joinpath(*volatility_20d.key.path)
        files.append({file.stem: file.read_bytes() for file in sorted(folder.iterdir())})
    assert list(files[0]) == days
    assert files[0] == files[1]
