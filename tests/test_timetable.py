"""Intervals and run-after; instants are checked against the public rules of the zones."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from typing import Any

import pendulum
import pytest

from workday_assets import (
    DataInterval,
    TimeRestriction,
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
)
from workday_assets.errors import ClosedDayError, InvalidInputError, OutOfBoundsError

XMAS = WorkdayCalendar.build(
    "XMAS",
    "2024-12-01",
    "2025-01-31",
    holidays={"2024-12-25": "Christmas Day", "2025-01-01": "New Year's Day"},
)
NEW_YORK = WorkdayTimetable(XMAS, "America/New_York")


def utc(instant: datetime) -> datetime:
    """In UTC: Python never calls a repeated wall time equal to an instant of another zone."""
    return instant.astimezone(UTC)


def every_day(first: str, last: str) -> WorkdayCalendar:
    """A calendar without closed days."""
    return WorkdayCalendar.build("DAILY", first, last, weekend=())


# Sources: tzdb 2023a (Egypt: DST back from 28 April 2023 00:00, ends 27 October 2023 00:00),
# 2022f (Mexico without DST), 2011 (Samoa skips 30 December), Brazil's decree 6558 (DST at 00:00).
WINDOWS = [
    ("Africa/Cairo", "2023-04-27", "2023-04-26T22:00Z", "2023-04-27T22:00Z"),
    ("Africa/Cairo", "2023-04-28", "2023-04-27T22:00Z", "2023-04-28T21:00Z"),
    ("Africa/Cairo", "2023-10-26", "2023-10-25T21:00Z", "2023-10-26T22:00Z"),
    ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00Z", "2018-11-05T02:00Z"),
    ("America/Havana", "2024-11-03", "2024-11-03T04:00Z", "2024-11-04T05:00Z"),
    ("America/Mexico_City", "2023-04-03", "2023-04-03T06:00Z", "2023-04-04T06:00Z"),
    ("Asia/Kolkata", "2024-01-19", "2024-01-18T18:30Z", "2024-01-19T18:30Z"),
    ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00Z", "2011-12-30T10:00Z"),
    ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00Z", "2011-12-31T10:00Z"),
    ("Europe/Berlin", "2024-03-31", "2024-03-30T23:00Z", "2024-03-31T22:00Z"),
]


@pytest.mark.parametrize(
    ("zone", "day", "start", "end"), WINDOWS, ids=[f"{w[0]}-{w[1]}" for w in WINDOWS]
)
def test_interval_is_from_first_instant_to_first_instant(
    zone: str, day: str, start: str, end: str
) -> None:
    """An interval spans its local date, also of 23 or 25 hours or without a midnight."""
    days = every_day("2010-01-01", "2026-12-31").with_closures({"2011-12-30": "skipped in Samoa"})
    table = WorkdayTimetable(days, zone)
    interval = table.interval(day)
    found = (utc(interval.start), utc(interval.end))
    assert found == (pendulum.parse(start), pendulum.parse(end))


@pytest.mark.parametrize("make", [WorkdayTimetable, WorkdayPartitionsDefinition])
def test_a_workday_that_the_zone_skipped_is_refused(make: Any) -> None:
    """Samoa had no 30 December 2011: a calendar with that workday is refused, with the cure."""
    with pytest.raises(InvalidInputError, match=r"skipped 2011-12-30.*with_closures"):
        make(every_day("2010-01-01", "2026-12-31"), "Pacific/Apia")
    make(every_day("2010-01-01", "2026-12-31").with_closures({"2011-12-30": "x"}), "Pacific/Apia")


RUN_AFTER = [
    ("2024-12-24", time(8), "calendar_day", "2024-12-25T13:00Z"),
    ("2024-12-24", time(8), "workday", "2024-12-26T13:00Z"),
    ("2024-12-27", time(0), "calendar_day", "2024-12-28T05:00Z"),
    ("2024-12-27", time(9, 30), "workday", "2024-12-30T14:30Z"),
]


@pytest.mark.parametrize(
    ("day", "run_at", "run_on", "expected"), RUN_AFTER, ids=[f"{r[0]}-{r[2]}" for r in RUN_AFTER]
)
def test_run_after(day: str, run_at: time, run_on: str, expected: str) -> None:
    """A run may start at run_at of the next calendar day, or of the next workday."""
    table = WorkdayTimetable(XMAS, "America/New_York", run_at, run_on)  # type: ignore[arg-type]
    assert utc(table.run_after(day)) == pendulum.parse(expected)


CLOCK_CHANGES = [
    ("2024-03-30", time(2, 30), "2024-03-31T01:00Z"),  # 02:30 is skipped: 03:00 summer time
    ("2024-10-26", time(2, 30), "2024-10-27T01:30Z"),  # 02:30 twice: the second, in winter time
    ("2024-10-26", time(0), "2024-10-26T22:00Z"),
]


@pytest.mark.parametrize(
    ("day", "run_at", "expected"), CLOCK_CHANGES, ids=["gap", "repeated", "midnight"]
)
def test_run_at_on_a_clock_change(day: str, run_at: time, expected: str) -> None:
    """A skipped run_at is the end of the gap, a repeated one its second occurrence."""
    table = WorkdayTimetable(every_day("2024-01-01", "2024-12-31"), "Europe/Berlin", run_at)
    assert utc(table.run_after(day)) == pendulum.parse(expected)


MANUAL = [
    ("2024-12-25T15:00", "2024-12-24"),
    ("2024-12-26T10:00", "2024-12-24"),
    ("2024-12-29T12:00", "2024-12-27"),
    ("2024-12-30T10:00", "2024-12-27"),
    ("2025-01-01T15:00", "2024-12-31"),
    ("2024-12-27T00:00", "2024-12-26"),
    ("2024-12-02T23:59", None),
]


@pytest.mark.parametrize(("instant", "expected"), MANUAL, ids=[m[0] for m in MANUAL])
def test_infer_interval_is_the_newest_workday_that_is_over(
    instant: str, expected: str | None
) -> None:
    """A manual run covers the newest workday whose interval has ended (airflow #30026, #23689)."""
    found = NEW_YORK.infer_interval(pendulum.parse(instant, tz="America/New_York"))  # type: ignore[arg-type]
    assert (found.day.isoformat() if found else None) == expected


def test_infer_interval_refuses_where_the_calendar_has_ended() -> None:
    """After the calendar's last date nobody knows the newest workday."""
    with pytest.raises(OutOfBoundsError, match="2025-01-31"):
        NEW_YORK.infer_interval(pendulum.datetime(2025, 2, 3, tz="America/New_York"))


def test_interval_in_progress() -> None:
    """Friday noon is in Friday's interval, Saturday in none."""
    friday = NEW_YORK.interval_in_progress(
        pendulum.datetime(2024, 12, 27, 12, tz="America/New_York")
    )
    saturday = NEW_YORK.interval_in_progress(
        pendulum.datetime(2024, 12, 28, 12, tz="America/New_York")
    )
    assert (friday, saturday) == (NEW_YORK.interval("2024-12-27"), None)


def at(text: str) -> datetime:
    """An instant in New York."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone("America/New_York"))


NEXT = [
    ("first", None, TimeRestriction(at("2024-12-03T00:00")), "2024-12-03"),
    ("midnight-only", None, TimeRestriction(at("2024-12-03T00:01")), "2024-12-04"),
    ("over-holiday", "2024-12-24", TimeRestriction(at("2024-12-02T00:00")), "2024-12-26"),
    ("over-weekend", "2024-12-27", TimeRestriction(at("2024-12-02T00:00")), "2024-12-30"),
    ("no-start", "2024-12-27", TimeRestriction(None), None),
    (
        "past-latest",
        "2024-12-27",
        TimeRestriction(at("2024-12-02T00:00"), at("2024-12-29T23:00")),
        None,
    ),
    (
        "latest-included",
        "2024-12-27",
        TimeRestriction(at("2024-12-02T00:00"), at("2024-12-30T00:00")),
        "2024-12-30",
    ),
    (
        "no-catchup-first",
        None,
        TimeRestriction(at("2024-12-02T00:00"), catchup=False),
        "2025-01-06",
    ),
    (
        "no-catchup-missed",
        "2024-12-20",
        TimeRestriction(at("2024-12-02T00:00"), catchup=False),
        "2025-01-03",
    ),
]


@pytest.mark.parametrize(
    ("after", "restriction", "expected"), [n[1:] for n in NEXT], ids=[n[0] for n in NEXT]
)
def test_next_interval(
    after: str | None, restriction: TimeRestriction, expected: str | None
) -> None:
    """The next interval, as of Monday 2025-01-06 noon."""
    previous = NEW_YORK.interval(after) if after else None
    found = NEW_YORK.next_interval(previous, restriction, as_of=at("2025-01-06T12:00"))
    assert (found.interval.day.isoformat() if found else None) == expected


START_BOUNDS = [(time(8), "06:00", "2024-12-03"), (time(8), "09:00", "2024-12-04")]


@pytest.mark.parametrize(
    ("run_at", "earliest", "expected"), START_BOUNDS, ids=["before-run-at", "after-run-at"]
)
def test_start_bound_is_compared_with_run_at(run_at: time, earliest: str, expected: str) -> None:
    """With run_at 08:00 an earliest of 06:00 keeps the day and 09:00 moves on."""
    table = WorkdayTimetable(XMAS, "America/New_York", run_at)
    found = table.next_interval(
        None, TimeRestriction(at(f"2024-12-03T{earliest}")), as_of=at("2025-01-06T12:00")
    )
    assert found is not None
    assert found.interval.day.isoformat() == expected


def test_summary_names_calendar_time_and_zone() -> None:
    """The summary reads as a clause."""
    table = WorkdayTimetable(XMAS, "Europe/Berlin", time(8))
    assert table.summary == "after each XMAS workday, at 08:00 Europe/Berlin"


def test_description_names_interval_run_time_and_bounds() -> None:
    """The description says what the summary leaves out."""
    table = WorkdayTimetable(XMAS, "Europe/Berlin", time(8), "workday")
    assert table.description == (
        "One data interval per workday of calendar XMAS, from the first instant of its date to that"
        " of the next date in Europe/Berlin; it may run on the workday after each XMAS workday, at"
        " 08:00 Europe/Berlin. The calendar covers 2024-12-01 to 2025-01-31, both included."
    )


def test_json_round_trip_gives_an_equal_timetable() -> None:
    """A timetable survives JSON, its calendar with days and reasons included."""
    table = WorkdayTimetable(XMAS, "Europe/Berlin", time(8), "workday")
    again = WorkdayTimetable.from_dict(json.loads(json.dumps(table.to_dict())))
    assert again == table
    assert again.calendar.describe(date(2024, 12, 25)) == "Christmas Day"


BAD = [
    ("missing", {"timezone": ""}, "timezone=''"),
    ("unknown", {"timezone": "Europe/Frankfurt"}, "Europe/Frankfurt"),
    ("run-on", {"timezone": "UTC", "run_on": "weekday"}, "calendar_day"),
    ("aware-run-at", {"timezone": "UTC", "run_at": time(8, tzinfo=UTC)}, "without one"),
]


@pytest.mark.parametrize(("fields", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_fields_are_refused_with_the_cure(fields: dict[str, object], message: str) -> None:
    """A missing or unknown zone, another run_on and an aware run_at are one clear sentence."""
    with pytest.raises(InvalidInputError, match=message):
        WorkdayTimetable(XMAS, **fields)  # type: ignore[arg-type]


def test_naive_instant_is_refused() -> None:
    """An instant without a zone is never guessed."""
    with pytest.raises(InvalidInputError, match="has no zone"):
        NEW_YORK.infer_interval(datetime(2024, 12, 25, 15))  # noqa: DTZ001 - the fault under test


def test_closed_day_has_no_interval() -> None:
    """A closed day is refused with its reason and both neighbours."""
    with pytest.raises(ClosedDayError) as caught:
        NEW_YORK.interval("2024-12-25")
    error = caught.value
    assert (error.reason, error.previous, error.next) == (
        "Christmas Day",
        date(2024, 12, 24),
        date(2024, 12, 26),
    )


def test_interval_knows_its_day() -> None:
    """The logical date is the local date of the start."""
    start = pendulum.datetime(2024, 12, 24, tz="America/New_York")
    assert DataInterval(start, start.add(days=1)).day == date(2024, 12, 24)
