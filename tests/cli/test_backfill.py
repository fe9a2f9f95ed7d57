"""`workday-assets backfill` and `why` as a person runs them, on the real data and Postgres."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import date

import pandas as pd
import pytest
from support.command import Project
from support.ecb import read_history
from support.projects import temporary_folder

HISTORY = read_history()
WEEK = ["2026-10-26", "2026-10-27", "2026-10-28", "2026-10-29", "2026-10-30"]
#: The 20 workdays before it, counted on a calendar: Monday to Friday, no holiday among them.
BEFORE = [
    *("2026-09-28", "2026-09-29", "2026-09-30", "2026-10-01", "2026-10-02"),
    *("2026-10-05", "2026-10-06", "2026-10-07", "2026-10-08", "2026-10-09"),
    *("2026-10-12", "2026-10-13", "2026-10-14", "2026-10-15", "2026-10-16"),
    *("2026-10-19", "2026-10-20", "2026-10-21", "2026-10-22", "2026-10-23"),
]
WORKDAY_ASSETS = [
    *("ecb/reference_rates", "ecb/spot_value_dates", "ecb/returns"),
    *("ecb/usd_crosses", "ecb/volatility_20d"),
]


@pytest.fixture
def project() -> Iterator[Project]:
    """A fresh state root; at the end no server is left in it."""
    with temporary_folder() as path:
        yield Project(path / "state")


def test_a_week_with_its_warm_up(project: Project) -> None:
    """Monday's volatility needs 19 earlier returns, and those 20 earlier rates; then no more."""
    said = project.run("backfill", "--from", WEEK[0], "--to", "2026-11-01")
    assert project.files("reference_rates") == [*BEFORE, *WEEK]
    assert project.files("returns") == [*BEFORE[1:], *WEEK]
    assert project.files("usd_crosses") == WEEK
    assert project.files("volatility_20d") == WEEK
    assert project.files("spot_value_dates") == WEEK
    assert project.files("weekly_summary") == [WEEK[0]]
    assert project.files("monthly_summary") == []  # the range does not hold October
    assert [line for line in said.splitlines() if line.startswith("Warm-up")] == [
        "Warm-up: ecb/reference_rates 2026-09-28 to 2026-10-23, for ecb/returns",
        "Warm-up: ecb/returns 2026-09-29 to 2026-10-23, for ecb/volatility_20d",
    ]
    assert f"state root: {project.root}" in said
    assert "In this process, since no daemon is up" in said
    monday = pd.read_parquet(project.root / "data/ecb/returns/2026-10-26.parquet")
    found = dict(zip(monday["currency"], monday["log_return"], strict=True))
    day, before = HISTORY[date(2026, 10, 26)], HISTORY[date(2026, 10, 23)]
    expected = {c: math.log(day[c] / before[c]) for c in day if c in before}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    again = project.run("backfill", "--from", WEEK[0], "--to", WEEK[-1])
    assert "Nothing to do" in again
    answer = json.loads(project.run("why", "2026-10-27", "--json"))
    verdicts = {row["asset"]: row["verdict"] for row in answer["assets"]}
    assert verdicts == dict.fromkeys(WORKDAY_ASSETS, "done")


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


def test_a_failure_stops_nothing_else_and_its_command_repairs_it(project: Project) -> None:
    """Crosses cannot be written: the rest is made, and the named command makes the crosses."""
    blocked = project.root / "data" / "ecb" / "usd_crosses"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way")
    words = ("backfill", "--from", WEEK[0], "--to", WEEK[1])
    said = project.run(*words, code=1)
    assert "ecb__usd_crosses failed" in said
    assert project.files("returns") == [*BEFORE[1:], *WEEK[:2]]
    command = said.splitlines()[-1].strip()
    assert command == (
        "workday-assets backfill --from 2026-10-26 --to 2026-10-27 --asset ecb/usd_crosses"
    )
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines()]
    assert ["ecb/usd_crosses", "2", "0", *WEEK[:2]] in rows
    assert "Failed: ecb/usd_crosses 2026-10-26 to 2026-10-27" in said.splitlines()
    assert "Not tried" not in said
    blocked.unlink()
    project.run(*command.split()[1:])
    assert project.files("usd_crosses") == WEEK[:2]
    assert "Nothing to do" in project.run(*words)


def test_what_needs_a_failed_day_is_not_tried(project: Project) -> None:
    """Rates of one day fail to be written: its returns, and all after them, are named, not tried.

    The day is in a run of its own, since the days around it are made before.
    """
    words = ("backfill", "--asset", "ecb/reference_rates", "--from", "2024-03-11")
    project.run(*words, "--to", "2024-03-12")
    project.run(
        "backfill", "--asset", "ecb/reference_rates", "--from", "2024-03-14", "--to", "2024-03-15"
    )
    blocked = project.root / "data" / "ecb" / "reference_rates" / "2024-03-13.parquet"
    blocked.mkdir()
    (blocked / "in the way").touch()
    data = project.data(
        *("backfill", "--asset", "ecb/reference_rates", "--asset", "ecb/returns"),
        *("--from", "2024-03-12", "--to", "2024-03-15"),
        code=1,
    )
    rates, returns = data["assets"]
    assert (rates["requested"], rates["materialized"]) == (1, 0)
    assert rates["failed"] == [["2024-03-13", "2024-03-13"]]
    assert (returns["requested"], returns["materialized"]) == (4, 2)
    assert returns["failed"] == []
    assert returns["not_tried"] == [["2024-03-13", "2024-03-14"]]
    assert project.files("returns") == ["2024-03-12", "2024-03-15"]
    assert data["retry"] == (
        "workday-assets backfill --from 2024-03-13 --to 2024-03-14"
        " --asset ecb/reference_rates --asset ecb/returns"
    )
    (blocked / "in the way").unlink()
    blocked.rmdir()
    project.run(*data["retry"].split()[1:])
    assert project.files("returns") == ["2024-03-12", "2024-03-13", "2024-03-14", "2024-03-15"]


REFUSED = [
    ("reversed", ("--from", "2026-10-30", "--to", "2026-10-26"), "is before --from"),
    ("no-date", ("--from", "2024-02-30", "--to", "2024-03-01"), "2024-02-30"),
    (
        "asset",
        ("--from", "2026-10-26", "--to", "2026-10-26", "--asset", "ecb/rates"),
        "choose from ecb/reference_rates",
    ),
    ("no-name", ("--asset", ""), "choose from ecb/reference_rates"),
    (
        "no-whole-period",
        ("--from", "2026-10-27", "--to", "2026-10-30", "--asset", "ecb/weekly_summary"),
        "--from=2026-10-27 --to=2026-10-30 leaves no whole period of ecb/weekly_summary",
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
    rates, spot, returns, crosses, volatility = WORKDAY_ASSETS
    if max(HISTORY) == date(2026, 10, 30):
        wait = {rates: "due", spot: "due", crosses: "due"}
        wait |= {returns: "not_ready", volatility: "not_ready"}
        assert verdicts == {
            "2026-10-23": {
                **{rates: "due", returns: "not_ready"},  # both for Monday's volatility
                **dict.fromkeys((spot, crosses, volatility), "skipped"),
            },
            "2026-10-24": dict.fromkeys(WORKDAY_ASSETS, "closed"),
            "2026-10-25": dict.fromkeys(WORKDAY_ASSETS, "closed"),
            "2026-10-26": wait,
            "2026-10-27": wait,
        }
    assert data["2026-10-25"][rates]["reason"] == "2026-10-25 is weekend in XECB"
    assert project.files("reference_rates") == []
    why = json.loads(project.run("why", "2026-10-27", "--json"))
    assert [row["run"] for row in why["assets"]] == [None] * 5


def test_plan_as_a_table_groups_like_days(project: Project) -> None:
    """Days with the same verdicts for the same reasons share a row, which says why once."""
    said = project.run("plan", "--from", "2024-03-28", "--to", "2024-04-03")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines()]
    rows = [row for row in cells if row and row[0]]
    assert [row[0] for row in rows] == [
        *("2024-03-28 Thu", "2024-03-29 Fri", "2024-03-30 Sat", "to   03-31 Sun"),
        *("2024-04-01 Mon", "2024-04-02 Tue", "to   04-03 Wed"),
    ]
    assert rows[1] == ["2024-03-29 Fri", *["closed"] * 5, "Good Friday in XECB"]


def test_plan_in_eighty_columns(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The days stay whole on a narrow terminal; the names of the assets are folded, not cut."""
    monkeypatch.setitem(project.environment, "COLUMNS", "80")
    said = project.run("plan", "--from", "2024-03-28", "--to", "2024-03-29")
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in said.splitlines()]
    rows = [row for row in cells if row]
    assert [row[0] for row in rows if row[0]] == ["days", "2024-03-28 Thu", "2024-03-29 Fri"]
    heads = rows[: [row[0] for row in rows].index("days") + 1]
    assert ["".join(column) for column in zip(*heads, strict=True)][1:6] == [
        *("reference_rates", "spot_value_dates", "returns", "usd_crosses", "volatility_20d")
    ]
