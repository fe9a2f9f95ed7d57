"""What is due and why; calendars and answers are written by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pendulum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workday_assets import CatchupPolicy, WorkdayCalendar, WorkdayTimetable, plan_intervals
from workday_assets.errors import InvalidInputError, OutOfBoundsError

XMAS = WorkdayCalendar.build(
    "XMAS",
    "2024-12-01",
    "2025-01-31",
    holidays={"2024-12-25": "Christmas Day", "2025-01-01": "New Year's Day"},
)
TABLE = WorkdayTimetable(XMAS, "America/New_York")


def at(text: str) -> datetime:
    """An instant in New York."""
    return datetime.fromisoformat(text).replace(tzinfo=pendulum.timezone("America/New_York"))


def days(*texts: str) -> list[date]:
    """Dates from ISO strings."""
    return [date.fromisoformat(text) for text in texts]


def verdicts(**arguments: Any) -> dict[str, str]:
    """Day to verdict, as of Monday 2024-12-30 noon, from Monday 2024-12-23 on."""
    arguments = {"as_of": at("2024-12-30T12:00"), "start": "2024-12-23", **arguments}
    plan = plan_intervals(TABLE, **arguments)
    return {decision.day.isoformat(): decision.verdict for decision in plan.decisions}


def test_every_date_gets_a_verdict_closed_days_included() -> None:
    """Nothing done yet: workdays that are over are due, today waits, the rest is closed."""
    assert verdicts() == {
        "2024-12-23": "due",
        "2024-12-24": "due",
        "2024-12-25": "closed",
        "2024-12-26": "due",
        "2024-12-27": "due",
        "2024-12-28": "closed",
        "2024-12-29": "closed",
        "2024-12-30": "waiting",
    }


def test_the_first_matching_verdict_wins() -> None:
    """Closed, waiting, in flight, done, failed, skipped, not ready and due, in that order."""
    found = verdicts(
        start="2024-12-19",
        in_flight=set(days("2024-12-25", "2024-12-30", "2024-12-27")),
        done=set(days("2024-12-27", "2024-12-26", "2024-12-25")),
        failed=dict.fromkeys(days("2024-12-27", "2024-12-26", "2024-12-24"), 1),
        policy=CatchupPolicy.last(5),
        ready=lambda day: "not published" if day <= date(2024, 12, 23) else True,
    )
    assert found == {
        "2024-12-19": "skipped",
        "2024-12-20": "not_ready",
        "2024-12-21": "closed",
        "2024-12-22": "closed",
        "2024-12-23": "not_ready",
        "2024-12-24": "failed",
        "2024-12-25": "closed",
        "2024-12-26": "done",
        "2024-12-27": "in_flight",
        "2024-12-28": "closed",
        "2024-12-29": "closed",
        "2024-12-30": "waiting",
    }


def test_a_failed_day_is_always_due_where_retries_are_not_counted() -> None:
    """`retry_failed=None` asks for a day however often it failed, and says which attempt did."""
    plan = plan_intervals(
        TABLE,
        as_of=at("2024-12-30T12:00"),
        start="2024-12-26",
        end="2024-12-27",
        failed={date(2024, 12, 26): 1_000_000},
        retry_failed=None,
    )
    assert [(d.verdict, d.reason) for d in plan.decisions] == [
        ("due", "it is complete, and attempt 1000000 failed"),
        ("due", "it is complete and not done"),
    ]


MISSED = [
    ("weekend", "2024-12-27T12:00", "2024-12-30T12:00", ["2024-12-27"]),
    (
        "new-year",
        "2024-12-23T12:00",
        "2025-01-02T12:00",
        ["2024-12-23", "2024-12-24", "2024-12-26", "2024-12-27", "2024-12-30", "2024-12-31"],
    ),
]


@pytest.mark.parametrize(
    ("down_since", "now", "expected"), [m[1:] for m in MISSED], ids=[m[0] for m in MISSED]
)
def test_an_outage_loses_nothing(down_since: str, now: str, expected: list[str]) -> None:
    """Every workday that ended during the outage is due (dagster #10335), oldest first."""
    plan = plan_intervals(TABLE, as_of=at(now), policy=CatchupPolicy.none(at(down_since)))
    assert plan.due == days(*expected)


def test_a_limit_counts_workdays_and_reports_what_it_drops() -> None:
    """The newest five of six missed workdays are due, the sixth is skipped with a reason."""
    plan = plan_intervals(
        TABLE,
        as_of=at("2025-01-02T12:00"),
        start="2024-12-23",
        policy=CatchupPolicy.last(5),
    )
    assert plan.due == days("2024-12-24", "2024-12-26", "2024-12-27", "2024-12-30", "2024-12-31")
    assert [(d.day, d.reason) for d in plan.of("skipped")] == [
        (
            date(2024, 12, 23),
            "only the newest 5 workdays are made up, from 2024-12-24 on",
        )
    ]


def test_all_with_a_limit_asks_for_the_oldest_first() -> None:
    """A limit per call postpones newer days; days that are not ready do not use it up."""
    plan = plan_intervals(
        TABLE,
        as_of=at("2025-01-02T12:00"),
        start="2024-12-23",
        policy=CatchupPolicy.all(limit=2),
        ready=lambda day: day != date(2024, 12, 23) or "not published",
    )
    assert plan.due == days("2024-12-24", "2024-12-26")
    assert [d.day for d in plan.of("skipped")] == days("2024-12-27", "2024-12-30", "2024-12-31")


def test_newest_first_changes_the_limit_and_not_the_order_of_the_plan() -> None:
    """A limit then keeps the newest days; the plan still lists days oldest first."""
    plan = plan_intervals(
        TABLE,
        as_of=at("2025-01-02T12:00"),
        start="2024-12-23",
        policy=CatchupPolicy.all(limit=2, newest_first=True),
    )
    assert plan.due == days("2024-12-30", "2024-12-31")
    assert [d.day for d in plan.decisions] == sorted(d.day for d in plan.decisions)


def test_latest_asks_for_the_newest_complete_workday() -> None:
    """On a holiday the newest complete workday is the one before it."""
    plan = plan_intervals(TABLE, as_of=at("2024-12-25T12:00"), policy=CatchupPolicy.latest())
    assert plan.due == days("2024-12-24")


def test_end_is_the_end_of_the_plan() -> None:
    """Past an archive's last date nothing is due, and policies count inside it."""
    plan = plan_intervals(
        TABLE, as_of=at("2025-01-31T12:00"), end="2024-12-26", policy=CatchupPolicy.last(2)
    )
    assert plan.due == days("2024-12-24", "2024-12-26")
    assert plan.decisions[-1].day == date(2024, 12, 26)


def test_failed_days_are_retried_as_often_as_allowed() -> None:
    """Failed attempts up to retry_failed are due again, more are left failed."""
    failed = dict(zip(days("2024-12-23", "2024-12-24", "2024-12-26"), (1, 2, 3), strict=True))
    plan = plan_intervals(
        TABLE, as_of=at("2024-12-27T12:00"), start="2024-12-23", failed=failed, retry_failed=2
    )
    assert plan.due == days("2024-12-23", "2024-12-24")
    assert [(d.day, d.attempts) for d in plan.of("failed")] == [(date(2024, 12, 26), 3)]


def test_run_after_holds_a_complete_day_back() -> None:
    """With run_at 08:00 the day before waits at 07:59 and is due at 08:00."""
    table = WorkdayTimetable(XMAS, "America/New_York", time(8))
    early = plan_intervals(table, as_of=at("2024-12-27T07:59"), start="2024-12-26")
    late = plan_intervals(table, as_of=at("2024-12-27T08:00"), start="2024-12-26")
    assert (early.due, late.due) == ([], days("2024-12-26"))
    assert early.decisions[0].reason == "it may run from 2024-12-27 08:00 America/New_York"


def test_a_closed_day_says_its_reason() -> None:
    """The reason of a closed day comes from the calendar."""
    plan = plan_intervals(TABLE, as_of=at("2024-12-26T12:00"), start="2024-12-25", end="2024-12-25")
    assert [(d.verdict, d.reason) for d in plan.decisions] == [
        ("closed", "2024-12-25 is Christmas Day in XMAS")
    ]


def test_past_the_calendar_nothing_is_planned_and_nothing_raises() -> None:
    """A calendar that has ended still plans its own days."""
    plan = plan_intervals(TABLE, as_of=at("2025-03-01T12:00"), policy=CatchupPolicy.last(2))
    assert plan.due == days("2025-01-30", "2025-01-31")


def test_the_day_before_the_unknown_waits_when_it_needs_the_next_workday() -> None:
    """With run_on workday the last day's run-after is beyond the calendar: it waits, saying so."""
    table = WorkdayTimetable(XMAS, "America/New_York", time(8), "workday")
    last = plan_intervals(table, as_of=at("2025-02-10T12:00"), start="2025-01-31").decisions[0]
    assert (last.verdict, last.run_after, last.reason) == (
        "waiting",
        None,
        "calendar XMAS ends 2025-01-31, before its run-after",
    )


REASONS = {
    "closed": "2024-12-21 is weekend in XMAS",
    "waiting": "it may run from 2024-12-31 00:00 America/New_York",
    "in_flight": "a run of it has not ended",
    "done": "it is materialized",
    "failed": "it failed 3 times, and 2 retries are allowed",
    "skipped": "only the newest 6 workdays are made up, from 2024-12-19 on",
    "not_ready": "not published",
    "due": "it is complete, and attempt 1 of 3 failed",
}


def test_each_verdict_says_why() -> None:
    """One date per verdict, each with a reason that reads as a clause."""
    plan = plan_intervals(
        TABLE,
        as_of=at("2024-12-30T12:00"),
        start="2024-12-18",
        done=set(days("2024-12-19")),
        in_flight=set(days("2024-12-20")),
        failed=dict(zip(days("2024-12-23", "2024-12-24"), (3, 1), strict=True)),
        policy=CatchupPolicy.last(6),
        retry_failed=2,
        ready=lambda day: "not published" if day == date(2024, 12, 26) else True,
    )
    assert {verdict: plan.of(verdict)[0].reason for verdict in REASONS} == REASONS


BAD = [
    ("naive", {"as_of": datetime(2024, 12, 26)}, InvalidInputError, "has no zone"),  # noqa: DTZ001
    ("reversed", {"start": "2024-12-26", "end": "2024-12-24"}, InvalidInputError, "is before"),
    ("retry", {"retry_failed": -1}, InvalidInputError, "negative"),
    ("start", {"start": "2024-11-01"}, OutOfBoundsError, "start=2024-11-01"),
    ("end", {"end": "2025-02-01"}, OutOfBoundsError, "end=2025-02-01"),
]


@pytest.mark.parametrize(
    ("arguments", "error", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    """A naive now, a reversed range, a negative retry and days beyond the bounds are refused."""
    with pytest.raises(error, match=message):
        plan_intervals(TABLE, **({"as_of": at("2024-12-26T12:00")} | arguments))


@pytest.mark.parametrize("number", [0, -1])
def test_a_policy_of_no_day_is_refused(number: int) -> None:
    """Asking for no workday at all is a mistake."""
    with pytest.raises(InvalidInputError, match="no workday at all"):
        CatchupPolicy.last(number)


DATES = st.dates(date(2024, 12, 1), date(2025, 1, 31))


@settings(max_examples=60, deadline=None)
@given(
    hours=st.integers(0, 24 * 62),
    done=st.frozensets(DATES),
    in_flight=st.frozensets(DATES),
    failed=st.dictionaries(DATES, st.integers(1, 3)),
    newest=st.one_of(st.none(), st.integers(1, 40)),
    limit=st.one_of(st.none(), st.integers(1, 40)),
    retry=st.integers(0, 3),
)
def test_no_complete_workday_vanishes(
    hours: int,
    done: frozenset[date],
    in_flight: frozenset[date],
    failed: dict[date, int],
    newest: int | None,
    limit: int | None,
    retry: int,
) -> None:
    """The law: one decision per date, and every complete workday is accounted for."""
    as_of = datetime(2024, 12, 2, 5, tzinfo=UTC) + timedelta(hours=hours)
    plan = plan_intervals(
        TABLE,
        as_of=as_of,
        done=done,
        in_flight=in_flight,
        failed=failed,
        policy=CatchupPolicy(newest=newest, limit=limit),
        retry_failed=retry,
    )
    dates = [decision.day for decision in plan.decisions]
    assert dates == [date(2024, 12, 1) + timedelta(days=n) for n in range(len(dates))]
    for decision in plan.decisions:
        complete = XMAS.is_workday(decision.day) and TABLE.interval(decision.day).end <= as_of
        accounted = {"in_flight", "done", "failed", "skipped", "not_ready", "due"}
        assert (decision.verdict in accounted) == complete
        if decision.verdict == "due":
            assert decision.day not in done | in_flight
