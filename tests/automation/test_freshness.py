"""Freshness: which workday is due when, replayed by the hour, and checks in a real instance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from support.ticks import ZONE, execute, tick

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    build_workday_freshness_checks,
    build_workday_freshness_sensor,
)
from workday_assets.automation.deadlines import Deadlines, judge
from workday_assets.errors import ClosedDayError, InvalidInputError

XECB = WorkdayCalendar.named("XECB")
XNYS = WorkdayCalendar.named("XNYS")
NINE = Deadlines(XECB, ZONE, time(9))

#: The TARGET holidays of two years, from the ECB's published lists.
HOLIDAYS = {
    date.fromisoformat(day)
    for day in (
        *("2024-01-01", "2024-03-29", "2024-04-01", "2024-05-01", "2024-12-25", "2024-12-26"),
        *("2025-01-01", "2025-04-18", "2025-04-21", "2025-05-01", "2025-12-25", "2025-12-26"),
        *("2023-12-25", "2023-12-26", "2026-01-01"),
    )
}
#: Workdays that come late, when they come, and while what hours the check must be red (UTC).
DELAYS = [
    # New Year: Friday's is due on Tuesday.
    ("2023-12-29", "2024-01-02T11:30+01:00", "2024-01-02T08:00", "2024-01-02T10:30"),
    # Easter, with the clock change of 31 March in between: Thursday's is due on Tuesday.
    ("2024-03-28", "2024-04-02T11:00+02:00", "2024-04-02T07:00", "2024-04-02T09:00"),
    ("2024-04-30", "2024-05-02T09:10+02:00", "2024-05-02T07:00", "2024-05-02T07:10"),
    # The clock change of 27 October: Friday's is due on Monday, an hour later in UTC.
    ("2024-10-25", "2024-10-28T23:59+01:00", "2024-10-28T08:00", "2024-10-28T22:59"),
    ("2024-12-24", "2024-12-27T16:00+01:00", "2024-12-27T08:00", "2024-12-27T15:00"),
    ("2025-03-28", "2025-03-31T10:00+02:00", "2025-03-31T07:00", "2025-03-31T08:00"),
    # Friday's comes on Wednesday, but on Tuesday Monday's is due, and there.
    ("2025-06-13", "2025-06-18T12:00+02:00", "2025-06-16T07:00", "2025-06-17T07:00"),
    # Two in a row: red over the weekend too, and no new alarm on it.
    ("2025-09-11", "2025-09-16T12:00+02:00", "2025-09-12T07:00", "2025-09-15T07:00"),
    ("2025-09-12", "2025-09-16T12:00+02:00", "2025-09-15T07:00", "2025-09-16T07:00"),
    # Over Christmas.
    ("2025-12-23", "2025-12-29T08:30+01:00", "2025-12-24T08:00", "2025-12-29T07:30"),
    ("2025-12-24", "2025-12-29T08:30+01:00", "2025-12-29T08:00", "2025-12-29T08:00"),
]
HOURS = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(17_544)]


def workdays(first: date, last: date) -> list[date]:
    """The TARGET days, by counting."""
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [day for day in days if day.weekday() < 5 and day not in HOLIDAYS]


def red_hours(arrivals: dict[date, datetime]) -> set[datetime]:
    """The hours at which the check fails; a day comes five minutes after its end, or as given."""
    ended = {
        day: datetime.combine(day + timedelta(days=1), time(0, 5), tzinfo=ZoneInfo(ZONE))
        for day in workdays(date(2023, 12, 1), date(2025, 12, 31))
    }
    coming = sorted((at, day) for day, at in {**ended, **arrivals}.items())
    made: set[date] = set()
    red = set()
    for hour in HOURS:
        while coming and coming[0][0] <= hour:
            made.add(coming.pop(0)[1])
        if not judge(NINE, made, hour).passed:
            red.add(hour)
    return red


def test_two_years_by_the_hour() -> None:
    """No hour is red but those in which an injected delay is, and of these each one."""
    arrivals = {date.fromisoformat(day): datetime.fromisoformat(at) for day, at, _, _ in DELAYS}
    windows = [(f"{start}+00:00", f"{end}+00:00") for _, _, start, end in DELAYS]
    expected = {
        hour
        for start, end in windows
        for hour in HOURS
        if datetime.fromisoformat(start) <= hour < datetime.fromisoformat(end)
    }
    assert len(expected) == 3 + 2 + 1 + 15 + 7 + 1 + 24 + 72 + 24 + 120
    assert red_hours(arrivals) == expected


def test_random_delays_by_the_hour() -> None:
    """A hundred delays of up to a week, against counting on plain lists of days."""
    days = workdays(date(2023, 12, 1), date(2026, 1, 15))
    due = [
        datetime.combine(following, time(9), tzinfo=ZoneInfo(ZONE)).astimezone(UTC)
        for following in days[1:]
    ]
    drawn = random.Random(20260101)  # noqa: S311 - a fixed example
    late = drawn.sample([day for day in days if day <= date(2025, 12, 31)], 100)
    arrivals = {
        day: datetime.combine(day, time(0), tzinfo=UTC)
        + timedelta(days=1, minutes=drawn.randrange(10_080))
        for day in late
    }
    expected, newest = set(), -1
    for hour in HOURS:
        while due[newest + 1] <= hour:
            newest += 1
        if days[newest] in arrivals and arrivals[days[newest]] > hour:
            expected.add(hour)
    assert len(expected) > 1000
    assert red_hours(arrivals) == expected


@pytest.mark.parametrize(
    ("within", "day", "due"),
    [
        pytest.param(0, "2024-12-27", "2024-12-27T09:00+01:00", id="the-day-itself"),
        pytest.param(1, "2024-12-27", "2024-12-30T09:00+01:00", id="friday-on-monday"),
        pytest.param(1, "2024-12-24", "2024-12-27T09:00+01:00", id="after-christmas"),
        pytest.param(2, "2024-12-24", "2024-12-30T09:00+01:00", id="two-workdays"),
        pytest.param(1, "2024-03-28", "2024-04-02T09:00+02:00", id="summer-time"),
    ],
)
def test_due(within: int, day: str, due: str) -> None:
    """The deadline is on the n-th workday after the day, in local time."""
    deadlines = Deadlines(XECB, ZONE, time(9), within)
    assert deadlines.of(date.fromisoformat(day)) == datetime.fromisoformat(due)


@pytest.mark.parametrize(
    ("grace", "due"),
    [
        pytest.param(None, "2024-11-29T18:00-05:00", id="not-moved"),
        pytest.param(timedelta(hours=2), "2024-11-29T15:00-05:00", id="two-hours-after-13:00"),
        pytest.param(timedelta(hours=6), "2024-11-29T18:00-05:00", id="never-later"),
        pytest.param(timedelta(hours=20), "2024-11-29T18:00-05:00", id="past-midnight"),
    ],
)
def test_half_day_moves_the_deadline(grace: timedelta | None, due: str) -> None:
    """Wednesday is due on the Friday after Thanksgiving, when New York closes at 13:00."""
    deadlines = Deadlines(XNYS, "America/New_York", time(18), half_day_grace=grace)
    wednesday = date(2024, 11, 27)
    at = datetime.fromisoformat(due)
    assert deadlines.of(wednesday) == at
    before = deadlines.newest_due(at - timedelta(seconds=1))
    assert (before, deadlines.newest_due(at)) == (date(2024, 11, 26), wednesday)


@pytest.mark.parametrize(
    ("deadline", "due"),
    [
        pytest.param(time(2, 30), "2024-03-31T01:00+00:00", id="skipped"),
        pytest.param(time(3, 0), "2024-03-31T01:00+00:00", id="end-of-the-gap"),
    ],
)
def test_deadline_in_a_gap(deadline: time, due: str) -> None:
    """A deadline that the clock skips on 31 March is the instant of the jump."""
    sundays = XECB.with_extra_workdays({"2024-03-31": "test"})
    deadlines = Deadlines(sundays, ZONE, deadline)
    assert deadlines.of(date(2024, 3, 28)) == datetime.fromisoformat(due)


def test_closed_days_have_no_deadline() -> None:
    """Christmas Day is never due."""
    with pytest.raises(ClosedDayError, match="2024-12-25"):
        NINE.of(date(2024, 12, 25))


def at(text: str) -> datetime:
    """An instant in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE))


def test_texts() -> None:
    """The text names the day, its deadline and the next one, and a closed day as such."""
    monday = date(2024, 12, 23)
    red = judge(NINE, set(), at("2024-12-25T12:00"))
    assert red.text == (
        "2024-12-23 was due 2024-12-24 09:00 CET and is missing; 2024-12-24 is due 2024-12-27"
        " 09:00 CET. Today, 2024-12-25, is closed (Christmas Day)."
    )
    green = judge(NINE, {monday}, at("2024-12-24T09:00"))
    assert green.text == (
        "2024-12-23 was due 2024-12-24 09:00 CET and is there; 2024-12-24 is due 2024-12-27"
        " 09:00 CET."
    )
    assert (red.passed, green.passed) == (False, True)


def test_past_the_archive() -> None:
    """Once a day after the archive's end is due nothing is; its last day still was."""
    friday = date(2026, 10, 30)
    red = judge(NINE, set(), at("2026-11-02T09:00"), last_date=friday)
    assert red.text == (
        "2026-10-30 was due 2026-11-02 09:00 CET and is missing; no further deadline is known."
    )
    quiet = judge(NINE, set(), at("2026-11-03T09:00"), last_date=friday)
    assert (red.passed, quiet.passed) == (False, True)
    assert quiet.text == "The archive ends 2026-10-30; no later workday is due."


def test_before_the_first_day() -> None:
    """Nothing is due before the first partition's deadline."""
    first = date(2024, 5, 2)
    quiet = judge(NINE, set(), at("2024-05-03T08:59"), first_date=first)
    assert (quiet.passed, quiet.day) == (True, None)
    assert quiet.text == "Nothing is due yet; 2024-05-02 is due 2024-05-03 09:00 CEST."
    assert not judge(NINE, set(), at("2024-05-03T09:00"), first_date=first).passed


def test_past_the_calendar() -> None:
    """After the calendar's end its last day with a known deadline still counts."""
    short = Deadlines(XECB.between("2024-01-01", "2024-12-27"), ZONE, time(9))
    late = judge(short, set(), at("2025-01-15T12:00"))
    assert (late.passed, late.day) == (False, date(2024, 12, 24))
    assert late.text.endswith("no further deadline is known. Calendar XECB ended 2024-12-27.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"deadline": time(9, tzinfo=UTC)}, "carries a zone", id="aware"),
        pytest.param({"within_workdays": -1}, "within_workdays=-1", id="negative"),
        pytest.param({"within_workdays": True}, "within_workdays=True", id="bool"),
        pytest.param({"half_day_grace": timedelta(-1)}, "before the close", id="grace"),
    ],
)
def test_refused_options(options: dict[str, object], message: str) -> None:
    """What is no deadline is refused when the checks are built."""
    with pytest.raises(InvalidInputError, match=message):
        build_workday_freshness_checks([rates], **{"deadline": time(9), **options})  # type: ignore[arg-type]


def test_refused_asset() -> None:
    """An asset without workday partitions is refused by its name."""
    plain = dg.AssetSpec("plain", partitions_def=dg.DailyPartitionsDefinition("2024-01-01"))
    with pytest.raises(InvalidInputError, match="assets=plain is not partitioned by a Workday"):
        build_workday_freshness_checks([plain], deadline=time(9))


WORKDAYS = WorkdayPartitionsDefinition(XECB, ZONE, start="2026-01-02")


@dataclass
class Archive:
    """A source with an end, or none."""

    last_date: date | None = None


@dg.asset(partitions_def=WORKDAYS)
def rates() -> None:
    """A root."""


@dg.asset(partitions_def=WORKDAYS, deps=[rates])
def returns() -> None:
    """What is made of it."""


def project(archive: Archive) -> dg.Definitions:
    """Two assets with freshness checks and their sensor."""
    checks = build_workday_freshness_checks([rates, returns], deadline=time(9), source="source")
    return dg.Definitions(
        assets=[rates, returns, *checks],
        sensors=[build_workday_freshness_sensor("fresh", checks)],
        resources={"source": dg.ResourceDefinition.hardcoded_resource(archive)},
    )


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A real instance of its own."""
    with dg.instance_for_test() as found:
        yield found


def recorded(instance: dg.DagsterInstance, asset: str) -> list[tuple[bool, str]]:
    """The evaluations of an asset's check, oldest first: passed, and the partition that counts."""
    key = dg.AssetCheckKey(dg.AssetKey(asset), "workday_freshness")
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=100)
    found = []
    for record in reversed(history):
        event = record.event.dagster_event if record.event else None
        evaluation = event.event_specific_data if event else None
        if isinstance(evaluation, dg.AssetCheckEvaluation):  # and not a planned one
            found.append((evaluation.passed, str(evaluation.metadata["workday/partition"].value)))
    return found


def watch(defs: dg.Definitions, instance: dg.DagsterInstance, *instants: str) -> list[str]:
    """Tick at these instants, and record what the sensor gives, as the daemon does."""
    texts = []
    for instant in instants:
        data = tick(defs, "fresh", instance, instant)
        for event in data.asset_events:
            instance.report_runless_asset_event(event)
        texts.append(data.skip_message or "")
    return texts


def test_red_at_the_deadline_and_green_by_itself(instance: dg.DagsterInstance) -> None:
    """One evaluation per change: red at the deadline, green when the day itself is there."""
    defs = project(Archive())
    execute(defs, instance, ["rates", "returns"], "2026-01-08", at="2026-01-09T00:10")
    assert recorded(instance, "rates") == [(False, "2026-01-07")]  # by the run itself
    texts = watch(defs, instance, "2026-01-09T09:00", "2026-01-10T12:00", "2026-01-12T08:59")
    assert recorded(instance, "rates")[1:] == [(True, "2026-01-08")]
    assert all(text.startswith("All 2 fresh.") for text in texts)
    texts = watch(defs, instance, "2026-01-12T09:00", "2026-01-12T09:01", "2026-01-12T21:00")
    assert recorded(instance, "rates")[2:] == [(False, "2026-01-09")]
    assert texts[0] == (
        "2 of 2 late: rates, returns. 2026-01-09 was due 2026-01-12 09:00 CET and is missing;"
        " 2026-01-12 is due 2026-01-13 09:00 CET."
    )
    # An old day turns nothing green, not by its own run either.
    execute(defs, instance, ["rates"], "2026-01-05", at="2026-01-12T22:00")
    watch(defs, instance, "2026-01-12T22:01")
    assert recorded(instance, "rates")[3:] == [(False, "2026-01-09")]
    # The day itself does, in the run that makes it; the other asset's check by the sensor alone.
    instance.report_runless_asset_event(dg.AssetMaterialization("returns", partition="2026-01-09"))
    execute(defs, instance, ["rates"], "2026-01-09", at="2026-01-12T23:00")
    watch(defs, instance, "2026-01-12T23:01")
    assert recorded(instance, "rates")[4:] == [(True, "2026-01-09")]
    assert recorded(instance, "returns")[2:] == [(False, "2026-01-09"), (True, "2026-01-09")]


def test_quiet_past_the_archive(instance: dg.DagsterInstance) -> None:
    """The sensor says that the archive has ended, once, and nothing turns red."""
    defs = project(Archive(date(2026, 1, 9)))
    texts = watch(defs, instance, "2026-01-13T09:00", "2026-03-02T12:00")
    assert texts[1] == "All 2 fresh. The archive ends 2026-01-09; no later workday is due."
    assert recorded(instance, "rates") == [(True, "")]
