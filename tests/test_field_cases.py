"""Failures that people reported against schedulers, each with its right answer.

The cases about calendars alone are in `calendars/test_cases.py`.
"""

from __future__ import annotations

import json
import time as clock
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.snap import TimeWindowPartitionsSnap
from dagster._core.definitions.partitions.subset import TimeWindowPartitionsSubset
from dagster._serdes import deserialize_value, serialize_value

from workday_assets import (
    CatchupPolicy,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    plan_intervals,
    rollup,
)
from workday_assets.errors import ClosedDayError, InvalidInputError

ANSWERS = Path(__file__).parent / "answers"
NEW_YORK = "America/New_York"
XMAS = ["2024-12-25", "2025-01-01"]


def cases(name: str, *ops: str) -> list[Any]:
    """The cases of a file that ask one of `ops`, as parameters named by their id."""
    found = json.loads((ANSWERS / name).read_text("utf-8"))
    return [pytest.param(case, id=case["id"]) for case in found if case["op"] in ops]


def build(given: dict[str, Any], first: str = "2018-01-01") -> WorkdayCalendar:
    """The calendar of a case, over all years that cases ask about."""
    return WorkdayCalendar.build(
        "CASE",
        first,
        "2026-12-31",
        weekend=given.get("weekend", (5, 6)),
        holidays=given.get("holidays", ()),
        extra_workdays=given.get("extra", ()),
    )


def table(case: dict[str, Any]) -> WorkdayTimetable:
    """The timetable of a case."""
    run_at = time.fromisoformat(case.get("run_at", "00:00"))
    return WorkdayTimetable(build(case["calendar"]), case["zone"], run_at)


def definition(case: dict[str, Any]) -> WorkdayPartitionsDefinition:
    """The partitions definition of a case."""
    return WorkdayPartitionsDefinition(build(case["calendar"]), case["zone"], case.get("start"))


def at(text: str, zone: str) -> datetime:
    """A local instant."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone(zone))


def iso_utc(*instants: datetime) -> list[str]:
    """Instants in UTC, to the minute."""
    return [instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ") for instant in instants]


@pytest.mark.parametrize("case", cases("cases_timetable.json", "manual"))
def test_newest_complete_interval(case: dict[str, Any]) -> None:
    """A manual run, and what an asset owes, is the newest workday that is over."""
    timetable = table(case)
    found = {text: timetable.infer_interval(at(text, case["zone"])) for text in case["expect"]}
    days = {text: interval and interval.day.isoformat() for text, interval in found.items()}
    assert days == case["expect"], case["why"]


@pytest.mark.parametrize("case", cases("cases_timetable.json", "manual"))
def test_newest_complete_partition(case: dict[str, Any]) -> None:
    """The last partition key at an instant is the newest workday that is over."""
    partitions = definition(case)
    found = {}
    for text in case["expect"]:
        with partition_loading_context(at(text, case["zone"])):
            found[text] = partitions.get_last_partition_key()
    assert found == case["expect"], case["why"]


@pytest.mark.parametrize("case", cases("cases_timetable.json", "window"))
def test_window(case: dict[str, Any]) -> None:
    """Interval and partition window go from the first instant of a date to that of the next."""
    timetable, partitions = table(case), definition(case)
    intervals = {day: timetable.interval(day) for day in case["expect"]}
    windows = {day: partitions.time_window_for_partition_key(day) for day in case["expect"]}
    assert {day: iso_utc(i.start, i.end) for day, i in intervals.items()} == case["expect"]
    assert {day: iso_utc(w.start, w.end) for day, w in windows.items()} == case["expect"]


@pytest.mark.parametrize("case", cases("cases_partitions.json", "last_key", "keys"))
@pytest.mark.parametrize("machine", ["UTC", "Pacific/Kiritimati", "America/Adak"])
def test_keys(case: dict[str, Any], machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys that are complete at an instant do not depend on the machine's zone."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", machine)
        clock.tzset()
        with partition_loading_context(at(case["now"], case["zone"])):
            partitions = definition(case)
            keys, last = partitions.get_partition_keys(), partitions.get_last_partition_key()
    clock.tzset()
    expected = case["expect"]
    assert (last if case["op"] == "last_key" else list(keys)) == expected, case["why"]


def test_k02_the_day_in_progress() -> None:
    """K02: Friday noon is inside Friday's interval, Saturday inside none."""
    timetable = WorkdayTimetable(build({}), NEW_YORK)
    friday = timetable.interval_in_progress(at("2026-03-06T12:00", NEW_YORK))
    saturday = timetable.interval_in_progress(at("2026-03-07T12:00", NEW_YORK))
    assert (friday, saturday) == (timetable.interval("2026-03-06"), None)


@pytest.mark.parametrize("make", [WorkdayTimetable, WorkdayPartitionsDefinition])
def test_k04_a_missing_zone_is_refused(make: Any) -> None:
    """K04: a missing timezone is never taken to be UTC."""
    with pytest.raises(InvalidInputError, match="never taken to be UTC"):
        make(build({}), None)


@pytest.mark.parametrize("case", cases("cases_partitions.json", "range"))
def test_range(case: dict[str, Any]) -> None:
    """A range of keys holds its workdays, both ends included, and no day outside."""
    asked = dg.PartitionKeyRange(case["from"], case["to"])
    assert list(definition(case).get_partition_keys_in_range(asked)) == case["expect"], case["why"]


@pytest.mark.parametrize("case", cases("cases_partitions.json", "refused_range"))
def test_range_without_a_workday(case: dict[str, Any]) -> None:
    """A range of closed days alone is refused, naming the workdays around its first day."""
    asked = dg.PartitionKeyRange(case["from"], case["to"])
    with pytest.raises(ClosedDayError) as caught:
        definition(case).get_partition_keys_in_range(asked)
    around = [str(caught.value.previous), str(caught.value.next)]
    assert around == case["expect"], case["why"]


def periods(case: dict[str, Any]) -> dg.TimeWindowPartitionsDefinition:
    """Dagster's own weeks or months, from some before the one that a case asks about."""
    zone, first = case["zone"], date.fromisoformat(case["period"])
    if case["unit"] == "month":
        return dg.MonthlyPartitionsDefinition(
            f"{first - timedelta(days=40):%Y-%m-01}", timezone=zone
        )
    start = str(first - timedelta(days=14))
    return dg.WeeklyPartitionsDefinition(start, day_offset=first.isoweekday() % 7, timezone=zone)


@pytest.mark.parametrize("case", cases("cases_partitions.json", "rollup"))
def test_rollup(case: dict[str, Any]) -> None:
    """A week or month is made of the workdays inside it, and they are in no other."""
    ours, whole, mapping = definition(case), periods(case), rollup()
    with partition_loading_context(at("2026-12-01T00:00", case["zone"])):
        result = mapping.get_upstream_mapped_partitions_result_for_partitions(
            whole.subset_with_partition_keys([case["period"]]), whole, ours
        )
        below = mapping.get_downstream_partitions_for_partitions(
            ours.subset_with_partition_keys(case["expect"]), ours, whole
        )
    assert sorted(result.partitions_subset.get_partition_keys()) == case["expect"], case["why"]
    assert list(below.get_partition_keys()) == ([case["period"]] if case["expect"] else [])


@pytest.mark.parametrize("case", cases("cases_partitions.json", "nth_workday"))
def test_nth_workday(case: dict[str, Any]) -> None:
    """The n-th workday of a month is counted over holidays."""
    year, month = map(int, case["month"].split("-"))
    found = build(case["calendar"]).nth_workday(year, month, case["n"])
    assert str(found) == case["expect"], case["why"]


def subset_of(partitions: WorkdayPartitionsDefinition, key: str) -> object:
    """A subset with one key."""
    return partitions.subset_with_partition_keys([key])


def interval_of(partitions: WorkdayPartitionsDefinition, key: str) -> object:
    """The interval of the same calendar's timetable."""
    return WorkdayTimetable(partitions.calendar, NEW_YORK).interval(key)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(WorkdayPartitionsDefinition.time_window_for_partition_key, id="window"),
        pytest.param(WorkdayPartitionsDefinition.start_time_for_partition_key, id="start"),
        pytest.param(WorkdayPartitionsDefinition.end_time_for_partition_key, id="end"),
        pytest.param(subset_of, id="subset"),
        pytest.param(interval_of, id="interval"),
    ],
)
@pytest.mark.parametrize(
    ("key", "previous", "following"),
    [
        pytest.param("2024-12-25", date(2024, 12, 24), date(2024, 12, 26), id="holiday"),
        pytest.param("2024-12-28", date(2024, 12, 27), date(2024, 12, 30), id="saturday"),
    ],
)
def test_i03_a_closed_day_is_refused_with_both_neighbours(
    ask: Any, key: str, previous: date, following: date
) -> None:
    """I03: what is asked about a closed day is never answered for another day."""
    partitions = WorkdayPartitionsDefinition(build({"holidays": XMAS}), NEW_YORK)
    with pytest.raises(ClosedDayError, match=f"{previous} and {following}") as caught:
        ask(partitions, key)
    assert (caught.value.previous, caught.value.next) == (previous, following)


def ended_before(case: dict[str, Any]) -> set[date]:
    """Weekdays from a case's start that were over when it went down, holidays left out."""
    day, down = date.fromisoformat(case["start"]), date.fromisoformat(case["down_since"][:10])
    days = {day + timedelta(days=n) for n in range((down - day).days)}
    holidays = case["calendar"].get("holidays", [])
    return {d for d in days if d.weekday() < 5 and d.isoformat() not in holidays}


@pytest.mark.parametrize("case", cases("cases_planner.json", "missed"))
def test_an_outage_is_made_up(case: dict[str, Any]) -> None:
    """What ended in an outage is due, by what is done and by the instant it began."""
    timetable, now = table(case), at(case["now"], case["zone"])
    down = CatchupPolicy.none(at(case["down_since"], case["zone"]))
    by_done = plan_intervals(timetable, as_of=now, start=case["start"], done=ended_before(case))
    by_instant = plan_intervals(timetable, as_of=now, start=case["start"], policy=down)
    assert list(map(str, by_done.due)) == case["expect"], case["why"]
    assert list(map(str, by_instant.due)) == case["expect"], case["why"]


def test_u02_a_limit_counts_workdays_and_reports_what_it_leaves_out() -> None:
    """U02: of six missed workdays the newest five are due, and the sixth is named."""
    timetable = WorkdayTimetable(build({"holidays": XMAS}), NEW_YORK)
    now = at("2025-01-02T12:00", NEW_YORK)
    plan = plan_intervals(timetable, as_of=now, start="2024-12-23", policy=CatchupPolicy.last(5))
    assert [d.isoformat()[5:] for d in plan.due] == ["12-24", "12-26", "12-27", "12-30", "12-31"]
    (left_out,) = plan.of("skipped")
    assert left_out.day == date(2024, 12, 23)
    assert left_out.reason == "only the newest 5 workdays are made up, from 2024-12-24 on"


def test_u05_a_long_outage_is_made_up_in_bounded_steps() -> None:
    """U05: 110 missed workdays are asked for, 20 at a time, until none is left."""
    calendar = build({})
    assert calendar.count("2024-01-01", "2024-06-01") == 110
    timetable, done, steps = WorkdayTimetable(calendar, "UTC"), set[date](), []
    while due := plan_intervals(
        timetable,
        as_of=at("2024-06-01T00:00", "UTC"),
        start="2024-01-01",
        done=done,
        policy=CatchupPolicy.all(limit=20),
    ).due:
        steps.append(len(due))
        done.update(due)
    assert steps == [20, 20, 20, 20, 20, 10]


@pytest.mark.parametrize("case", cases("cases_planner.json", "fires"))
def test_each_tick_asks_for_one_day_once(case: dict[str, Any]) -> None:
    """Every tick asks for the day that has just become due, and a closed day asks for none."""
    done: set[date] = set()
    found: dict[str, str | None] = {}
    for text in case["expect"]:
        now = at(text, case["zone"])
        due = plan_intervals(table(case), as_of=now, start=case["start"], done=done).due
        found[text] = ", ".join(map(str, due)) or None
        done.update(due)
    assert found == case["expect"], case["why"]


def test_v03_a_day_declared_closed_after_the_tick_before_does_not_run() -> None:
    """V03: what is due is decided by the calendar of the moment, not of the tick before."""
    before = WorkdayTimetable(build({}), NEW_YORK)
    after = WorkdayTimetable(
        before.calendar.with_closures({"2025-01-09": "day of mourning"}), NEW_YORK
    )
    planned = before.upcoming(at("2025-01-09T12:00", NEW_YORK))
    assert planned is not None
    assert planned.interval.day == date(2025, 1, 9)
    plan = plan_intervals(after, as_of=planned.run_after, start="2025-01-09")
    assert [(str(d.day), d.verdict, d.reason) for d in plan.decisions] == [
        ("2025-01-09", "closed", "2025-01-09 is day of mourning in CASE"),
        ("2025-01-10", "waiting", "it may run from 2025-01-11 00:00 America/New_York"),
    ]


def host(partitions: WorkdayPartitionsDefinition) -> dg.TimeWindowPartitionsDefinition:
    """What the webserver and the daemon rebuild."""
    snap: Any = TimeWindowPartitionsSnap.from_def(partitions)
    rebuilt: dg.TimeWindowPartitionsDefinition = snap.get_partitions_definition()
    return rebuilt


def through_json(subset: Any) -> TimeWindowPartitionsSubset:
    """A subset as the instance stores it and reads it again."""
    packed = serialize_value(subset.to_serializable_subset())
    return deserialize_value(packed, TimeWindowPartitionsSubset)


def test_v01_the_order_of_the_holidays_carries_no_meaning() -> None:
    """V01: two loads of a calendar, in any order of input, are one definition with one id."""
    one = WorkdayPartitionsDefinition(build({"holidays": XMAS}), NEW_YORK)
    two = WorkdayPartitionsDefinition(build({"holidays": XMAS[::-1]}), NEW_YORK)
    assert one == two
    assert one.get_serializable_unique_identifier() == two.get_serializable_unique_identifier()
    assert host(one) == host(two)


def test_v01_a_new_holiday_leaves_a_stored_backfill_of_earlier_days_whole() -> None:
    """V01: the days of a stored backfill still exist after a later day is declared closed."""
    days = ["2024-12-24", "2024-12-26", "2024-12-27"]
    old = WorkdayPartitionsDefinition(build({"holidays": XMAS}), NEW_YORK)
    new = WorkdayPartitionsDefinition(build({"holidays": [*XMAS, "2025-01-09"]}), NEW_YORK)
    with partition_loading_context(at("2025-01-02T12:00", NEW_YORK)):
        stored = through_json(old.subset_with_partition_keys(days))
        still_there = host(new).subset_with_all_partitions() & stored
        assert sorted(still_there.get_partition_keys()) == days
        assert list((stored - still_there).get_partition_keys()) == []


def test_v04_an_update_that_opens_past_closures_says_which() -> None:
    """V04: this year's list in place of all years' would open last year's holidays."""
    from workday_assets.calendars.freezing import diff

    found = diff(build({"holidays": XMAS}), build({"holidays": XMAS[1:]}), as_of="2025-01-01")
    assert [(c.day, c.before) for c in found.past_closures_removed] == [
        (date(2024, 12, 25), "holiday")
    ]


def test_s01_a_subset_survives_the_way_to_the_host() -> None:
    """S01: keys and definition of a stored subset are the same after the way through JSON."""
    partitions = WorkdayPartitionsDefinition(build({"holidays": XMAS}), NEW_YORK)
    keys = ["2024-12-24", "2024-12-26", "2024-12-30"]
    again = through_json(partitions.subset_with_partition_keys(keys))
    assert sorted(again.get_partition_keys()) == keys
    assert again.partitions_def == host(partitions)
    assert type(again.partitions_def) is dg.TimeWindowPartitionsDefinition
