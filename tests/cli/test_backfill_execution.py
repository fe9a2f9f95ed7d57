"""Blocks of a backfill run in this process, on graphs of the test's own."""

import warnings
from datetime import date

import dagster as dg
import pytest
from rich.console import Console
from support.ticks import now

from workday_assets import WorkdayPartitionsDefinition, rollup
from workday_assets.cli.backfill_outcome import retry_command
from workday_assets.cli.backfill_plan import Request, plan_backfill
from workday_assets.cli.blocks import blocks
from workday_assets.cli.execution import execute, sentence
from workday_assets.cli.project import Project
from workday_assets.definitions import SOURCE
from workday_assets.ecb.assets import CALENDAR, TIMETABLE, TIMEZONE

warnings.filterwarnings("ignore", category=dg.BetaWarning)

DOTTED = WorkdayPartitionsDefinition(CALENDAR, TIMEZONE, start="2022-01-03", fmt="%d.%m.%Y")
WEEKS = dg.WeeklyPartitionsDefinition("2022-01-03", timezone=TIMEZONE, day_offset=1, end_offset=1)
SINGLE = dg.BackfillPolicy.single_run()
BAD = "03.04.2024"


@dg.asset(partitions_def=DOTTED, backfill_policy=SINGLE)
def prices() -> None:
    """Made in blocks."""


@dg.asset(partitions_def=DOTTED, deps=[prices])
def one_by_one(context: dg.AssetExecutionContext) -> None:
    """A run for each day, of which one fails."""
    if context.partition_key == BAD:
        raise RuntimeError("no such price")


@dg.asset(
    partitions_def=WEEKS,
    backfill_policy=SINGLE,
    deps=[dg.AssetDep(one_by_one, partition_mapping=rollup())],
)
def weeks() -> None:
    """Of whole weeks."""


def opened(instance: dg.DagsterInstance, *assets: dg.AssetsDefinition) -> Project:
    """A project of these assets, as of June 2024."""
    defs = dg.Definitions(assets=assets, executor=dg.in_process_executor)
    repository = defs.get_repository_def()
    return Project(instance, "here", repository, TIMETABLE, SOURCE, now("2024-06-03T09:00"))


def test_a_failed_day_stops_its_week_and_nothing_else() -> None:
    """Keys of the project's own format; one day of one asset fails, the other week is made."""
    with dg.DagsterInstance.ephemeral() as instance:
        project = opened(instance, prices, one_by_one, weeks)
        request = Request(date(2024, 3, 25), date(2024, 4, 5))
        plan = plan_backfill(project, request)
        outcome = execute(project, plan, Console(quiet=True))
        made = {
            asset.key.to_user_string(): instance.get_materialized_partitions(asset.key)
            for asset in (prices, one_by_one, weeks)
        }
    days = {f"{n}.03.2024" for n in (25, 26, 27, 28)} | {f"0{n}.04.2024" for n in (2, 3, 4, 5)}
    assert made == {"prices": days, "one_by_one": days - {BAD}, "weeks": {"2024-03-25"}}
    assert outcome.errors == [f"{BAD}: one_by_one failed: RuntimeError: no such price"]
    failed, not_tried = outcome.rows(plan)[1:]
    assert failed.failed == [(date(2024, 4, 3), date(2024, 4, 3))]
    assert not_tried.not_tried == [(date(2024, 4, 1), date(2024, 4, 1))]
    # The week's workdays are from Tuesday the 2nd to Friday the 5th.
    assert retry_command(plan, request, outcome, in_process=True) == (
        "workday-assets backfill --from 2024-04-02 --to 2024-04-05"
        " --asset one_by_one --asset weeks --in-process"
    )


def test_a_run_holds_at_most_500_partitions() -> None:
    """The 618 days in the ECB file from 2022-01-03 to 2024-05-31: runs of 500 and of 118."""
    with dg.DagsterInstance.ephemeral() as instance:
        project = opened(instance, prices)
        plan = plan_backfill(project, Request())
        runs = [(len(each.dates), *each.keys) for each in blocks(plan, TIMETABLE)]
    assert runs == [(500, "03.01.2022", "11.12.2023"), (118, "12.12.2023", "31.05.2024")]


@dg.asset_check(asset=prices)
def late_check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """Blocks nothing: of a long range it is run once, at the end."""
    made = context.instance.get_materialized_partitions(prices.key)
    return dg.AssetCheckResult(passed=True, metadata={"partitions": len(made)})


@dg.asset_check(asset=prices, blocking=True)
def blocking_check() -> dg.AssetCheckResult:
    """Stays in the runs of its asset."""
    return dg.AssetCheckResult(passed=True)


@pytest.mark.parametrize(
    ("last", "late"),
    [
        pytest.param(date(2024, 3, 25), [1], id="one day: in its run"),
        pytest.param(date(2026, 4, 10), [521], id="two blocks: once, when all is made"),
    ],
)
def test_checks_of_a_long_range_are_run_once(last: date, late: list[int]) -> None:
    """2024-03-25 to 2026-04-10 are 535 weekdays less 14 holidays: two runs, and one of checks."""
    with dg.DagsterInstance.ephemeral() as instance:
        defs = dg.Definitions(
            assets=[prices],
            asset_checks=[late_check, blocking_check],
            executor=dg.in_process_executor,
        )
        project = Project(
            instance, "here", defs.get_repository_def(), TIMETABLE, SOURCE, now("2026-06-03T09:00")
        )
        plan = plan_backfill(project, Request(date(2024, 3, 25), last))
        outcome = execute(project, plan, Console(quiet=True))
        assert outcome.errors == []
        found = [
            (evaluation.check_name, evaluation.metadata.get("partitions"))
            for run in reversed(instance.get_runs())
            for entry in instance.all_logs(run.run_id)
            if entry.dagster_event is not None
            and entry.dagster_event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION
            for evaluation in [entry.dagster_event.asset_check_evaluation_data]
        ]
    assert [n.value for name, n in found if name == "late_check"] == late
    blocks_of = 2 if late == [521] else 1
    assert [name for name, _ in found].count("blocking_check") == blocks_of


@dg.resource
def lost_service() -> None:
    """Cannot be had: a run that wants it fails before its first step."""
    raise ConnectionError("no service")


@dg.asset_check(asset=prices, required_resource_keys={"service"})
def check_of_a_service() -> dg.AssetCheckResult:
    """Is never reached."""
    return dg.AssetCheckResult(passed=True)


def test_checks_that_cannot_start_are_an_error() -> None:
    """All twelve days are made; that nobody checked them is said, and fails the command."""
    with dg.DagsterInstance.ephemeral() as instance:
        defs = dg.Definitions(
            assets=[prices],
            asset_checks=[check_of_a_service],
            resources={"service": lost_service},
            executor=dg.in_process_executor,
        )
        project = Project(
            instance, "here", defs.get_repository_def(), TIMETABLE, SOURCE, now("2024-06-03T09:00")
        )
        plan = plan_backfill(project, Request(date(2024, 4, 2), date(2024, 4, 17)))
        outcome = execute(project, plan, Console(quiet=True))
    assert not outcome.missing(plan)
    (error,) = outcome.errors
    assert error.startswith("checks: ")
    assert "service" in error


def test_a_run_that_was_reported_failed_has_its_message() -> None:
    """A run without a process has no exception, and the sentence is what was reported."""
    with dg.DagsterInstance.ephemeral() as instance:
        job = dg.Definitions([prices]).resolve_implicit_global_asset_job_def()
        run = instance.create_run_for_job(job)
        instance.report_run_failed(run, "No process executes this run.")
        (event,) = (
            entry.dagster_event
            for entry in instance.all_logs(run.run_id)
            if entry.dagster_event is not None and entry.dagster_event.is_run_failure
        )
    assert sentence(BAD, event) == f"{BAD}: run failed: No process executes this run."
