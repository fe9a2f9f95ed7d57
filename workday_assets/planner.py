"""What is due, and for every other day the reason; pure, total and without a clock.

The schedule, the sensor and the command line all call `plan_intervals`, so what is shown is
what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Self

from workday_assets.calendars.conventions import parse_date
from workday_assets.errors import InvalidInputError, OutOfBoundsError
from workday_assets.timetable import WorkdayTimetable, require_aware

if TYPE_CHECKING:
    import pendulum

Verdict = Literal["closed", "waiting", "in_flight", "done", "failed", "skipped", "not_ready", "due"]
#: The reason of a due day about which there is nothing more to say.
NOT_DONE = "it is complete and not done"
Ready = Callable[[date], bool | str]


@dataclass(frozen=True, slots=True)
class CatchupPolicy:
    """Which missed workdays are made up; numbers count workdays, never ticks or hours.

    Where periods are planned, read "period" for "workday".

    Use the constructors `all`, `last`, `latest` and `none`.

    Attributes:
        newest: keep only so many of the newest complete workdays; `None` keeps all.
        limit: ask for at most so many workdays per call; `None` means no limit.
        since: keep only workdays that complete after this instant; `None` keeps all.
        newest_first: whether a limit, and the requests, begin with the newest day.
    """

    newest: int | None = None
    limit: int | None = None
    since: datetime | None = None
    newest_first: bool = False

    def __post_init__(self) -> None:
        for parameter in ("newest", "limit"):
            value = getattr(self, parameter)
            if value is not None and (isinstance(value, bool) or value < 1):
                raise InvalidInputError(
                    f"{parameter}={value!r} asks for no workday at all; give 1 or more, or switch"
                    " the schedule or sensor off."
                )
        if self.since is not None:
            require_aware(self.since, "since")

    @classmethod
    def all(cls, limit: int | None = None, *, newest_first: bool = False) -> Self:
        """Everything missed, oldest first unless asked otherwise, at most `limit` per call."""
        return cls(limit=limit, newest_first=newest_first)

    @classmethod
    def last(cls, n: int) -> Self:
        """The newest `n` complete workdays."""
        return cls(newest=n)

    @classmethod
    def latest(cls) -> Self:
        """The newest complete workday."""
        return cls.last(1)

    @classmethod
    def none(cls, since: datetime) -> Self:
        """Only workdays that complete after `since`."""
        return cls(since=since)

    def describe(self, unit: str = "workday") -> str:
        """What is made up, as a noun phrase, for example ``the newest 5 workdays``."""
        if self.since is not None:
            return f"only {unit}s that end after {self.since:%Y-%m-%d %H:%M %Z}"
        what = f"the newest {self.newest} {unit}s" if self.newest else f"every missed {unit}"
        what = f"the newest {unit}" if self.newest == 1 else what
        return f"{what}, at most {self.limit} at a time" if self.limit else what


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one date.

    Attributes:
        day: the local date.
        verdict: the first that matches of closed, waiting, in_flight, done, failed, skipped,
            not_ready and due.
        reason: why, as a clause that can stand alone.
        run_after: earliest instant of its run; `None` on a closed day, and where the calendar
            ends before it.
        attempts: runs of this day that failed.
    """

    day: date
    verdict: Verdict
    reason: str
    run_after: pendulum.DateTime | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions for every date looked at, closed days included, oldest first."""

    decisions: list[Decision]

    @property
    def due(self) -> list[date]:
        """The days to request, oldest first."""
        return [d.day for d in self.decisions if d.verdict == "due"]

    def of(self, *verdicts: Verdict) -> list[Decision]:
        """The decisions with one of `verdicts`, oldest first."""
        return [d for d in self.decisions if d.verdict in verdicts]


def plan_intervals(
    timetable: WorkdayTimetable,
    *,
    as_of: datetime,
    start: date | str | None = None,
    end: date | str | None = None,
    done: Set[date] = frozenset(),
    in_flight: Set[date] = frozenset(),
    failed: Mapping[date, int] = {},
    policy: CatchupPolicy = CatchupPolicy.all(),  # noqa: B008 - a frozen value
    retry_failed: int | None = 0,
    ready: Ready | None = None,
) -> Plan:
    """Decide for one asset which workdays to request at `as_of`, and explain every other date.

    Every complete workday ends up `done`, `in_flight`, `failed`, `skipped`, `not_ready` or
    `due`; none is left out.

    Args:
        timetable: the workdays and when each may run.
        as_of: "now", aware.
        start: first date looked at, included; by default the calendar's first date.
        end: last date looked at, included; by default the local date of `as_of`. An archive's
            last date belongs here: nothing later is due or waiting.
        done: days that are materialized.
        in_flight: days with a run that has not ended.
        failed: days whose last run failed, with their number of failed attempts.
        policy: which missed days are made up, counted inside start and end.
        retry_failed: a failed day is due again while its attempts are at most this; `None` means
            always.
        ready: answers True, or the reason to wait, for a day that would otherwise be due.

    Raises:
        InvalidInputError: `as_of` is naive, `end` is before `start`, `retry_failed` is negative.
        OutOfBoundsError: `start` or a given `end` lies outside the calendar's bounds.
    """
    require_aware(as_of, "as_of")
    if retry_failed is not None and retry_failed < 0:
        raise InvalidInputError(f"retry_failed={retry_failed} is negative; give 0 or more.")
    first, last = _range(timetable, as_of, start, end)
    kept_from = oldest_kept(timetable, as_of, first, last, policy)
    decisions: list[Decision] = []
    requested = 0
    ordinals = range(first.toordinal(), last.toordinal() + 1)
    for ordinal in reversed(ordinals) if policy.newest_first else ordinals:
        day = date.fromordinal(ordinal)
        if not timetable.calendar.is_workday(day):
            reason = f"{day} is {timetable.calendar.describe(day)} in {timetable.calendar.name}"
            decisions.append(Decision(day, "closed", reason, None, 0))
            continue
        run_after = run_after_of(timetable, day)
        attempts = failed.get(day, 0)
        verdict, reason = verdict_of(
            timetable, day, run_after, as_of, in_flight, done, attempts, retry_failed
        )
        if verdict == "due" and day < kept_from:
            verdict, reason = "skipped", why_skipped(policy, kept_from)
        if verdict == "due" and policy.limit is not None and requested >= policy.limit:
            verdict, reason = "skipped", f"beyond the limit of {policy.limit} per call, next call"
        if verdict == "due" and ready is not None and (answer := ready(day)) is not True:
            verdict, reason = "not_ready", answer or "its data are not there yet"
        requested += verdict == "due"
        decisions.append(Decision(day, verdict, reason, run_after, attempts))
    return Plan(decisions[::-1] if policy.newest_first else decisions)


def _range(
    timetable: WorkdayTimetable,
    as_of: datetime,
    start: date | str | None,
    end: date | str | None,
) -> tuple[date, date]:
    calendar = timetable.calendar
    first = calendar.first_date if start is None else parse_date(start, "start")
    last = min(timetable.local_date(as_of), calendar.last_date)
    if end is not None:
        last = parse_date(end, "end")
        if last < first:
            raise InvalidInputError(
                f"end={last} is before start={first}; give the earlier date as start."
            )
    for parameter, given, day in (("start", start, first), ("end", end, last)):
        if given is not None and not calendar.first_date <= day <= calendar.last_date:
            raise OutOfBoundsError(
                parameter, day, calendar.name, calendar.first_date, calendar.last_date
            )
    return first, last


def oldest_kept(
    timetable: WorkdayTimetable, as_of: datetime, first: date, last: date, policy: CatchupPolicy
) -> date:
    """The oldest date that `policy` keeps of those from `first` to `last`, both included."""
    kept = first
    if policy.newest is not None:
        complete = timetable.last_complete(as_of)
        if complete is not None and min(last, complete) >= first:
            days = timetable.calendar.workdays(first, min(last, complete) + timedelta(days=1))
            kept = days[-min(policy.newest, len(days))] if len(days) else first
    if policy.since is not None:
        # The interval of the local date of `since` is the first that ends after it.
        kept = max(kept, timetable.local_date(policy.since))
    return kept


def run_after_of(timetable: WorkdayTimetable, day: date) -> pendulum.DateTime | None:
    """When a workday may run; `None` where the calendar ends before that."""
    try:
        return timetable.run_after(day)
    except OutOfBoundsError:
        return None


def verdict_of(
    timetable: WorkdayTimetable,
    day: date,
    run_after: pendulum.DateTime | None,
    as_of: datetime,
    in_flight: Set[date],
    done: Set[date],
    attempts: int,
    retry_failed: int | None,
) -> tuple[Verdict, str]:
    """The verdict, before policy and readiness, on a workday or the period that begins with `day`.

    Args: as of `plan_intervals`; `attempts` of this day, `run_after` of its last workday.
    """
    if run_after is None:
        last = timetable.calendar.last_date
        return "waiting", f"calendar {timetable.calendar.name} ends {last}, before its run-after"
    if run_after > as_of:
        return "waiting", f"it may run from {run_after:%Y-%m-%d %H:%M} {timetable.timezone}"
    if day in in_flight:
        return "in_flight", "a run of it has not ended"
    if day in done:
        return "done", "it is materialized"
    if retry_failed is not None and attempts > retry_failed:
        times = "once" if attempts == 1 else f"{attempts} times"
        return "failed", f"it failed {times}, and {retry_failed} retries are allowed"
    if attempts:
        allowed = "" if retry_failed is None else f" of {retry_failed + 1}"
        return "due", f"it is complete, and attempt {attempts}{allowed} failed"
    return "due", NOT_DONE


def why_skipped(policy: CatchupPolicy, kept_from: date, unit: str = "workday") -> str:
    """Why a day before `kept_from` is left out, as a clause."""
    if policy.since is not None:
        return f"it completed before {policy.since:%Y-%m-%d %H:%M %Z}, catch-up is off"
    are = "is" if policy.newest == 1 else "are"
    return f"only {policy.describe(unit)} {are} made up, from {kept_from} on"
