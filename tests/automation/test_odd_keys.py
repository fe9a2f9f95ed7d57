"""Partitions that are recorded and do not exist: what is planned beside them stays as it was."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import dagster as dg
import pytest
from support.ticks import ZONE, now

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition
from workday_assets.automation.graph import DatedGraph
from workday_assets.automation.recorded import read_recorded

CALENDAR = WorkdayCalendar.build("OWN", "2026-01-01", "2026-12-31")
#: Tuesday 2026-03-03 was closed after its results were made.
MOURNING = CALENDAR.with_closures({"2026-03-03": "mourning"})


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def by_workday(name: str, calendar: WorkdayCalendar, **more: Any) -> dg.AssetsDefinition:
    """An asset by workdays of a calendar."""

    @dg.asset(name=name, partitions_def=WorkdayPartitionsDefinition(calendar, ZONE), **more)
    def made() -> None: ...

    return made


def report(instance: dg.DagsterInstance, asset: str, *keys: str) -> None:
    """Materializations by hand."""
    for key in keys:
        instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=key))


def test_a_day_that_closed_after_it_was_made(instance: dg.DagsterInstance) -> None:
    """It is made from nothing now; the day after it is outdated by its own upstream alone."""
    upstream = by_workday("upstream", CALENDAR)
    downstream = by_workday("downstream", MOURNING, deps=[upstream])
    graph = dg.Definitions(assets=[upstream, downstream]).get_repository_def().asset_graph
    report(instance, "downstream", "2026-03-03", "2026-03-04")
    report(instance, "upstream", "2026-03-03", "2026-03-04")
    known = DatedGraph(graph, instance, [upstream.key, downstream.key], now("2026-04-01"))
    assert known.outdated(downstream.key) == {date(2026, 3, 4)}


def test_a_key_that_names_no_date(instance: dg.DagsterInstance) -> None:
    """It is nobody's day."""
    report(instance, "rates", "2026-03-02", "latest")
    recorded = read_recorded(
        instance, dg.AssetKey("rates"), WorkdayPartitionsDefinition(CALENDAR, ZONE)
    )
    assert recorded.materialized.keys() == {date(2026, 3, 2)}
