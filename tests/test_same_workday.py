"""`same_workday`: between two calendars, in one zone and across two, on real runs."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from support.ticks import now

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    same_workday,
)
from workday_assets.automation.graph import DatedGraph
from workday_assets.automation.plans import AssetPlans, plan_assets
from workday_assets.errors import InvalidInputError
from workday_assets.readiness import made, ready_keys
from workday_assets.storage.parquet import ParquetIOManager

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
#: The ECB rests on 1 May, New York on 25 May, 19 June and 3 July; both on Good Friday 3 April.
ECB = WorkdayCalendar.build(
    "ECB", "2026-04-01", "2026-07-31", holidays=["2026-04-03", "2026-04-06", "2026-05-01"]
)
NYSE = WorkdayCalendar.build(
    "NYSE",
    "2026-04-13",
    "2026-07-31",
    holidays=["2026-05-25", "2026-06-19", "2026-07-03"],
)
OURS = WorkdayPartitionsDefinition(ECB, BERLIN)
THEIRS = {
    "one-zone": WorkdayPartitionsDefinition(NYSE, BERLIN),
    "two-zones": WorkdayPartitionsDefinition(NYSE, NEW_YORK),
}
MAPPINGS = {"one-zone": same_workday(), "two-zones": same_workday(across_zones=True)}
BOTH = pytest.mark.parametrize("zones", THEIRS)


@pytest.fixture(autouse=True)
def later() -> Iterator[None]:
    """Every day of the calendars is over."""
    with partition_loading_context(pendulum.datetime(2026, 9, 1)):
        yield


def upstream(zones: str, *keys: str, at: str = "2026-09-01T00:00") -> list[str]:
    """What our partitions need; nothing is needed that does not exist."""
    with partition_loading_context(now(at)):
        result = MAPPINGS[zones].get_upstream_mapped_partitions_result_for_partitions(
            OURS.subset_with_partition_keys(keys), OURS, THEIRS[zones]
        )
        assert list(result.required_but_nonexistent_partition_keys) == []
        return sorted(result.partitions_subset.get_partition_keys())


def downstream(zones: str, *keys: str, at: str = "2026-09-01T00:00") -> list[str]:
    """What needs their partitions."""
    with partition_loading_context(now(at)):
        theirs = THEIRS[zones]
        subset = MAPPINGS[zones].get_downstream_partitions_for_partitions(
            theirs.subset_with_partition_keys(keys), theirs, OURS
        )
        return sorted(subset.get_partition_keys())


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(["2026-07-02"], ["2026-07-02"], id="open-in-both"),
        pytest.param(["2026-07-03"], [], id="closed-upstream"),
        pytest.param(["2026-04-01"], [], id="before-the-first-upstream"),
        pytest.param(
            ["2026-07-02", "2026-07-03", "2026-07-06"], ["2026-07-02", "2026-07-06"], id="range"
        ),
        pytest.param(
            ["2026-04-30", "2026-05-04"],
            ["2026-04-30", "2026-05-04"],
            id="range-over-a-day-closed-downstream",
        ),
    ],
)
@BOTH
def test_upstream(zones: str, days: list[str], expected: list[str]) -> None:
    """A day needs its own date and no other, and a range no day that it does not hold."""
    assert upstream(zones, *days) == expected


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(["2026-07-02"], ["2026-07-02"], id="open-in-both"),
        pytest.param(["2026-05-01"], [], id="closed-downstream"),
        pytest.param(
            ["2026-07-02", "2026-07-06"],
            ["2026-07-02", "2026-07-06"],
            id="range-over-a-day-closed-upstream",
        ),
    ],
)
@BOTH
def test_downstream(zones: str, days: list[str], expected: list[str]) -> None:
    """A day is needed by its own date, where that is open."""
    assert downstream(zones, *days) == expected


def test_a_date_that_is_not_over_in_its_zone_is_needed_and_needs_nothing() -> None:
    """Friday is over in Berlin at 18:00 of New York's Friday; downstream it exists when over."""
    berlin_saturday = "2026-07-11T00:30"
    assert upstream("two-zones", "2026-07-10", at=berlin_saturday) == ["2026-07-10"]
    with partition_loading_context(now(berlin_saturday)):
        subset = MAPPINGS["two-zones"].get_downstream_partitions_for_partitions(
            OURS.subset_with_partition_keys(["2026-07-09", "2026-07-10"]), OURS, THEIRS["two-zones"]
        )
        assert sorted(subset.get_partition_keys()) == ["2026-07-09"]


def test_every_day_of_two_real_calendars() -> None:
    """2000-2026 a day of XECB needs the date of XNYS that is the same, and is needed by it."""
    ecb = WorkdayPartitionsDefinition(WorkdayCalendar.named("XECB"), BERLIN, "2000-01-01")
    nyse = WorkdayPartitionsDefinition(WorkdayCalendar.named("XNYS"), NEW_YORK, "2000-01-01")
    mapping = same_workday(across_zones=True)
    needed, needing = {}, {}
    with partition_loading_context(pendulum.datetime(2027, 1, 9, 12)):
        for key in ecb.get_partition_keys():
            result = mapping.get_upstream_mapped_partitions_result_for_partitions(
                ecb.subset_with_partition_keys([key]), ecb, nyse
            )
            needed[key] = list(result.partitions_subset.get_partition_keys())
        for key in nyse.get_partition_keys():
            subset = mapping.get_downstream_partitions_for_partitions(
                nyse.subset_with_partition_keys([key]), nyse, ecb
            )
            needing[key] = list(subset.get_partition_keys())
    assert needed["2026-12-31"] == ["2026-12-31"]
    assert sum(not keys for keys in needed.values()) > 100  # a handful of holidays a year
    assert needed == {key: [key] if key in needing else [] for key in needed}
    assert needing == {key: [key] if key in needed else [] for key in needing}


@BOTH
def test_the_planners_quick_way_names_the_same_dates(
    zones: str, instance: dg.DagsterInstance
) -> None:
    """By dates alone it answers as the mapping does, for every day."""
    keys = [dg.AssetKey("rates")]
    graph = dg.Definitions(pair(zones, [])).resolve_asset_graph()
    known = DatedGraph(graph, instance, keys, now("2026-09-01T00:00"))
    found = {
        key: [str(day) for _, day in known.upstream(known.assets[keys[0]], OURS.day(key))]
        for key in OURS.get_partition_keys()
    }
    assert found == {key: upstream(zones, key) for key in OURS.get_partition_keys()}


COLUMNS = dg.TableSchema([dg.TableColumn("date", "date32"), dg.TableColumn("n", "int64")])
OPTIONS: dict[str, Any] = {
    "backfill_policy": dg.BackfillPolicy.single_run(),
    "metadata": {"dagster/column_schema": COLUMNS},
}


def table(keys: list[str], values: list[int]) -> pd.DataFrame:
    """A row per key."""
    return pd.DataFrame({"date": pd.to_datetime(keys), "n": values})


def pair(zones: str, read_days: list[list[str]]) -> tuple[dg.AssetsDefinition, dg.AssetsDefinition]:
    """An asset of their calendar, and one of ours that reads it and says which days it read."""

    @dg.asset(partitions_def=THEIRS[zones], **OPTIONS)
    def prices(context: dg.AssetExecutionContext) -> pd.DataFrame:
        keys = list(context.partition_keys)
        return table(keys, [date.fromisoformat(key).day for key in keys])

    read = dg.AssetIn(
        partition_mapping=MAPPINGS[zones], metadata={"allow_missing_partitions": True}
    )

    @dg.asset(partitions_def=OURS, ins={"prices": read}, output_required=False, **OPTIONS)
    def rates(
        context: dg.AssetExecutionContext, prices: pd.DataFrame
    ) -> Iterator[dg.Output[pd.DataFrame]]:
        keys = ready_keys(context, prices=prices)
        if keys:
            read_days.append([str(day.date()) for day in prices["date"]])
            yield made(table(keys, [len(prices)] * len(keys)), keys)

    return prices, rates


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def run(
    instance: dg.DagsterInstance,
    folder: Path,
    assets: tuple[dg.AssetsDefinition, ...],
    name: str,
    first: str,
    last: str,
) -> None:
    """One run of one asset over first to last."""
    one = first == last
    tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
    dg.materialize(
        list(assets),
        selection=name,
        instance=instance,
        partition_key=first if one else None,
        tags={} if one else tags,
        resources={"io_manager": ParquetIOManager(base_path=str(folder))},
    )


def made_rates(instance: dg.DagsterInstance) -> list[str]:
    """The recorded partitions of our asset."""
    return sorted(instance.get_materialized_partitions(dg.AssetKey("rates")))


@BOTH
def test_a_run_reads_its_own_dates(
    zones: str, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """A range over days closed on one side or the other, and a run of one such day."""
    read: list[list[str]] = []
    assets = pair(zones, read)
    run(instance, tmp_path, assets, "prices", "2026-04-29", "2026-05-05")
    run(instance, tmp_path, assets, "rates", "2026-04-30", "2026-05-05")
    run(instance, tmp_path, assets, "prices", "2026-07-01", "2026-07-06")
    run(instance, tmp_path, assets, "rates", "2026-07-02", "2026-07-06")
    run(instance, tmp_path, assets, "rates", "2026-06-19", "2026-06-19")
    assert read == [
        ["2026-04-30", "2026-05-04", "2026-05-05"],  # prices of 1 May are there
        ["2026-07-02", "2026-07-06"],  # New York is closed on 3 July
        [],
    ]
    assert made_rates(instance) == [
        *("2026-04-30", "2026-05-04", "2026-05-05"),
        "2026-06-19",
        *("2026-07-02", "2026-07-03", "2026-07-06"),
    ]


@BOTH
def test_a_run_of_a_day_whose_input_is_not_there(
    zones: str, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """It is not ready, and is made by a run after its input."""
    assets = pair(zones, [])
    run(instance, tmp_path, assets, "rates", "2026-07-02", "2026-07-02")
    assert made_rates(instance) == []
    run(instance, tmp_path, assets, "prices", "2026-07-02", "2026-07-02")
    run(instance, tmp_path, assets, "rates", "2026-07-02", "2026-07-02")
    assert made_rates(instance) == ["2026-07-02"]


def plans(instance: dg.DagsterInstance, zones: str, at: str, start: date) -> AssetPlans:
    """What is decided on our asset alone."""
    graph = dg.Definitions(pair(zones, [])).resolve_asset_graph()
    timetable = WorkdayTimetable(ECB, BERLIN)
    return plan_assets(
        graph,
        instance,
        [dg.AssetKey("rates")],
        timetable,
        as_of=now(at),
        policy=CatchupPolicy.all(),
        start=start,
    )


def verdicts(found: AssetPlans) -> dict[str, tuple[str, str]]:
    """By open day, verdict and reason."""
    decisions = found.plans[dg.AssetKey("rates")].decisions
    return {str(d.day): (d.verdict, d.reason) for d in decisions if d.verdict != "closed"}


def report(instance: dg.DagsterInstance, asset: str, *keys: str) -> None:
    """Materialize partitions as a tool outside Dagster would."""
    for key in keys:
        event = dg.AssetMaterialization(asset_key=asset, partition=key)
        instance.report_runless_asset_event(event)


@BOTH
def test_decisions(zones: str, instance: dg.DagsterInstance) -> None:
    """A day waits for its own date, and for nothing where that is closed."""
    report(instance, "prices", "2026-06-18")
    found = verdicts(plans(instance, zones, "2026-06-23T00:00", date(2026, 6, 18)))
    assert {day: verdict for day, (verdict, _) in found.items()} == {
        "2026-06-18": "due",
        "2026-06-19": "due",  # New York is closed
        "2026-06-22": "not_ready",
        "2026-06-23": "waiting",
    }
    assert "prices 2026-06-22" in found["2026-06-22"][1]


def test_decisions_before_the_other_day_is_over(instance: dg.DagsterInstance) -> None:
    """Berlin's Friday is over, New York's is not: the day is not ready, rather than due."""
    found = verdicts(plans(instance, "two-zones", "2026-07-11T00:30", date(2026, 7, 10)))
    assert found["2026-07-10"][0] == "not_ready"
    assert "prices 2026-07-10" in found["2026-07-10"][1]
    report(instance, "prices", "2026-07-10")
    found = verdicts(plans(instance, "two-zones", "2026-07-11T06:30", date(2026, 7, 10)))
    assert found["2026-07-10"][0] == "due"


@BOTH
def test_a_correction_reaches_its_own_date(zones: str, instance: dg.DagsterInstance) -> None:
    """A day that is materialized again makes the same date due, and no other."""
    report(instance, "prices", "2026-07-01", "2026-07-02", "2026-07-06")
    report(instance, "rates", "2026-07-01", "2026-07-02", "2026-07-03", "2026-07-06")
    report(instance, "prices", "2026-07-02")
    found = plans(instance, zones, "2026-07-07T00:00", date(2026, 7, 1))
    assert [str(day) for day in found.due_by_day()] == ["2026-07-02"]


def stock(mapping: dg.PartitionMapping | None) -> list[dg.AssetsDefinition]:
    """A pair across zones with a mapping of Dagster's own."""

    @dg.asset(partitions_def=THEIRS["two-zones"], io_manager_def=dg.mem_io_manager)
    def prices() -> None: ...

    @dg.asset(partitions_def=OURS, ins={"prices": dg.AssetIn(partition_mapping=mapping)})
    def rates(prices: Any) -> None: ...

    return [prices, rates]


def test_dagsters_default_is_refused_across_zones() -> None:
    """Why `same_workday` is needed: without a mapping the project does not load."""
    with pytest.raises(dg.DagsterInvalidDefinitionError) as caught:
        dg.Definitions.validate_loadable(dg.Definitions(stock(None)))
    assert "Timezones America/New_York and Europe/Berlin don't match" in str(caught.value.__cause__)


def test_dagsters_identity_fails_on_a_day_closed_upstream() -> None:
    """Why `same_workday` is needed: a run of 3 July fails before it reads anything."""
    assets = stock(dg.IdentityPartitionMapping())
    with pytest.raises(dg.DagsterInvariantViolationError, match="depends on invalid partitions"):
        dg.materialize(assets, partition_key="2026-07-03", selection="rates")


WEEKS = dg.WeeklyPartitionsDefinition("2026-04-06", day_offset=1, timezone=BERLIN)
GRID = dg.MultiPartitionsDefinition(
    {"day": OURS, "desk": dg.StaticPartitionsDefinition(["rates", "credit"])}
)


@pytest.mark.parametrize(
    ("upstream_def", "mapping", "why"),
    [
        pytest.param(
            THEIRS["two-zones"],
            same_workday(),
            r"America/New_York upstream and Europe/Berlin downstream; say so with"
            r" same_workday\(across_zones=True\)",
            id="zones",
        ),
        pytest.param(
            WEEKS,
            same_workday(),
            "the upstream asset has partitions of WeeklyPartitionsDefinition;",
            id="weeks",
        ),
        pytest.param(
            GRID,
            same_workday(across_zones=True),
            "the upstream asset has partitions of MultiPartitionsDefinition;",
            id="several-dimensions",
        ),
    ],
)
def test_what_is_no_pair_of_workdays_is_refused(
    upstream_def: dg.PartitionsDefinition[Any], mapping: dg.PartitionMapping, why: str
) -> None:
    """One sentence, when the definitions are loaded."""

    @dg.asset(partitions_def=upstream_def)
    def above() -> None: ...

    @dg.asset(partitions_def=OURS, deps=[dg.AssetDep(above, partition_mapping=mapping)])
    def below() -> None: ...

    with pytest.raises(dg.DagsterInvalidDefinitionError) as caught:
        dg.Definitions.validate_loadable(dg.Definitions([above, below]))
    assert isinstance(caught.value.__cause__, InvalidInputError)
    assert re.search(why, str(caught.value.__cause__))
