"""Which partitions `workday-assets backfill` makes, exactly: by force, downstream, by default."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import dagster as dg
import pytest
from support.command import Project
from support.ecb import read_history
from support.projects import temporary_folder
from support.ticks import now

from workday_assets.cli.backfill_plan import Request, plan_backfill
from workday_assets.cli.project import Project as Opened
from workday_assets.definitions import SOURCE, defs
from workday_assets.ecb.assets import RATES as RATES_KEY
from workday_assets.ecb.assets import RETURNS as RETURNS_KEY
from workday_assets.ecb.assets import TIMETABLE

HISTORY = read_history()
RATES, RETURNS = "reference_rates", "returns"
#: Workdays from Wednesday 2024-03-13 on; Good Friday and Easter Monday are closed. The day changes
#: its own return and the next one; the 20 days from either on have it in their volatility: 21 days.
VOLATILITIES = [
    *("2024-03-13", "2024-03-14", "2024-03-15"),
    *("2024-03-18", "2024-03-19", "2024-03-20", "2024-03-21", "2024-03-22"),
    *("2024-03-25", "2024-03-26", "2024-03-27", "2024-03-28"),
    *("2024-04-02", "2024-04-03", "2024-04-04", "2024-04-05"),
    *("2024-04-08", "2024-04-09", "2024-04-10", "2024-04-11", "2024-04-12"),
]
DAY = VOLATILITIES[0]
ASSETS = (
    *("reference_rates", "spot_value_dates", "returns", "usd_crosses", "volatility_20d"),
    *("weekly_summary", "monthly_summary"),
)


@pytest.fixture(scope="module")
def filled() -> Iterator[Project]:
    """A state root with everything from 2024-03-01 to 2024-04-15, and its warm-up."""
    with temporary_folder() as path:
        project = Project(path / "state")
        project.run("backfill", "--from", "2024-03-01", "--to", "2024-04-15")
        assert project.files("weekly_summary") == [
            *("2024-03-04", "2024-03-11", "2024-03-18", "2024-03-25", "2024-04-01", "2024-04-08"),
        ]
        assert project.files("monthly_summary") == ["2024-03-01"]
        yield project


@pytest.fixture
def project() -> Iterator[Project]:
    """A fresh state root."""
    with temporary_folder() as path:
        yield Project(path / "state")


def written(project: Project) -> dict[str, dict[str, int]]:
    """By asset and partition, when its file was written."""
    folder = project.root / "data" / "ecb"
    return {
        asset: {path.stem: path.stat().st_mtime_ns for path in (folder / asset).glob("*.parquet")}
        for asset in ASSETS
    }


def rewritten(project: Project, before: dict[str, dict[str, int]]) -> dict[str, list[str]]:
    """By asset, the partitions written since, those of assets with any."""
    after = written(project)
    changed = {a: [k for k, at in after[a].items() if before[a].get(k) != at] for a in ASSETS}
    return {asset: sorted(keys) for asset, keys in changed.items() if keys}


def test_a_day_made_again_with_exactly_its_dependants(filled: Project) -> None:
    """One day of rates: its crosses, two returns, 21 volatilities, its week and its month.

    Spot value dates come from calendars alone. The dry run names the same, and runs nothing.
    """
    words = ("backfill", "--asset", "ecb/reference_rates", "--from", DAY, "--to", DAY)
    words = (*words, "--force", "--downstream")
    before = written(filled)
    planned = filled.data(*words, "--dry-run")
    assert rewritten(filled, before) == {}
    assert planned["dry_run"] is True
    assert {row["asset"]: row["partitions"] for row in planned["assets"]} == {
        "ecb/reference_rates": {"asked for": [DAY]},
        "ecb/returns": {"downstream": [DAY, "2024-03-14"]},
        "ecb/usd_crosses": {"downstream": [DAY]},
        "ecb/volatility_20d": {"downstream": VOLATILITIES},
        "ecb/weekly_summary": {"downstream": ["2024-03-11"]},
        "ecb/monthly_summary": {"downstream": ["2024-03-01"]},
    }
    said = filled.run(*words, "--dry-run")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines()]
    assert ["ecb/reference_rates", "asked for", "1", DAY] in cells
    assert ["ecb/returns", "downstream", "2", f"{DAY} to 2024-03-14"] in cells
    assert ["ecb/volatility_20d", "downstream", "21", f"{DAY} to 2024-04-12"] in cells
    made = filled.data(*words)
    assert rewritten(filled, before) == {
        "reference_rates": [DAY],
        "returns": [DAY, "2024-03-14"],
        "usd_crosses": [DAY],
        "volatility_20d": VOLATILITIES,
        "weekly_summary": ["2024-03-11"],
        "monthly_summary": ["2024-03-01"],
    }
    assert [(row["requested"], row["materialized"]) for row in made["assets"]] == [
        *((1, 1), (2, 2), (1, 1), (21, 21), (1, 1), (1, 1)),
    ]
    assert (made["dry_run"], made["errors"], made["retry"]) == (False, [], None)


def test_force_makes_the_range_again_and_nothing_else(filled: Project) -> None:
    """By force the day's five assets; what that outdates is made by default, in its range."""
    before = written(filled)
    assert "Nothing to do" in filled.run("backfill", "--from", DAY, "--to", DAY)
    filled.run("backfill", "--from", DAY, "--to", DAY, "--force")
    assert rewritten(filled, before) == {asset: [DAY] for asset in ASSETS[:5]}
    before = written(filled)
    filled.run("backfill", "--from", "2024-03-01", "--to", "2024-04-15")
    assert rewritten(filled, before) == {
        "returns": ["2024-03-14"],
        "volatility_20d": VOLATILITIES[1:],
        "weekly_summary": ["2024-03-11"],
        "monthly_summary": ["2024-03-01"],
    }


def test_force_of_a_period_makes_no_day_again(filled: Project) -> None:
    """A week's asset over two weeks and a day more: the two weeks, and no workday asset."""
    before = written(filled)
    filled.run(
        *("backfill", "--asset", "ecb/weekly_summary", "--force"),
        *("--from", "2024-03-11", "--to", "2024-03-25"),
    )
    assert rewritten(filled, before) == {"weekly_summary": ["2024-03-11", "2024-03-18"]}


def test_dependants_that_cannot_be_made_are_not_made(project: Project) -> None:
    """A new day's crosses and return; not the next return, nor its week, which lack other days."""
    words = ("backfill", "--asset", "ecb/reference_rates")
    project.run(*words, "--from", "2024-05-10", "--to", "2024-05-10")
    said = project.run(*words, "--from", "2024-05-13", "--to", "2024-05-13", "--downstream")
    assert {asset: project.files(asset) for asset in ASSETS} == {
        "reference_rates": ["2024-05-10", "2024-05-13"],
        "spot_value_dates": [],
        "returns": ["2024-05-13"],
        "usd_crosses": ["2024-05-13"],
        "volatility_20d": [],
        "weekly_summary": [],
        "monthly_summary": [],
    }
    assert "Left out" not in said


def test_the_default_is_the_whole_history(project: Project) -> None:
    """Without a range: every day of the ECB's file, its weeks and months, and not the open ones."""
    data = project.data("backfill", "--dry-run")
    requested = {row["asset"]: row["requested"] for row in data["assets"]}
    weeks = {day.isocalendar()[:2] for day in HISTORY}
    months = {(day.year, day.month) for day in HISTORY}
    if max(HISTORY) == date(2026, 10, 30):  # the last workday of its week and of its month
        assert requested == {
            **dict.fromkeys([f"ecb/{asset}" for asset in ASSETS[:5]], len(HISTORY)),
            "ecb/weekly_summary": len(weeks),
            "ecb/monthly_summary": len(months),
        }
    assert project.files(RATES) == []
    thursday = project.data("backfill", "--dry-run", "--from", "2026-10-19", "--to", "2026-10-29")
    weekly = {row["asset"]: row["partitions"] for row in thursday["assets"]}
    assert weekly["ecb/weekly_summary"] == {"asked for": ["2026-10-19"]}
    assert "ecb/monthly_summary" not in weekly


def test_what_others_make_is_waited_for_and_named(project: Project) -> None:
    """Returns alone on a fresh instance: nothing is made, the reason is said, exit code 1."""
    said = project.run(
        *("backfill", "--asset", "ecb/returns"), *("--from", DAY, "--to", "2024-03-15"), code=1
    )
    assert (
        "Left out: ecb/returns 2024-03-13 to 2024-03-15:"
        " 2024-03-13: it waits for ecb/reference_rates 2024-03-12"
    ) in said
    assert "Nothing to make: 3 partitions of the range are left out" in said
    assert project.files(RETURNS) == []


class Live:
    """A live source that has published up to Wednesday 2024-03-13."""

    last_date = None

    def published(self, day: date) -> bool:
        """Whether it has a day."""
        return day <= date(2024, 3, 13)

    def describe(self) -> str:
        """A name."""
        return "live"


@pytest.mark.parametrize(
    ("last", "left_out"),
    [(None, []), (date(2024, 3, 14), [date(2024, 3, 14)])],
    ids=["default", "asked-for"],
)
def test_what_a_live_source_has_not_published(last: date | None, left_out: list[date]) -> None:
    """By default nothing after the newest published day is looked at; asked for, it is left out."""
    with dg.DagsterInstance.ephemeral() as instance:
        repository = defs.get_repository_def()
        as_of = now("2024-03-15T09:00")  # Thursday the 14th is complete
        project = Opened(instance, "here", repository, TIMETABLE, Live(), as_of)
        plan = plan_backfill(project, Request(date(2024, 3, 11), last, ["ecb/reference_rates"]))
    assert plan.due() == {RATES_KEY: [date(2024, 3, 11), date(2024, 3, 12), date(2024, 3, 13)]}
    assert [decision.day for _, decision in plan.left_out] == left_out
    assert plan.published_to == (None if last else date(2024, 3, 13))


def test_a_materialized_dependant_that_cannot_be_made_is_named() -> None:
    """A return whose other rate is gone is of old data after this, and said to be; others are not.

    The next day's return was never made: nobody waits for it.
    """
    day = date(2024, 5, 13)
    with dg.DagsterInstance.ephemeral() as instance:
        for key in (RATES_KEY, RETURNS_KEY):
            event = dg.AssetMaterialization(key, partition=str(day))
            instance.report_runless_asset_event(event)
        repository = defs.get_repository_def()
        project = Opened(instance, "here", repository, TIMETABLE, SOURCE, now("2024-06-01T09:00"))
        request = Request(day, day, ["ecb/reference_rates"], force=True, downstream=True)
        plan = plan_backfill(project, request)
    assert plan.due() == {RATES_KEY: [day], dg.AssetKey(["ecb", "usd_crosses"]): [day]}
    assert [(key, decision.day, decision.reason) for key, decision in plan.left_out] == [
        (RETURNS_KEY, day, "it waits for ecb/reference_rates 2024-05-10")
    ]
