"""By when each workday has to be there, and whether it is; pure, "now" is an argument."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from workday_assets.errors import InvalidInputError, OutOfBoundsError
from workday_assets.timetable import local_instant, require_aware, require_zone

if TYPE_CHECKING:
    import pendulum

    from workday_assets.calendars import WorkdayCalendar


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Every workday is due at `deadline` on the `within_workdays`-th workday after it.

    A deadline never falls on a closed day. One that a clock change skips is the end of the gap,
    one that occurs twice the second occurrence, as in `WorkdayTimetable.run_after`.

    Attributes:
        calendar: the workdays.
        timezone: IANA name of the zone of dates and times.
        deadline: local time of day, without a zone.
        within_workdays: 1 is the next workday (Friday's is due on Monday), 0 the day itself.
        half_day_grace: where the deadline would fall on a half day, it is so long after the day's
            early close if that is earlier; `None` leaves it.

    Raises:
        InvalidInputError: an unknown zone, an aware `deadline`, a negative number.
    """

    calendar: WorkdayCalendar
    timezone: str
    deadline: time
    within_workdays: int = 1
    half_day_grace: timedelta | None = None

    def __post_init__(self) -> None:
        require_zone(self.timezone)
        if self.deadline.tzinfo is not None:
            raise InvalidInputError(
                f"deadline={self.deadline!r} carries a zone; give a local time without one, the"
                f" zone is the partitions', {self.timezone}."
            )
        if isinstance(self.within_workdays, bool) or self.within_workdays < 0:
            raise InvalidInputError(
                f"within_workdays={self.within_workdays!r} is no number of workdays; give 0 or more"
                " (1 is the next workday)."
            )
        if self.half_day_grace is not None and self.half_day_grace < timedelta(0):
            raise InvalidInputError(
                f"half_day_grace={self.half_day_grace} is before the close; give zero or more."
            )

    def of(self, day: date) -> pendulum.DateTime | None:
        """When the workday `day` is due; `None` where the calendar ends before.

        Raises:
            ClosedDayError: `day` is closed, and nothing of it is ever due.
        """
        self.calendar.roll(day, "raise")
        try:
            return self._instant(self.calendar.offset(day, self.within_workdays))
        except OutOfBoundsError:
            return None

    def newest_due(self, as_of: datetime) -> date | None:
        """The newest workday whose deadline is at or before `as_of`; `None` before the first."""
        try:
            due_on = self.calendar.roll(
                min(self.local_date(as_of), self.calendar.last_date), "preceding"
            )
            if self._instant(due_on) > as_of:
                due_on = self.calendar.previous(due_on)
            return self.calendar.offset(due_on, -self.within_workdays)
        except OutOfBoundsError:
            return None

    def local_date(self, as_of: datetime) -> date:
        """The date of an aware instant in the zone."""
        require_aware(as_of, "as_of")
        return as_of.astimezone(require_zone(self.timezone)).date()

    def _instant(self, due_on: date) -> pendulum.DateTime:
        at = self.deadline
        closes = self.calendar.half_days.get(due_on)
        if closes is not None and self.half_day_grace is not None:
            moved = datetime.combine(due_on, closes) + self.half_day_grace
            at = min(at, moved.time()) if moved.date() == due_on else at
        return local_instant(due_on, at, self.timezone)


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether the newest workday that is due is there.

    Attributes:
        passed: False when it is missing.
        day: that workday; `None` where nothing is due.
        deadline: when it was due.
        next_deadline: when the answer can change for the worse; `None` where that is not known.
        text: one or two sentences for people.
    """

    passed: bool
    day: date | None
    deadline: pendulum.DateTime | None
    next_deadline: pendulum.DateTime | None
    text: str


def judge(
    deadlines: Deadlines,
    made: Container[date],
    as_of: datetime,
    *,
    first_date: date | None = None,
    last_date: date | None = None,
    ends: str = "The archive ends",
) -> Freshness:
    """Whether the newest workday whose deadline has passed is there; only that day counts.

    An alarm begins at a deadline, hence on a workday, and lasts over closed days until the day is
    there or the next one is due and there.

    Args:
        deadlines: when each workday is due.
        made: the workdays that are materialized.
        as_of: "now", aware.
        first_date: nothing before this date is ever due.
        last_date: the last date that an archive can give: nothing is due any more once a later
            workday would be. `None` for a live source.
        ends: says of what `last_date` is the end, for example ``The archive ends``.
    """
    day = deadlines.newest_due(as_of)
    if last_date is not None and day is not None and day > last_date:
        text = f"{ends} {last_date}; no later workday is due."
        return Freshness(True, None, None, None, text)
    following = _following(deadlines, day, first_date)
    if last_date is not None and following is not None and following > last_date:
        following = None
    next_deadline = deadlines.of(following) if following is not None else None
    coming = (
        f"{following} is due {_shown(next_deadline)}."
        if next_deadline is not None
        else ("no further deadline is known.")
    )
    if day is None or (first_date is not None and day < first_date):
        return Freshness(True, None, None, next_deadline, f"Nothing is due yet; {coming}")
    deadline = deadlines.of(day)
    passed = day in made
    state = "is there" if passed else "is missing"
    text = f"{day} was due {_shown(deadline)} and {state}; {coming}{_closed(deadlines, as_of)}"
    return Freshness(passed, day, deadline, next_deadline, text)


def _following(deadlines: Deadlines, day: date | None, first_date: date | None) -> date | None:
    """The first workday that is due after `day`."""
    calendar = deadlines.calendar
    earliest = calendar.first_date if day is None else day + timedelta(days=1)
    try:
        return calendar.roll(max(earliest, first_date or earliest), "following")
    except OutOfBoundsError:
        return None


def _closed(deadlines: Deadlines, as_of: datetime) -> str:
    today, calendar = deadlines.local_date(as_of), deadlines.calendar
    if today > calendar.last_date:
        return f" Calendar {calendar.name} ended {calendar.last_date}."
    if calendar.is_workday(today):
        return ""
    return f" Today, {today}, is closed ({calendar.describe(today)})."


def _shown(instant: pendulum.DateTime | None) -> str:
    return f"{instant:%Y-%m-%d %H:%M %Z}" if instant is not None else "at an unknown time"
