"""The intervals of Airflow's `AfterWorkdayTimetable`, and where ours are different on purpose."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from workday_assets import DataInterval, TimeRestriction, WorkdayCalendar, WorkdayTimetable

ANSWERS = Path(__file__).parent / "answers"
ONE_DAY = timedelta(days=1)
FIRST_INSTANT = datetime(2020, 1, 1, tzinfo=UTC)
US = WorkdayCalendar.named("US")
TABLE = WorkdayTimetable(US, "UTC")

Instants = tuple[datetime, datetime, datetime]


def rows(name: str) -> list[dict[str, str]]:
    """The rows of an answers file, its comment lines left out."""
    lines = (ANSWERS / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def midnight(text: str) -> datetime:
    """The first instant of an ISO date, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def scheduled_by_airflow() -> list[datetime]:
    """The starts of every interval from 2000 to 2015."""
    return [
        midnight(f"{row['month']}-{int(day):02}")
        for row in rows("airflow_after_workday.csv")
        for day in row["days"].split()
    ]


def walk(table: WorkdayTimetable) -> Iterator[Instants]:
    """Every interval from 2000 to 2015 as `next_interval` gives one after the other."""
    restriction = TimeRestriction(midnight("2000-01-01"), midnight("2015-12-31"))
    after: DataInterval | None = None
    while found := table.next_interval(after, restriction, as_of=midnight("2016-06-01")):
        after = found.interval
        yield after.start, after.end, found.run_after


def test_next_interval_schedules_what_airflow_schedules() -> None:
    """4,015 intervals of 16 years, each with its start, end and run-after, then no more."""
    expected = [(start, start + ONE_DAY, start + ONE_DAY) for start in scheduled_by_airflow()]
    assert len(expected) == 4015
    assert list(walk(TABLE)) == expected


def test_run_at_moves_the_run_and_no_interval() -> None:
    """With run_at 08:00 the same intervals run eight hours after their end."""
    expected = [
        (start, start + ONE_DAY, start + ONE_DAY + timedelta(hours=8))
        for start in scheduled_by_airflow()
    ]
    assert list(walk(WorkdayTimetable(US, "UTC", time(8)))) == expected


def test_run_on_workday_moves_the_run_to_the_next_workday() -> None:
    """With run_on workday the same intervals run at 08:00 of the date of the interval after."""
    starts = scheduled_by_airflow()
    later = [*starts[1:], midnight("2016-01-04")]  # 2016-01-01 is New Year's Day, a Friday
    expected = [
        (start, start + ONE_DAY, following + timedelta(hours=8))
        for start, following in zip(starts, later, strict=True)
    ]
    assert list(walk(WorkdayTimetable(US, "UTC", time(8), "workday"))) == expected


def inferred_by_airflow() -> list[tuple[datetime, DataInterval]]:
    """Instants 17 hours apart, each with the interval of a manual run at that instant."""
    starts = [
        midnight(row["start"])
        for row in rows("airflow_infer_manual.csv")
        for _ in range(int(row["instants"]))
    ]
    return [
        (FIRST_INSTANT + timedelta(hours=17 * index), DataInterval(start, start + ONE_DAY))  # type: ignore[arg-type]
        for index, start in enumerate(starts)
    ]


@pytest.mark.parametrize("run_at", [time(0), time(8)], ids=["midnight", "run-at-08"])
def test_infer_interval_is_what_airflow_infers(run_at: time) -> None:
    """1,548 manual runs of three years get the newest interval that is over, whatever run_at."""
    table = WorkdayTimetable(US, "UTC", run_at)
    expected = inferred_by_airflow()
    assert len(expected) == 1548
    assert [(instant, table.infer_interval(instant)) for instant, _ in expected] == expected


@pytest.mark.parametrize("row", rows("airflow_known_faults.csv"), ids=lambda row: row["name"])
def test_a_known_fault_of_airflow_is_not_copied(row: dict[str, str]) -> None:
    """Without catch-up no interval starts inside a day, and no missed day is scheduled."""
    after = TABLE.interval(date.fromisoformat(row["after"])) if row["after"] else None
    restriction = TimeRestriction(midnight(row["earliest"]), catchup=False)
    found = TABLE.next_interval(after, restriction, as_of=midnight(row["as_of"]))
    assert found is not None
    assert found.interval.start == midnight(row["expected"]), row["why"]
    assert found.interval.start != midnight(row["airflow"])
