"""The checks on the reference rates: each rule on made rates and on the ECB's whole history."""

from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from support.ecb import read_history

from workday_assets.automation.requests import partition_tags
from workday_assets.ecb import known, quality
from workday_assets.ecb.assets import CALENDAR, RATES, WORKDAYS
from workday_assets.ecb.checks import CHECKS
from workday_assets.ecb.quality import Finding
from workday_assets.storage.parquet import ParquetIOManager

#: Weekdays of autumn 2025, in which TARGET has no holiday.
DAYS = [day.date() for day in pd.bdate_range("2025-08-01", "2025-11-28")]
LAST, BEFORE = DAYS[-1], DAYS[-2]
CURRENCIES = ("GBP", "JPY", "USD")


def made(**rates: float | None) -> pd.DataFrame:
    """Rates that wobble by a third of a percent; on the last day those that are given, or none."""
    rows = [
        (day, currency, (2.0 + at) * (1 + 0.003 * (-1) ** n))
        for n, day in enumerate(DAYS)
        for at, currency in enumerate(CURRENCIES)
        if not (day == LAST and currency in rates)
    ]
    rows += [(LAST, currency, rate) for currency, rate in rates.items() if rate is not None]
    return frame(rows)


def frame(rows: list[tuple[date, str, float]]) -> pd.DataFrame:
    """Rows in the types of the asset."""
    found = pd.DataFrame(rows, columns=["date", "currency", "rate"])
    return found.astype({"date": "datetime64[ms]", "currency": "str", "rate": "float64"})


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param(
            {"GBP": None}, "was quoted the workday before, and is not", id="vanished-currency"
        ),
        # The wobble's returns are 0.6 % up and down: that is their deviation too.
        pytest.param({"GBP": 2.006 * 1.2}, "moved by +20.0%, 30 standard deviations", id="jump"),
        pytest.param({"GBP": 2.006 * 1.05}, None, id="a-large-move-is-no-jump"),
        pytest.param({"CHF": 0.9}, None, id="a-new-currency"),
    ],
)
def test_plausible(rates: dict[str, float | None], said: str | None) -> None:
    """One rule fails on one made rate of the last day, and names the day and the currency."""
    found = quality.implausible(made(**rates), DAYS, DAYS)
    assert found == ([Finding(LAST, "GBP", said)] if said else [])


def test_stale() -> None:
    """The tenth workday without a move is found, and so is every further one."""
    rows = made()
    last = DAYS[-12:]
    rows.loc[(rows["currency"] == "GBP") & (rows["date"] >= pd.Timestamp(last[0])), "rate"] = 2.0
    said = "has been 2 for 10 workdays and more"
    expected = [Finding(last[10], "GBP", said), Finding(last[11], "GBP", said)]
    assert quality.implausible(rows, DAYS, DAYS) == expected


def test_a_day_that_is_not_stored_is_not_judged() -> None:
    """Nothing vanishes from a day without a file, nor on the day after it."""
    rows = made()
    gap = rows[rows["date"] != pd.Timestamp(DAYS[-3])]
    assert quality.implausible(gap, [day for day in DAYS if day != DAYS[-3]], DAYS) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([(LAST, "GBP", 2.0)], "is there twice", id="twice"),
        pytest.param([(LAST, "XXX", 0.0)], "has no positive rate", id="zero"),
        pytest.param([(LAST, "XXX", float("nan"))], "has no positive rate", id="no-number"),
        pytest.param([(LAST, "XXX", float("inf"))], "has no positive rate", id="infinite"),
        pytest.param([(LAST, "euro", 1.0)], "is no currency code", id="no-code"),
    ],
)
def test_malformed(rows: list[tuple[date, str, float]], said: str) -> None:
    """One bad row is found, and only on a day that is asked about."""
    bad = pd.concat([made(), frame(rows)])
    assert quality.malformed(made(), DAYS) == []
    assert quality.malformed(bad, DAYS) == [Finding(LAST, rows[0][1], said)]
    assert quality.malformed(bad, DAYS[:-1]) == []


#: What pandas calls a column of text: `object`, and from 3.0 on `str`.
TEXT = pd.Series(["text"]).dtype


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(
            lambda rows: rows.drop(columns="rate"),
            "the columns are date, currency, not date, currency, rate",
            id="column-missing",
        ),
        pytest.param(
            lambda rows: rows.astype({"rate": "str"}), f"rate is of type {TEXT}", id="text-for-rate"
        ),
        pytest.param(
            lambda rows: rows.astype({"date": "str"}), f"date is of type {TEXT}", id="text-for-date"
        ),
        pytest.param(
            lambda rows: rows[rows["date"] != pd.Timestamp(LAST)], "has no rows", id="no-rows"
        ),
    ],
)
def test_schema(change: Any, said: str) -> None:
    """Wrong columns or types, and a day without rows, are findings about the whole day."""
    assert quality.malformed(change(made()), [LAST]) == [Finding(LAST, "all", said)]


@pytest.fixture(scope="module")
def history() -> dict[date, dict[str, float]]:
    """The ECB's own file, read with the standard library."""
    return read_history()


@pytest.fixture(scope="module")
def whole(history: dict[date, dict[str, float]]) -> pd.DataFrame:
    """The same as rows."""
    return frame([(day, c, rate) for day, quoted in history.items() for c, rate in quoted.items()])


def test_the_whole_history_passes(
    history: dict[date, dict[str, float]], whole: pd.DataFrame
) -> None:
    """With the known ends, jumps and pegs nothing is found in 28 years."""
    days = list(history)
    assert quality.malformed(whole, days) == []
    assert quality.implausible(whole, days, days) == []


def test_known_ends_are_all_there_are(
    monkeypatch: pytest.MonkeyPatch, history: dict[date, dict[str, float]], whole: pd.DataFrame
) -> None:
    """Without them exactly those currencies vanish that the file stops to quote."""
    days = list(history)
    expected = [
        (day, currency)
        for before, day in pairwise(days)
        for currency in sorted(history[before].keys() - history[day].keys())
    ]
    assert len(expected) == 13
    assert {(currency, day) for day, currency in expected} == {
        (currency, day) for currency, (day, _) in known.ENDED.items()
    }
    monkeypatch.setattr(quality, "ENDED", {})
    found = quality.vanished(quality.table(whole, days))
    assert [(each.day, each.currency) for each in found] == expected


def test_known_jumps_are_all_there_are(
    monkeypatch: pytest.MonkeyPatch, history: dict[date, dict[str, float]], whole: pd.DataFrame
) -> None:
    """Without them exactly those days are found that NumPy finds in the file."""
    days = list(history)
    expected = set()
    for currency in {c for quoted in history.values() for c in quoted}:
        rates = np.array([history[day].get(currency, np.nan) for day in days])
        moves = np.diff(np.log(rates))
        for at in range(60, len(moves)):
            before = moves[at - 60 : at][~np.isnan(moves[at - 60 : at])]
            if len(before) >= 20 and abs(moves[at]) > 10 * max(before.std(ddof=1), 0.005):
                expected.add((currency, days[at + 1]))
    assert expected == known.JUMPED.keys()
    monkeypatch.setattr(quality, "JUMPED", {})
    found = quality.jumps(quality.table(whole, days))
    assert {(each.currency, each.day) for each in found} == expected


def test_known_pegs_are_all_there_are(
    monkeypatch: pytest.MonkeyPatch, history: dict[date, dict[str, float]], whole: pd.DataFrame
) -> None:
    """Without them exactly those days are found on which a rate is as on the ten days before."""
    days = list(history)
    expected = {
        (currency, day)
        for at, day in enumerate(days)
        for currency, rate in history[day].items()
        if at >= 10 and all(history[d].get(currency) == rate for d in days[at - 10 : at])
    }
    assert {currency for currency, _ in expected} == {peg[0] for peg in known.PEGGED}
    monkeypatch.setattr(quality, "PEGGED", [])
    found = quality.stale(quality.table(whole, days))
    assert {(each.currency, each.day) for each in found} == expected


@pytest.mark.parametrize("day", ["2015-01-15", "2021-12-21", "2014-12-17"])
def test_a_day_alone_is_judged_as_in_the_whole_history(
    monkeypatch: pytest.MonkeyPatch,
    history: dict[date, dict[str, float]],
    whole: pd.DataFrame,
    day: str,
) -> None:
    """With the look-back, and nothing more, the findings are the same."""
    monkeypatch.setattr(quality, "JUMPED", {})
    days, asked = list(history), date.fromisoformat(day)
    at = days.index(asked)
    near = days[at - quality.LOOK_BACK : at + 1]
    rows = whole[whole["date"].isin(pd.DatetimeIndex(near))]
    assert quality.implausible(rows, [asked], near) == quality.implausible(whole, [asked], days)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def run(
    instance: dg.DagsterInstance,
    folder: Path,
    rows: pd.DataFrame,
    first: date | None,
    last: date | None = None,
    left_out: date | None = None,
) -> dict[str, tuple[bool, str]]:
    """Store rows as the asset does, and check them, in one run; without days only check."""

    @dg.asset(
        key=RATES,
        partitions_def=WORKDAYS,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def reference_rates(context: dg.AssetExecutionContext) -> pd.DataFrame:
        found = rows[rows["date"].isin(pd.DatetimeIndex(context.partition_keys))].copy()
        if left_out is not None:
            found.attrs["made_partitions"] = [
                key for key in context.partition_keys if key != str(left_out)
            ]
            found = found[found["date"] != pd.Timestamp(left_out)]
        return found

    result = dg.materialize(
        [reference_rates, *CHECKS],
        instance=instance,
        resources={"io_manager": ParquetIOManager(base_path=str(folder))},
        partition_key=str(first) if first and not last else None,
        tags=partition_tags(str(first), str(last)) if last else {},
        selection=None if first else dg.AssetSelection.checks(*CHECKS),
    )
    assert result.success
    return {
        each.check_name: (each.passed, str(each.description))
        for each in result.get_asset_check_evaluations()
    }


def test_in_runs(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """A range, then one day, then all that is stored: one evaluation each, about the run's days."""
    rows = pd.concat([made(GBP=None), frame([(BEFORE, "USD", 4.1)])])
    passed = run(instance, tmp_path, rows, DAYS[0], DAYS[-3])
    span = f"{len(DAYS) - 2} days, 2025-08-01 to 2025-11-26"
    assert passed == {
        "well_formed": (True, f"Nothing found in {span}."),
        "plausible": (True, f"Nothing found in {span}."),
    }
    twice, gone = "2025-11-27: USD is there twice", "2025-11-28: GBP was quoted the workday before"
    assert run(instance, tmp_path, rows, BEFORE) == {
        "well_formed": (False, f"{twice}; in one day, 2025-11-27."),
        "plausible": (True, "Nothing found in one day, 2025-11-27."),
    }
    assert run(instance, tmp_path, rows, LAST) == {
        "well_formed": (True, "Nothing found in one day, 2025-11-28."),
        "plausible": (False, f"{gone}, and is not; in one day, 2025-11-28."),
    }
    span = f"{len(DAYS)} days, 2025-08-01 to 2025-11-28"
    assert run(instance, tmp_path, rows, None) == {
        "well_formed": (False, f"{twice}; in {span}."),
        "plausible": (False, f"{gone}, and is not; in {span}."),
    }


def test_a_day_that_a_run_leaves_out(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """It is not there, so it has no rows that could be missing, and nothing vanishes from it."""
    found = run(instance, tmp_path, made(), DAYS[-4], LAST, left_out=DAYS[-3])
    assert found["well_formed"] == (True, "Nothing found in 3 days, 2025-11-25 to 2025-11-28.")
    assert found["plausible"] == (True, "Nothing found in 3 days, 2025-11-25 to 2025-11-28.")


def test_nothing_is_stored(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """Executed before anything is there, the checks say so."""
    found = run(instance, tmp_path, made(), None)
    assert set(found.values()) == {(True, "Nothing found in no day that is stored.")}


def test_made_days_are_workdays() -> None:
    """The weekdays used here are those of the calendar."""
    assert CALENDAR.workdays(DAYS[0], date(2025, 11, 29)) == DAYS
