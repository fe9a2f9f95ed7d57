"""Each thing that can be wrong is found and named, and nothing else is."""

from __future__ import annotations

import shutil
from datetime import date

import dagster as dg
import pandas as pd
from support.audited import MONTHS, WEEKS, WORKDAYS, Archive, Audited

from workday_assets.audit.report import Audit, Finding
from workday_assets.ecb.assets import CALENDAR


def found(audit: Audit) -> list[tuple[str, str, str, str]]:
    """Asset, key, kind and words of every finding."""
    return [(f.asset.removeprefix("ecb/"), f.key, f.kind, f.what) for f in audit.findings]


def test_nothing_is_wrong(history: Audited) -> None:
    """Six weeks without a closed weekday: thirty workdays, six weeks, and January."""
    audit = history.audit(deep=True)
    assert found(audit) == []
    assert {asset.name: (asset.expected, asset.materialized) for asset in audit.assets} == {
        "ecb/reference_rates": (WORKDAYS, WORKDAYS),
        "ecb/usd_crosses": (WORKDAYS, WORKDAYS),
        "ecb/returns": (WORKDAYS, WORKDAYS),
        "ecb/volatility_20d": (WORKDAYS, WORKDAYS),
        "ecb/spot_value_dates": (WORKDAYS, WORKDAYS),
        "ecb/weekly_summary": (WEEKS, WEEKS),
        "ecb/monthly_summary": (MONTHS, MONTHS),
    }


def test_a_partition_says_what_it_is_from(history: Audited) -> None:
    """Its run, its time, the calendar's fingerprint, its rows and its keys."""
    made = history.make("returns", "2025-01-13")
    asset = history.audit("returns").assets[0]
    monday = next(p for p in asset.partitions if p.key == "2025-01-13")
    record = monday.record
    assert record is not None
    assert (monday.state, monday.run_id) == ("done", made.run_id)
    assert (record.calendar, record.fingerprint) == ("XECB", CALENDAR.fingerprint)
    stored = pd.read_parquet(history.file("returns", "2025-01-13"))
    assert record.rows == len(stored)
    assert record.inputs is not None
    keys = record.inputs["ecb/reference_rates"]
    assert (keys.count, keys.first, keys.last) == (2, "2025-01-10", "2025-01-13")
    run = history.instance.get_run_record_by_id(made.run_id)
    assert run is not None
    assert run.start_time is not None
    assert run.end_time is not None
    assert run.start_time <= record.made_at.timestamp() <= run.end_time


def test_a_deleted_file(history: Audited) -> None:
    """It is named with its path and its run."""
    made = history.make("usd_crosses", "2025-01-15")
    file = history.file("usd_crosses", "2025-01-15")
    file.unlink()
    assert history.audit().findings == [
        Finding(
            "ecb/usd_crosses",
            "2025-01-15",
            "no file",
            f"it is recorded, and {file} is not there",
            made.run_id,
        )
    ]


def test_a_truncated_file(history: Audited) -> None:
    """Its name is enough for a shallow audit; a deep one says that it cannot be read."""
    file = history.file("usd_crosses", "2025-01-21")
    file.write_bytes(file.read_bytes()[:-100])
    assert found(history.audit()) == []
    ((asset, key, kind, what),) = found(history.audit(deep=True))
    assert (asset, key, kind) == ("usd_crosses", "2025-01-21", "damaged")
    assert what.startswith("2025-01-21.parquet cannot be read as Parquet (")


def test_a_file_with_a_damaged_name(history: Audited) -> None:
    """Bytes that are no text, inside a column's name, are a damage like any other."""
    file = history.file("usd_crosses", "2025-01-21")
    file.write_bytes(file.read_bytes().replace(b"currency", b"currenc\xff"))
    ((asset, key, kind, what),) = found(history.audit(deep=True))
    assert (asset, key, kind) == ("usd_crosses", "2025-01-21", "damaged")
    assert what.startswith("2025-01-21.parquet cannot be read as Parquet (")


def test_a_file_with_other_rows(history: Audited) -> None:
    """The recorded number of rows and the one found are told."""
    file = history.file("usd_crosses", "2025-01-21")
    rows = pd.read_parquet(file)
    rows.head(3).to_parquet(file)
    assert found(history.audit(deep=True)) == [
        (
            "usd_crosses",
            "2025-01-21",
            "damaged",
            f"2025-01-21.parquet has 3 rows, and {len(rows)} are recorded",
        )
    ]


def test_a_file_with_one_other_value(history: Audited) -> None:
    """As many rows, but not the bytes that the run wrote."""
    file = history.file("reference_rates", "2025-01-21")
    rows = pd.read_parquet(file)
    rows.loc[0, "rate"] += 0.0001
    rows.to_parquet(file)
    ((asset, key, kind, what),) = found(history.audit("reference_rates", deep=True))
    assert (asset, key, kind) == ("reference_rates", "2025-01-21", "damaged")
    assert "does not have the recorded SHA-256" in what


def test_a_file_that_nobody_recorded(history: Audited) -> None:
    """A copy of a day under a Saturday's name."""
    file = history.file("returns", "2025-01-18")
    shutil.copy(history.file("returns", "2025-01-17"), file)
    assert found(history.audit(deep=True)) == [
        ("returns", "2025-01-18", "no record", f"nothing recorded made {file}")
    ]


def test_a_closed_day_materialized_by_hand(history: Audited) -> None:
    """Christmas Day is an orphan; a key that is no date, and none at all, are told as well."""
    history.report("reference_rates", "2024-12-25")
    christmas = {"start": date(2024, 12, 23), "end": date(2024, 12, 27)}
    orphan = ("reference_rates", "2024-12-25", "orphan", "2024-12-25 is Christmas Day in XECB")
    assert found(history.audit("reference_rates", **christmas))[:1] == [orphan]
    history.report("reference_rates", "latest")
    history.report("reference_rates", None)
    everything = found(history.audit("reference_rates", start=None, end=None))
    # Nothing was made from 1999 to October 2024.
    assert [finding for finding in everything if finding[2] not in ("missing", "no file")] == [
        ("reference_rates", "latest", "orphan", "its key names no date"),
        orphan,
        ("reference_rates", "", "no partition", "1 materializations name no partition"),
    ]


def test_why_a_day_is_missing(history: Audited) -> None:
    """Its run failed, its source or its upstream is not there, or nobody asked for it."""
    span = {"start": date(2025, 2, 17), "end": date(2025, 2, 18), "at": "2025-02-20T12:00"}
    assert history.make("reference_rates", "2025-02-17").success
    rates = history.file("reference_rates", "2025-02-17")
    content = rates.read_bytes()
    rates.unlink()
    failed = history.make("usd_crosses", "2025-02-17")
    assert not failed.success
    rates.write_bytes(content)
    published = Archive(date(2025, 2, 17))
    audit = history.audit("reference_rates", "usd_crosses", source=published, **span)
    assert found(audit) == [
        (
            "reference_rates",
            "2025-02-18",
            "missing",
            "the source has not published 2025-02-18 yet",
        ),
        ("usd_crosses", "2025-02-17", "failed", "its run failed"),
        ("usd_crosses", "2025-02-18", "missing", "it waits for ecb/reference_rates 2025-02-18"),
    ]
    assert [f.run_id for f in audit.findings] == [None, failed.run_id, None]
    published = Archive(date(2025, 2, 18))
    audit = history.audit("reference_rates", source=published, **span)
    assert found(audit) == [("reference_rates", "2025-02-18", "missing", "it was never requested")]


def test_a_day_that_is_not_over(history: Audited) -> None:
    """On Monday noon Monday is not expected, nor is a day after an archive's end."""
    audit = history.audit("reference_rates", end=None, at="2025-02-17T12:00")
    assert (audit.assets[0].expected, found(audit)) == (WORKDAYS, [])
    ended = Archive(date(2025, 2, 14), last_date=date(2025, 2, 14))
    audit = history.audit("reference_rates", end=None, at="2025-03-17T12:00", source=ended)
    assert (audit.assets[0].expected, found(audit)) == (WORKDAYS, [])


def test_a_run_that_has_not_ended(history: Audited) -> None:
    """Its day is in flight, and nothing is wrong with it, nor with a file it may have written."""
    job = history.defs.get_repository_def().get_implicit_global_asset_job_def()
    rates = dg.AssetKey(["ecb", "reference_rates"])
    history.instance.create_run_for_job(
        job,
        asset_selection={rates},
        tags={"dagster/partition": "2025-02-17"},
        status=dg.DagsterRunStatus.STARTED,
    )
    shutil.copy(
        history.file("reference_rates", "2025-02-14"), history.file("reference_rates", "2025-02-17")
    )
    audit = history.audit("reference_rates", end=date(2025, 2, 17), at="2025-02-20T12:00")
    assert found(audit) == []
    assert (audit.assets[0].expected, audit.assets[0].materialized) == (WORKDAYS + 1, WORKDAYS)


def test_what_was_made_before_its_upstream(history: Audited) -> None:
    """Rates that are made again leave what was made of them outdated."""
    assert history.make("reference_rates", "2025-02-13").success
    assert found(history.audit("usd_crosses", "returns")) == [
        (asset, key, "outdated", "ecb/reference_rates 2025-02-13 was materialized after it")
        for asset, key in (
            ("returns", "2025-02-13"),
            ("returns", "2025-02-14"),
            ("usd_crosses", "2025-02-13"),
        )
    ]
