"""`workday-assets audit` and `diff --impact` as a person runs them, on the real Postgres."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.projects import REPOSITORY, temporary_folder

from workday_assets import WorkdayCalendar
from workday_assets.calendars import tables
from workday_assets.cli import main

DAYS = ["2026-10-28", "2026-10-29", "2026-10-30"]
RANGE = ("--from", DAYS[0], "--to", DAYS[-1])
ASSETS = ("--asset", "ecb/reference_rates", "--asset", "ecb/usd_crosses")
COLUMNS = [
    *("asset", "partition", "state", "why", "run_id", "materialized_at"),
    *("calendar", "fingerprint", "rows", "sha256", "findings"),
]


class Project:
    """The repository with a state root of its own."""

    def __init__(self, root: Path) -> None:
        self.data = root / "data" / "ecb"
        self.environment = {
            **os.environ,
            "WORKDAY_ASSETS_HOME": str(root),
            "WORKDAY_ASSETS_POSTGRES_URL": "",
            "DAGSTER_HOME": "",
            "COLUMNS": "200",
        }

    def run(self, *words: str, code: int = 0) -> str:
        """What the command prints as its answer; its exit code must be `code`."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name("workday-assets")), *words],
            cwd=REPOSITORY,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Three days of rates, crosses and value dates; the tests below damage them, in order."""
    with temporary_folder() as path:
        found = Project(path / "state")
        found.run("backfill", *RANGE, *ASSETS, "--asset", "ecb/spot_value_dates")
        yield found


def test_nothing_is_wrong(project: Project) -> None:
    """Six partitions are expected and there: exit code 0, which instance, and how it was judged."""
    said = project.run("audit", *RANGE, *ASSETS, "--deep")
    assert said.splitlines()[0].startswith("Instance: ")
    assert "by calendar XECB " in said
    assert "every file read" in said
    assert said.splitlines()[-1] == "Nothing is wrong with 6 expected partitions."


def test_csv_for_an_auditor(project: Project) -> None:
    """A line per partition: run, time, calendar, rows and the file's own SHA-256."""
    printed = project.run("audit", *RANGE, *ASSETS, "--csv")
    lines = list(csv.DictReader(io.StringIO(printed)))
    assert list(lines[0]) == COLUMNS
    names = ["ecb/reference_rates", "ecb/usd_crosses"]
    assert [(line["asset"], line["partition"]) for line in lines] == [
        (name, day) for name in names for day in DAYS
    ]
    assert {line["state"] for line in lines} == {"done"}
    assert {line["findings"] for line in lines} == {""}
    assert {line["fingerprint"] for line in lines} == {WorkdayCalendar.named("XECB").fingerprint}
    assert len({line["run_id"] for line in lines}) == 1
    for line in lines:
        file = project.data / line["asset"].removeprefix("ecb/") / f"{line['partition']}.parquet"
        assert line["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        assert int(line["rows"]) == pq.read_metadata(file).num_rows
        assert datetime.fromisoformat(line["materialized_at"]).utcoffset() is not None


def test_json(project: Project) -> None:
    """The whole audit as data, and nothing else on standard output."""
    data = json.loads(project.run("audit", *RANGE, *ASSETS, "--json"))
    assert list(data) == [
        *("instance", "as_of", "from", "to", "deep", "source", "calendar", "assets", "findings"),
    ]
    assert (data["from"], data["to"], data["deep"]) == (DAYS[0], DAYS[-1], False)
    rates = data["assets"]["ecb/reference_rates"]
    counts = {name: rates[name] for name in ("expected", "materialized", "files_checked")}
    assert counts == {"expected": 3, "materialized": 3, "files_checked": True}
    assert [partition["partition"] for partition in rates["partitions"]] == DAYS
    assert data["findings"] == []


def test_what_was_never_requested(project: Project) -> None:
    """Nobody made returns: the first day has no day before it, the others could be made."""
    said = project.run("audit", *RANGE, "--asset", "ecb/returns", code=1)
    assert said.splitlines()[-3:] == [
        "ecb/returns 2026-10-28: missing: it waits for ecb/reference_rates 2026-10-27",
        "ecb/returns 2 partitions 2026-10-29 to 2026-10-30: missing: it was never requested",
        "3 findings in 3 expected partitions.",
    ]


def test_damage_is_found_and_named(project: Project, tmp_path: Path) -> None:
    """A deleted file and a truncated one, in text, as data and on a page."""
    (project.data / "reference_rates" / "2026-10-28.parquet").unlink()
    truncated = project.data / "usd_crosses" / "2026-10-29.parquet"
    truncated.write_bytes(truncated.read_bytes()[:300])
    page = tmp_path / "audit.html"
    said = project.run("audit", *RANGE, *ASSETS, "--deep", "--html", str(page), code=1)
    assert "ecb/reference_rates 2026-10-28: no file: it is recorded, and " in said
    assert "ecb/usd_crosses 2026-10-29: damaged: 2026-10-29.parquet cannot be read as" in said
    assert "2 findings in 6 expected partitions." in said
    assert page.read_text("utf-8").startswith("<!doctype html>")
    data = json.loads(project.run("audit", *RANGE, *ASSETS, "--deep", "--json", code=1))
    assert [(f["asset"], f["partition"], f["kind"]) for f in data["findings"]] == [
        ("ecb/reference_rates", "2026-10-28", "no file"),
        ("ecb/usd_crosses", "2026-10-29", "damaged"),
    ]


def test_impact_of_a_change(project: Project, tmp_path: Path) -> None:
    """Were 2026-10-29 closed, its records would be orphans, and the 28th would settle later."""
    file = tmp_path / "XECB.csv"
    closed = WorkdayCalendar.named("XECB").with_closures({"2026-10-29": "strike"})
    file.write_text(tables.dumps(closed), "utf-8")
    said = project.run("diff", "XECB", "--with", str(file), "--impact", code=1)
    assert "2026-10-29 Thu  workday -> strike" in said
    assert "ecb/usd_crosses: made, and would be orphans (1): 2026-10-29" in said
    data = json.loads(
        project.run("diff", "XECB", "--with", str(file), "--impact", "--json", code=1)
    )
    impact = data["impact"].items()
    assert {name: asset["orphaned"] for name, asset in impact if asset["orphaned"]} == {
        "ecb/reference_rates": ["2026-10-29"],
        "ecb/usd_crosses": ["2026-10-29"],
        "ecb/spot_value_dates": ["2026-10-29"],
    }
    # Two workdays after Wednesday the 28th were Friday the 30th, and would be Monday.
    affected = {
        name: [partition["partition"] for partition in asset["affected"]]
        for name, asset in impact
        if asset["affected"]
    }
    assert affected == {"ecb/spot_value_dates": ["2026-10-28"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--from", "2026-10-30", "--to", "2026-10-28"), "is before --from"),
        (("--json", "--csv"), "give one of them"),
    ],
    ids=["reversed", "two-formats"],
)
def test_refusals(words: tuple[str, ...], sentence: str) -> None:
    """What cannot be meant is one sentence, before any instance is opened."""
    result = CliRunner().invoke(main, ["audit", *words])
    assert (result.exit_code, sentence in result.output) == (2, True)


def test_an_unknown_asset(project: Project) -> None:
    """The message names those that can be audited."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("workday-assets")), "audit", "--asset", "ecb/nothing"],
        cwd=REPOSITORY,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--asset=ecb/nothing is not partitioned by dates in this project" in done.stderr
    assert "ecb/monthly_summary" in done.stderr
