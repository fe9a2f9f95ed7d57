"""`workday-assets backfill` and `why` as a person runs them, on the real data and Postgres."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from support.ecb import read_history
from support.processes import wait_until
from support.projects import REPOSITORY, temporary_folder

HISTORY = read_history()
WEEK = ["2026-10-26", "2026-10-27", "2026-10-28", "2026-10-29", "2026-10-30"]


class Project:
    """The repository with a state root of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            **os.environ,
            "WORKDAY_ASSETS_HOME": str(root),
            "WORKDAY_ASSETS_POSTGRES_URL": "",
            "DAGSTER_HOME": "",
            "COLUMNS": "200",
        }

    def run(self, *words: str, code: int = 0) -> str:
        """What the command prints, error output included; its exit code must be `code`."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name("workday-assets")), *words],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def files(self, asset: str) -> list[str]:
        """The partitions stored of an asset."""
        return sorted(path.stem for path in (self.root / "data" / "ecb" / asset).glob("*.parquet"))


@pytest.fixture
def project() -> Iterator[Project]:
    """A fresh state root; at the end no server is left in it."""
    with temporary_folder() as path:
        yield Project(path / "state")


def test_a_week_with_its_warm_up(project: Project) -> None:
    """Six files of rates, the first of them warm-up and named; five of the others; then no more."""
    said = project.run("backfill", "--from", WEEK[0], "--to", "2026-11-01")
    assert project.files("reference_rates") == ["2026-10-23", *WEEK]
    assert project.files("usd_crosses") == WEEK
    assert project.files("returns") == WEEK
    assert "Warm-up: ecb/reference_rates 2026-10-23" in said
    assert f"state root: {project.root}" in said
    monday = pd.read_parquet(project.root / "data/ecb/returns/2026-10-26.parquet")
    found = dict(zip(monday["currency"], monday["log_return"], strict=True))
    day, before = HISTORY[date(2026, 10, 26)], HISTORY[date(2026, 10, 23)]
    expected = {c: math.log(day[c] / before[c]) for c in day if c in before}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    again = project.run("backfill", "--from", WEEK[0], "--to", WEEK[-1])
    assert "Nothing to do" in again
    answer = json.loads(project.run("why", "2026-10-27", "--json"))
    assert {row["asset"]: row["verdict"] for row in answer["assets"]} == {
        "ecb/reference_rates": "done",
        "ecb/usd_crosses": "done",
        "ecb/returns": "done",
    }


def test_closed_days_and_an_asset_of_choice(project: Project) -> None:
    """Over Easter only workdays are made, and the closed days between are named with reasons."""
    said = project.run(
        *("backfill", "--from", "2024-03-28", "--to", "2024-04-02"),
        *("--asset", "ecb/reference_rates"),
    )
    assert project.files("reference_rates") == ["2024-03-28", "2024-04-02"]
    assert project.files("returns") == []
    assert [line for line in said.splitlines() if line.startswith("Closed")] == [
        "Closed: 2024-03-29 is Good Friday in XECB",
        "Closed: 2024-03-30 is weekend in XECB",
        "Closed: 2024-03-31 is weekend in XECB",
        "Closed: 2024-04-01 is Easter Monday in XECB",
    ]


def test_a_failure_is_told_and_the_exit_code_is_1(project: Project) -> None:
    """A target that cannot be written fails the run: one sentence, a summary, exit code 1."""
    (project.root / "data" / "ecb").mkdir(parents=True)
    (project.root / "data" / "ecb" / "usd_crosses").write_text("in the way")
    said = project.run("backfill", "--from", WEEK[0], "--to", WEEK[0], code=1)
    assert "ecb__usd_crosses failed" in said
    assert project.files("reference_rates") == ["2026-10-23", "2026-10-26"]
    (project.root / "data" / "ecb" / "usd_crosses").unlink()
    project.run("backfill", "--from", WEEK[0], "--to", WEEK[0])
    assert project.files("usd_crosses") == [WEEK[0]]


def test_a_killed_backfill_is_resumed_at_once(project: Project) -> None:
    """After `kill -9` in mid-run the same command makes what is missing, without waiting."""
    command = str(Path(sys.executable).with_name("workday-assets"))
    words = [command, "backfill", "--from", "1999-01-04", "--to", "2010-12-31"]
    with subprocess.Popen(
        words, cwd=REPOSITORY, env=project.environment, stdout=subprocess.DEVNULL
    ) as killed:
        wait_until(lambda: len(project.files("reference_rates")) > 100, "files are written")
        killed.kill()
    said = project.run("backfill", "--from", "2005-12-01", "--to", "2005-12-06")
    assert "has not ended" not in said
    assert [day for day in project.files("returns") if day.startswith("2005-12")] == [
        *("2005-12-01", "2005-12-02", "2005-12-05", "2005-12-06"),
    ]


REFUSED = [
    ("reversed", ("--from", "2026-10-30", "--to", "2026-10-26"), "is before --from"),
    ("no-date", ("--from", "2024-02-30", "--to", "2024-03-01"), "2024-02-30"),
    (
        "asset",
        ("--from", "2026-10-26", "--to", "2026-10-26", "--asset", "ecb/rates"),
        "choose from ecb/reference_rates",
    ),
]


@pytest.mark.parametrize(
    ("words", "sentence"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_bad_arguments_are_refused_with_exit_code_2(
    project: Project, words: tuple[str, ...], sentence: str
) -> None:
    """A bad argument is a sentence with the cure and exit code 2, and nothing is materialized."""
    said = project.run("backfill", *words, code=2)
    assert sentence in said
    assert "Traceback" not in said
    assert project.files("reference_rates") == []


def test_days_outside_the_history_are_left_out_and_named(project: Project) -> None:
    """Before the first partition and after the archive's end there is nothing to make."""
    early = project.run("backfill", "--from", "1998-01-01", "--to", "1998-02-01")
    assert "Left out: days before 1999-01-04, the first partition" in early
    late = project.run("backfill", "--from", "2035-01-02", "--to", "2035-01-03")
    assert f"Left out: days after {max(HISTORY)}: bundled history ends {max(HISTORY)}" in late
    assert "Nothing to do" in early
    assert "Nothing to do" in late


def test_why_a_closed_day(project: Project) -> None:
    """A holiday is named, with the workdays around it."""
    said = project.run("why", "2026-04-03")
    assert said.splitlines()[:2] == [
        "2026-04-03, a Friday, is closed in XECB: Good Friday.",
        "Nearest workdays: 2026-04-02 and 2026-04-07.",
    ]


def test_plan_shows_every_day_and_launches_nothing(project: Project) -> None:
    """The verdicts on a fresh instance, closed days with their reason; no run is created."""
    easter = json.loads(project.run("plan", "--from", "2024-03-28", "--to", "2024-04-02", "--json"))
    closed = [f"2024-03-{n}" for n in (29, 30, 31)] + ["2024-04-01"]
    expected = dict.fromkeys(closed, "closed") | {"2024-03-28": "skipped", "2024-04-02": "skipped"}
    assert {day: row["ecb/returns"]["verdict"] for day, row in easter.items()} == expected
    data = json.loads(project.run("plan", "--from", "2026-10-23", "--to", "2026-10-27", "--json"))
    verdicts = {day: {asset: d["verdict"] for asset, d in row.items()} for day, row in data.items()}
    rates, crosses, returns = "ecb/reference_rates", "ecb/usd_crosses", "ecb/returns"
    if max(HISTORY) == date(2026, 10, 30):
        assert verdicts == {
            "2026-10-23": {rates: "due", crosses: "skipped", returns: "skipped"},
            "2026-10-24": dict.fromkeys((rates, crosses, returns), "closed"),
            "2026-10-25": dict.fromkeys((rates, crosses, returns), "closed"),
            "2026-10-26": {rates: "due", crosses: "due", returns: "not_ready"},
            "2026-10-27": {rates: "due", crosses: "due", returns: "not_ready"},
        }
    assert data["2026-10-25"][rates]["reason"] == "2026-10-25 is weekend in XECB"
    assert project.files("reference_rates") == []
    why = json.loads(project.run("why", "2026-10-27", "--json"))
    assert [row["run"] for row in why["assets"]] == [None, None, None]


def test_plan_as_a_table_groups_like_days(project: Project) -> None:
    """Days with the same verdicts for the same reasons share a row, which says why once."""
    said = project.run("plan", "--from", "2024-03-28", "--to", "2024-04-03")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines()]
    rows = [row for row in cells if row and row[0]]
    assert [row[0] for row in rows] == [
        *("2024-03-28 Thu", "2024-03-29 Fri", "2024-03-30 Sat", "to   03-31 Sun"),
        *("2024-04-01 Mon", "2024-04-02 Tue", "to   04-03 Wed"),
    ]
    assert rows[1] == ["2024-03-29 Fri", "closed", "closed", "closed", "Good Friday in XECB"]
