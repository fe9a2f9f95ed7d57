"""A backfill killed in the middle, and started again, against one that nobody disturbed."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
from support.command import Project
from support.ecb import read_history
from support.processes import wait_until
from support.projects import REPOSITORY, temporary_folder

from workday_assets.automation.requests import BACKFILL_TRIGGER, TRIGGER_TAG
from workday_assets.definitions import defs
from workday_assets.storage.state import find_instance

CHAIN = ("reference_rates", "returns", "volatility_20d")
#: Three years, 770 workdays: two blocks of at most 500.
COMMAND = [
    *("backfill", "--from", "2008-01-01", "--to", "2010-12-31"),
    *(word for name in CHAIN for word in ("--asset", f"ecb/{name}")),
]


@pytest.fixture(scope="module")
def undisturbed() -> Iterator[Project]:
    """A state root in which the command ran to its end."""
    with temporary_folder() as path:
        project = Project(path / "state")
        project.run(*COMMAND)
        yield project


@pytest.fixture
def project() -> Iterator[Project]:
    """A fresh state root."""
    with temporary_folder() as path:
        yield Project(path / "state")


def files(project: Project) -> dict[Path, Path]:
    """The Parquet files of a project by their path below its data folder."""
    folder = project.root / "data"
    return {path.relative_to(folder): path for path in folder.rglob("*.parquet")}


def materializations(project: Project, monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """How often each (asset, partition) was recorded as materialized."""
    monkeypatch.setenv("WORKDAY_ASSETS_HOME", str(project.root))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    found: Counter[tuple[str, str]] = Counter()
    with find_instance(REPOSITORY).open() as instance:
        for name in CHAIN:
            records = instance.fetch_materializations(dg.AssetKey(["ecb", name]), 5_000).records
            found.update((name, str(record.partition_key)) for record in records)
    return found


MOMENTS = [
    ("killed-in-the-first-block", "reference_rates", 100, signal.SIGKILL, -signal.SIGKILL),
    ("killed-in-the-second-block", "returns", 550, signal.SIGKILL, -signal.SIGKILL),
    ("ctrl-c", "returns", 100, signal.SIGINT, 130),
]


@pytest.mark.parametrize(
    ("asset", "count", "sent", "code"), [m[1:] for m in MOMENTS], ids=[m[0] for m in MOMENTS]
)
def test_interrupted_and_resumed_ends_as_undisturbed(
    project: Project,
    undisturbed: Project,
    monkeypatch: pytest.MonkeyPatch,
    asset: str,
    count: int,
    sent: signal.Signals,
    code: int,
) -> None:
    """After `kill -9` or Ctrl-C the same command makes the rest at once, at most a block twice."""
    with project.start(*COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        wait_until(lambda: len(project.files(asset)) > count, f"{count} files of {asset}")
        killed.send_signal(sent)
    assert killed.returncode == code
    before = {name: path.stat().st_mtime_ns for name, path in files(project).items()}
    said = project.run(*COMMAND)
    assert "has not ended" not in said
    after = files(project)
    redone = [name for name, time in before.items() if after[name].stat().st_mtime_ns != time]
    assert len(redone) <= 500
    assert len(before) < len(after)
    expected = files(undisturbed)
    assert after.keys() == expected.keys()
    workdays = sum(date(2008, 1, 1) <= day <= date(2010, 12, 31) for day in read_history())
    assert len(after) == 3 * workdays + 20 + 19  # with the warm-up of the first volatility
    different = [
        name
        for name, path in after.items()
        if not pq.ParquetFile(path).read().equals(pq.ParquetFile(expected[name]).read())
    ]
    assert different == []
    made = materializations(project, monkeypatch)
    assert made == materializations(undisturbed, monkeypatch)
    assert set(made.values()) == {1}
    assert "Nothing to do" in project.run(*COMMAND)


def test_a_command_that_reads_fails_no_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To end a run without a process is for `backfill` and the sensors."""
    monkeypatch.setenv("WORKDAY_ASSETS_HOME", str(project.root))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with find_instance(REPOSITORY).open() as instance:
        job = defs.get_repository_def().get_implicit_global_asset_job_def()
        run = instance.create_run_for_job(
            job, tags={TRIGGER_TAG: BACKFILL_TRIGGER}, status=dg.DagsterRunStatus.STARTED
        )
    week = ["--from", "2026-10-29", "--to", "2026-10-29"]
    ends = []
    for words, code in (
        (["why", "2026-10-29"], 0),
        (["plan", *week], 0),
        (["audit", *week], 1),
        (["diff", "XECB", "--impact"], 0),
        (["backfill", *week, "--dry-run"], 0),
        (["backfill", *week, "--asset", "ecb/reference_rates"], 0),
    ):
        project.run(*words, code=code)
        with find_instance(REPOSITORY).open() as instance:
            found = instance.get_run_by_id(run.run_id)
            assert found is not None
            ends.append(found.status.value)
    assert ends == [*["STARTED"] * 5, "FAILURE"]
