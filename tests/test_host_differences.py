"""What the webserver and the daemon believe of each mapping, against what runs and decisions do.

The host's side is asked as the host asks it: a code server in a process of its own, and Dagster's
view of the asset graph that comes from there. Each test of a row of `docs/host-differences.md` has
the row's name as its id.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.asset_graph_view.asset_graph_view import AssetGraphView, TemporalContext
from dagster._core.asset_graph_view.entity_subset import EntitySubset
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.definitions.declarative_automation.automation_condition_evaluator import (
    AutomationConditionEvaluator,
)
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import PythonFileTarget
from dagster_graphql.client.query import LAUNCH_PARTITION_BACKFILL_MUTATION
from dagster_graphql.schema import create_schema
from support.mapped import READERS, SHUT, Keys, days, defs
from support.ticks import now

from workday_assets.automation.graph import DatedGraph

DOCUMENT = Path(__file__).parents[1] / "docs" / "host-differences.md"
LATER = "2026-02-01T12:00"
DAYS = dg.AssetKey("days")


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance; what a test materializes in it is no other test's business."""
    with dg.instance_for_test() as found:
        yield found


@pytest.fixture(scope="module")
def request_context(instance: dg.DagsterInstance) -> Iterator[WorkspaceRequestContext]:
    """What a request to the webserver sees: all comes from a code server's process, as text."""
    target = PythonFileTarget(
        python_file=str(Path(__file__).parent / "support" / "mapped.py"),
        attribute=None,
        working_directory=None,
        location_name="mapped",
    )
    with WorkspaceProcessContext(instance, target) as workspace:
        yield workspace.create_request_context()


@pytest.fixture
def host(request_context: WorkspaceRequestContext) -> BaseAssetGraph[Any]:
    """The asset graph of the webserver and of the daemon."""
    return request_context.asset_graph


def workdays(first: str, past: str, *closed: str) -> list[str]:
    """Mondays to Fridays of ``first <= day < past`` without the closed ones."""
    start = date.fromisoformat(first)
    count = (date.fromisoformat(past) - start).days
    listed = [start + timedelta(days=n) for n in range(count)]
    return [str(day) for day in listed if day.weekday() < 5 and str(day) not in closed]


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        asset: one that reads `days`.
        keys: its partitions that are asked about, together.
        ours: the workdays that a run of them reads, and that our decisions wait for.
        host: the workdays that the host believes are needed.
        refused: those that it believes are needed and do not exist.
        at: "now" in Berlin.
        made_of: for one workday, the partitions of the asset that the host believes it is in,
            which is right.
    """

    asset: str
    keys: list[str]
    ours: list[str]
    host: list[str]
    refused: list[str] = field(default_factory=list)
    at: str = LATER
    made_of: tuple[str, list[str]] | None = None


# AMERICA's closed days among Mondays to Fridays, from `support/mapped.py`.
CLOSED = ["2025-01-01", "2025-01-20", *SHUT, "2025-05-26"]
JANUARY = workdays("2025-01-01", "2025-02-01", *CLOSED)
QUARTER = workdays("2025-01-01", "2025-04-01", *CLOSED)
YEAR = workdays("2025-01-01", "2026-01-01", *CLOSED)
WEEK = ["2025-01-21", "2025-01-22", "2025-01-23", "2025-01-24"]
SUNDAYS_WEEK = ["2025-01-06", "2025-01-07", "2025-01-08", "2025-01-09", "2025-01-10"]
TRAILING = ["2024-12-30", "2024-12-31", "2025-01-02"]
EVE = "2024-12-31"

ROWS = {
    "previous": Row(
        "previous", ["2025-01-02"], [EVE], [EVE], made_of=("2025-01-17", ["2025-01-21"])
    ),
    "trailing": Row(
        "trailing",
        ["2025-01-02"],
        TRAILING,
        TRAILING,
        made_of=(EVE, [EVE, "2025-01-02", "2025-01-03"]),
    ),
    "week": Row(
        "monday_week",
        ["2025-01-20"],
        WEEK,
        ["2025-01-17", *WEEK],
        made_of=("2025-01-17", ["2025-01-13"]),
    ),
    "week-of-sundays": Row(
        "sunday_week",
        ["2025-01-05"],
        SUNDAYS_WEEK,
        ["2025-01-03", *SUNDAYS_WEEK],
        made_of=("2025-01-03", ["2024-12-29"]),
    ),
    "week-without-a-workday": Row("monday_week", ["2025-02-10"], [], ["2025-02-07"]),
    "month": Row("month", ["2025-01-01"], JANUARY, [EVE, *JANUARY], made_of=(EVE, ["2024-12-01"])),
    "quarter": Row(
        "quarter", ["2025-01-01"], QUARTER, [EVE, *QUARTER], made_of=(EVE, ["2024-10-01"])
    ),
    "year": Row("year", ["2025-01-01"], YEAR, [EVE, *YEAR], made_of=(EVE, ["2024-01-01"])),
    "same-workday": Row("one_zone", ["2025-01-20"], [], [], made_of=("2025-01-21", ["2025-01-21"])),
    "same-workday-in-a-range": Row(
        "one_zone",
        ["2025-04-30", "2025-05-02"],
        ["2025-04-30", "2025-05-02"],
        ["2025-04-30", "2025-05-01", "2025-05-02"],
    ),
    "across-zones": Row(
        "two_zones",
        ["2025-04-30", "2025-05-02"],
        ["2025-04-30", "2025-05-02"],
        ["2025-04-30", "2025-05-02"],
        made_of=("2025-05-01", []),
    ),
    "across-zones-closed": Row("two_zones", ["2025-01-20"], [], [], refused=["2025-01-20"]),
    "across-zones-not-over": Row(
        "two_zones",
        ["2025-01-22"],
        ["2025-01-22"],
        [],
        refused=["2025-01-22"],
        at="2025-01-23T00:30",
    ),
}
EACH_ROW = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)


def view(
    graph: BaseAssetGraph[Any], instance: dg.DagsterInstance, at: str = LATER
) -> AssetGraphView:
    """Dagster's view of a graph at an instant, as the daemon and the webserver make it."""
    moment = TemporalContext(effective_dt=now(at), last_event_id=None)
    return AssetGraphView(temporal_context=moment, instance=instance, asset_graph=graph)


def subset(found: AssetGraphView, asset: str, keys: list[str]) -> EntitySubset[dg.AssetKey]:
    """Partitions of an asset."""
    key = dg.AssetKey(asset)
    wanted = {AssetKeyPartitionKey(key, partition) for partition in keys}
    return found.get_asset_subset_from_asset_partitions(key, wanted)


def keys_of(found: EntitySubset[dg.AssetKey]) -> list[str]:
    """Its partition keys, sorted."""
    return sorted(found.expensively_compute_partition_keys())


def run(
    instance: dg.DagsterInstance, asset: str, first: str, last: str, at: str = LATER
) -> list[str]:
    """One real run of an asset over first to last; the workdays that it read."""
    one = first == last
    tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
    with partition_loading_context(now(at)):
        result = dg.materialize(
            [days, *READERS],
            selection=asset,
            instance=instance,
            partition_key=first if one else None,
            tags={} if one else tags,
            resources={"io_manager": Keys()},
        )
    read: list[str] = result.output_for_node(asset)
    return read


@EACH_ROW
def test_run(row: Row, instance: dg.DagsterInstance) -> None:
    """A run reads exactly the workdays of the row."""
    assert run(instance, row.asset, row.keys[0], row.keys[-1], row.at) == row.ours


@EACH_ROW
def test_decisions(row: Row, instance: dg.DagsterInstance) -> None:
    """What our sensors and command line wait for is what a run reads."""
    key = dg.AssetKey(row.asset)
    known = DatedGraph(defs.resolve_asset_graph(), instance, [key], now(row.at))
    asset = known.assets[key]
    wanted = [date.fromisoformat(partition) for partition in row.keys]
    found = {(parent, str(day)) for own in wanted for parent, day in known.upstream(asset, own)}
    assert found == {(DAYS, day) for day in row.ours}


@EACH_ROW
def test_host(row: Row, host: BaseAssetGraph[Any], instance: dg.DagsterInstance) -> None:
    """What the host believes is needed, and what it misses; a single workday it places right."""
    found = view(host, instance, row.at)
    needed, refused = found.compute_parent_subset_and_required_but_nonexistent_subset(
        DAYS, subset(found, row.asset, row.keys)
    )
    assert keys_of(needed) == row.host
    assert keys_of(refused) == row.refused
    if row.made_of:
        day, partitions = row.made_of
        below = found.compute_child_subset(dg.AssetKey(row.asset), subset(found, "days", [day]))
        assert keys_of(below) == partitions


def test_a_backfill_holds_a_month_back_for_a_day_that_is_not_its_own(
    host: BaseAssetGraph[Any], instance: dg.DagsterInstance
) -> None:
    """The daemon's own steps: of January's days all are made but New Year's Eve: it waits."""
    found, month = view(host, instance), dg.AssetKey("month")
    needed = found.compute_parent_subset(DAYS, subset(found, "month", ["2025-01-01"]))
    left = needed.compute_difference(subset(found, "days", JANUARY))
    assert keys_of(left) == [EVE]
    assert "2025-01-01" in keys_of(found.compute_child_subset(month, left))


RANGE_ROW = "range-over-an-empty-week"


@pytest.mark.parametrize("around", [["2025-02-07", "2025-02-17"]], ids=[RANGE_ROW])
def test_range_over_an_empty_week(
    around: list[str], host: BaseAssetGraph[Any], instance: dg.DagsterInstance
) -> None:
    """Two workdays with nothing but a closed week between are one window, which holds that week."""
    found = view(host, instance)
    below = found.compute_child_subset(dg.AssetKey("monday_week"), subset(found, "days", around))
    assert keys_of(below) == ["2025-02-03", "2025-02-10", "2025-02-17"]
    key = dg.AssetKey("monday_week")
    known = DatedGraph(defs.resolve_asset_graph(), instance, [key], now(LATER))
    needing = [
        str(week)
        for week in (date(2025, 2, 3), date(2025, 2, 10), date(2025, 2, 17))
        if {str(day) for _, day in known.upstream(known.assets[key], week)} & set(around)
    ]
    assert needing == ["2025-02-03", "2025-02-17"]


def test_every_row_is_documented_and_every_documented_row_is_tested() -> None:
    """The table has the rows of these tests, and names the partitions that each asks about."""
    text = DOCUMENT.read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \|(.*)$", text, flags=re.MULTILINE))
    assert list(rows) == [*ROWS, RANGE_ROW]
    assert {
        name: [key for key in row.keys if key not in rows[name]] for name, row in ROWS.items()
    } == {name: [] for name in ROWS}


def test_a_week_looks_outdated_by_a_day_that_is_not_its_own(
    request_context: WorkspaceRequestContext, instance: dg.DagsterInstance
) -> None:
    """Friday 17 January is made again: the UI marks the week from Monday 20 January, we do not."""
    run(instance, "days", "2025-01-13", "2025-01-24")
    run(instance, "monday_week", "2025-01-20", "2025-01-20")
    run(instance, "days", "2025-01-17", "2025-01-17")
    week = (dg.AssetKey("monday_week"), "2025-01-20")
    with partition_loading_context(now(LATER)):
        statuses = [
            CachingStaleStatusResolver(instance, graph, request_context).get_status(*week)
            for graph in (request_context.asset_graph, defs.resolve_asset_graph())
        ]
    assert statuses == [StaleStatus.STALE, StaleStatus.FRESH]
    known = DatedGraph(defs.resolve_asset_graph(), instance, [week[0]], now(LATER))
    assert known.outdated(week[0]) == set()


def requested(
    graph: BaseAssetGraph[Any], instance: dg.DagsterInstance, condition: dg.AutomationCondition[Any]
) -> list[str]:
    """The weeks that an automation condition asks for at a first tick."""
    evaluator = AutomationConditionEvaluator(
        entity_keys={dg.AssetKey("monday_week")},
        instance=instance,
        asset_graph=graph,
        cursor=AssetDaemonCursor.empty(),
        emit_backfills=False,
        evaluation_id=1,
        default_condition=condition,
        evaluation_time=now(LATER),
    )
    _, subsets = evaluator.evaluate()
    return sorted(key for found in subsets for key in keys_of(found))


def test_an_automation_condition_waits_for_days_that_are_not_its_own(
    host: BaseAssetGraph[Any],
) -> None:
    """The week from Monday 20 January waits for the workdays on both sides, in user code too.

    Dagster keeps the missing days as windows, and those span the closed days next to them.
    """
    nothing_missing = ~dg.AutomationCondition.any_deps_missing()
    graphs = [host, defs.resolve_asset_graph()]
    with dg.instance_for_test() as empty:
        found = []
        for day in [*WEEK, "2025-01-17", "2025-01-27"]:
            event = dg.AssetMaterialization(asset_key=DAYS, partition=day)
            empty.report_runless_asset_event(event)
            found.append([requested(graph, empty, nothing_missing) for graph in graphs])
    week = ["2025-01-20"]
    assert found == [*[[[], []]] * 5, [week, week]]


def test_the_webserver_refuses_a_backfill_over_a_day_that_is_closed_upstream(
    request_context: WorkspaceRequestContext,
) -> None:
    """Across zones: with 20 January it is refused and says why, without that day it is launched."""
    answers = [
        create_schema().execute(
            LAUNCH_PARTITION_BACKFILL_MUTATION,
            context_value=request_context,
            variable_values={
                "backfillParams": {
                    "assetSelection": [{"path": ["two_zones"]}],
                    "partitionNames": partitions,
                }
            },
        )
        for partitions in (["2025-01-17", "2025-01-20"], ["2025-01-17", "2025-01-21"])
    ]
    found = [(answer.data or {})["launchPartitionBackfill"] for answer in answers]
    assert [each["__typename"] for each in found] == ["PythonError", "LaunchBackfillSuccess"]
    assert "depends on non-existent partitions" in found[0]["message"]
