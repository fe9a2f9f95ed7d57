"""When each workday's data interval starts, ends and may run; pure, "now" is an argument.

Every instant is an aware `pendulum.DateTime`. Local dates become instants only here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pendulum

from workday_assets.calendars.conventions import parse_date
from workday_assets.errors import InvalidInputError, OutOfBoundsError

if TYPE_CHECKING:
    from workday_assets.calendars import WorkdayCalendar

RunOn = Literal["calendar_day", "workday"]


@dataclass(frozen=True, slots=True)
class DataInterval:
    """Half-open and aware: start included, end excluded.

    Attributes:
        start: first instant of the local date.
        end: first instant of the next local date.
    """

    start: pendulum.DateTime
    end: pendulum.DateTime

    @property
    def day(self) -> date:
        """The local date that the interval covers; its logical date."""
        return self.start.date()


@dataclass(frozen=True, slots=True)
class ScheduledInterval:
    """A data interval and the earliest instant at which its run may start."""

    interval: DataInterval
    run_after: pendulum.DateTime


@dataclass(frozen=True, slots=True)
class TimeRestriction:
    """The window in which a timetable may schedule.

    Attributes:
        earliest: first instant that counts, included; `None` schedules nothing.
        latest: last logical date that counts, included; `None` means no end.
        catchup: False leaves out intervals that were missed: those before the newest complete one.
    """

    earliest: datetime | None
    latest: datetime | None = None
    catchup: bool = True

    def __post_init__(self) -> None:
        for parameter in ("earliest", "latest"):
            value = getattr(self, parameter)
            if value is not None:
                require_aware(value, parameter)


@dataclass(frozen=True, slots=True)
class WorkdayTimetable:
    """One data interval per workday of `calendar`, in the local time of `timezone`.

    Attributes:
        calendar: the days that have an interval.
        timezone: IANA name; there is no default.
        run_at: local time of day at which a run may start, on the date that `run_on` names.
        run_on: ``calendar_day``, the date after the interval's, or ``workday``, the next workday.

    Raises:
        InvalidInputError: an unknown or missing timezone, another `run_on`, an aware `run_at`, a
            workday whose date the zone skipped.
    """

    calendar: WorkdayCalendar
    timezone: str
    run_at: time = time(0)
    run_on: RunOn = "calendar_day"

    def __post_init__(self) -> None:
        require_zone(self.timezone)
        require_existing_days(self.calendar, self.timezone)
        if self.run_on not in ("calendar_day", "workday"):
            raise InvalidInputError(
                f"run_on={self.run_on!r} is neither 'calendar_day' nor 'workday'; name one of them."
            )
        if self.run_at.tzinfo is not None:
            raise InvalidInputError(
                f"run_at={self.run_at!r} carries a zone; give a local time without one, the"
                f" timetable's zone is {self.timezone}."
            )

    @property
    def summary(self) -> str:
        """One clause, for example ``after each XECB workday, at 08:00 Europe/Berlin``."""
        first = "after" if self.run_on == "calendar_day" else "on the workday after"
        at = self.run_at.isoformat("minutes" if self.run_at.second == 0 else "seconds")
        return f"{first} each {self.calendar.name} workday, at {at} {self.timezone}"

    @property
    def description(self) -> str:
        """Sentences that name the interval, the run time and the dates the calendar covers."""
        return (
            f"One data interval per workday of calendar {self.calendar.name}, from the first"
            f" instant of its date to that of the next date in {self.timezone}; it may run"
            f" {self.summary}. The calendar covers {self.calendar.first_date} to"
            f" {self.calendar.last_date}, both included."
        )

    def interval(self, day: date | str) -> DataInterval:
        """The data interval of the workday `day`.

        Raises:
            ClosedDayError: `day` is closed.
            OutOfBoundsError: the calendar does not vouch for `day`.
        """
        parsed = parse_date(day, "day")
        self._require_workday(parsed)
        end = self._first_instant(parsed + timedelta(days=1))
        return DataInterval(self._first_instant(parsed), end)

    def run_after(self, day: date | str) -> pendulum.DateTime:
        """The earliest instant at which the run for the workday `day` may start.

        A `run_at` that a clock change skips becomes the end of the gap; one that occurs twice
        is the second occurrence, as in Dagster's own ticks. Never before the interval's end.

        Raises:
            ClosedDayError: `day` is closed.
            OutOfBoundsError: the calendar does not vouch for `day`, or with ``run_on="workday"``
                for the workday after it.
        """
        parsed = parse_date(day, "day")
        self._require_workday(parsed)
        run_date = parsed + timedelta(days=1)
        if self.run_on == "workday":
            run_date = self.calendar.next(parsed)
        return local_instant(run_date, self.run_at, self.timezone)

    def interval_in_progress(self, as_of: datetime) -> DataInterval | None:
        """The interval with ``start <= as_of < end``, or `None` on a closed day.

        Raises:
            OutOfBoundsError: the calendar does not vouch for the local date of `as_of`.
        """
        today = self.local_date(as_of)
        return self.interval(today) if self.calendar.is_workday(today) else None

    def infer_interval(self, instant: datetime) -> DataInterval | None:
        """The newest interval with ``end <= instant``; `None` before the first one's end.

        `run_at` plays no part.

        Raises:
            OutOfBoundsError: the calendar ended before the date of `instant`, so that nobody
                knows which interval is the newest.
        """
        today = self.local_date(instant)
        last = self.calendar.last_date
        if today > last + timedelta(days=1):
            raise OutOfBoundsError(
                "instant", today, self.calendar.name, self.calendar.first_date, last
            )
        day = self.last_complete(instant)
        return None if day is None else self.interval(day)

    def last_complete(self, as_of: datetime) -> date | None:
        """The newest workday inside the calendar's bounds that is over at `as_of`, or `None`."""
        yesterday = self.local_date(as_of) - timedelta(days=1)
        if yesterday < self.calendar.first_date:
            return None
        candidate = min(yesterday, self.calendar.last_date)
        if self.calendar.is_workday(candidate):
            return candidate
        try:
            return self.calendar.previous(candidate)
        except OutOfBoundsError:
            return None

    def upcoming(self, as_of: datetime) -> ScheduledInterval | None:
        """The first interval with ``run_after > as_of``; `None` where the calendar ends first."""
        try:
            day = self.last_complete(as_of)
            if day is None:
                day = self.calendar.roll(self.calendar.first_date, "following")
            while self.run_after(day) <= as_of:
                day = self.calendar.next(day)
            return ScheduledInterval(self.interval(day), self.run_after(day))
        except OutOfBoundsError:
            return None

    def next_interval(
        self, after: DataInterval | None, restriction: TimeRestriction, *, as_of: datetime
    ) -> ScheduledInterval | None:
        """The first interval after `after` that `restriction` allows.

        An interval is inside the start bound when ``earliest <= run_at`` on its own local date.
        Without catch-up nothing before the newest complete interval is scheduled, and the very
        first interval (`after` is `None`) is not before the local date of `as_of`.

        Returns:
            `None` without an `earliest`, or when the next logical date is past `latest`.

        Raises:
            OutOfBoundsError: the next interval lies beyond the calendar's `last_date`.
        """
        if restriction.earliest is None:
            return None
        day = self._first_allowed(restriction.earliest)
        if after is not None:
            day = max(day, after.day + timedelta(days=1))
        if not restriction.catchup:
            day = max(day, self._oldest_without_catchup(after, as_of))
        if restriction.latest is not None and day > self.local_date(restriction.latest):
            return None
        if not self.calendar.is_workday(day):
            day = self.calendar.next(day)
        interval = self.interval(day)
        if restriction.latest is not None and interval.start > restriction.latest:
            return None
        return ScheduledInterval(interval, self.run_after(day))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values from which `from_dict` rebuilds an equal timetable."""
        return {
            "calendar": self.calendar.to_dict(),
            "timezone": self.timezone,
            "run_at": self.run_at.isoformat(),
            "run_on": self.run_on,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The timetable that `to_dict` described.

        Raises:
            InvalidInputError: a field is missing or has a value that `to_dict` never gives.
        """
        from workday_assets.calendars import WorkdayCalendar

        try:
            return cls(
                WorkdayCalendar.from_dict(data["calendar"]),
                data["timezone"],
                time.fromisoformat(data["run_at"]),
                data["run_on"],
            )
        except KeyError as error:
            raise InvalidInputError(
                f"data={sorted(data)} has no {error}; give what WorkdayTimetable.to_dict returned."
            ) from error

    def local_date(self, instant: datetime) -> date:
        """The date of `instant` in the timetable's zone.

        Raises:
            InvalidInputError: `instant` is naive.
        """
        require_aware(instant, "as_of")
        return instant.astimezone(require_zone(self.timezone)).date()

    def _oldest_without_catchup(self, after: DataInterval | None, as_of: datetime) -> date:
        today = self.local_date(as_of)
        return today if after is None else self.last_complete(as_of) or today

    def _first_allowed(self, earliest: datetime) -> date:
        day = self.local_date(earliest)
        late = earliest > local_instant(day, self.run_at, self.timezone)
        day = day + timedelta(days=1) if late else day
        return max(day, self.calendar.first_date)

    def _require_workday(self, day: date) -> None:
        if not self.calendar.is_workday(day):
            self.calendar.roll(day, "raise")

    def _first_instant(self, day: date) -> pendulum.DateTime:
        return local_instant(day, time(0), self.timezone)


def first_instant(day: date, timezone: str) -> datetime:
    """The first instant of the local date `day`, in UTC; of a date that is skipped, the jump."""
    wall = datetime.combine(day, time(0), tzinfo=require_zone(timezone))
    return wall.astimezone(UTC) if _exists(wall) else _end_of_gap(wall)


@lru_cache(maxsize=65536)  # a plan asks again for every day of a history
def local_instant(day: date, at: time, timezone: str) -> pendulum.DateTime:
    """`at` on `day`; after a gap its end, of two occurrences the second, midnight the first."""
    if at == time(0):
        instant = first_instant(day, timezone)
    else:
        wall = datetime.combine(day, at, tzinfo=require_zone(timezone))
        instant = wall.replace(fold=1) if _exists(wall) else _end_of_gap(wall)
    return pendulum.from_timestamp(instant.timestamp(), tz=timezone)


def require_aware(value: datetime, parameter: str) -> None:
    """Refuse an instant without a zone.

    Raises:
        InvalidInputError: `value` is not a datetime, or is naive.
    """
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidInputError(
            f"{parameter}={value!r} is not an instant, it has no zone; give an aware datetime,"
            " for example pendulum.datetime(2026, 1, 5, tz='Europe/Berlin')."
        )


def require_zone(timezone: str) -> ZoneInfo:
    """The zone of that name.

    Raises:
        InvalidInputError: it is missing, or the time-zone database does not know it.
    """
    try:
        if not timezone:
            raise ValueError
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise InvalidInputError(
            f"timezone={timezone!r} is not a name of the IANA time-zone database; give one, for"
            " example 'Europe/Berlin' (a missing zone is never taken to be UTC)."
        ) from error


def require_existing_days(calendar: WorkdayCalendar, timezone: str) -> None:
    """Refuse a workday whose date never was in the zone, as 2011-12-30 in Samoa.

    Raises:
        InvalidInputError: there is one.
    """
    zone = require_zone(timezone)
    years = range(calendar.first_date.year, calendar.last_date.year + 2)
    offsets = [datetime(year, 1, 1, tzinfo=zone).utcoffset() or timedelta() for year in years]
    for year, before, after in zip(years, offsets, offsets[1:], strict=False):
        if after - before < timedelta(hours=20):
            continue  # only a jump over the date line skips a date
        for day in map(date.fromordinal, _ordinals(year)):
            skipped = first_instant(day, timezone) == first_instant(
                day + timedelta(days=1), timezone
            )
            inside = calendar.first_date <= day <= calendar.last_date
            if skipped and inside and calendar.is_workday(day):
                raise InvalidInputError(
                    f"timezone={timezone} skipped {day}, a workday of calendar {calendar.name};"
                    f' close it: calendar.with_closures({{"{day}": "skipped"}}).'
                )


def _ordinals(year: int) -> range:
    return range(date(year, 1, 1).toordinal(), date(year + 1, 1, 1).toordinal())


def _exists(wall: datetime) -> bool:
    there_and_back = wall.astimezone(UTC).astimezone(wall.tzinfo)
    return there_and_back.replace(tzinfo=None) == wall.replace(tzinfo=None, fold=0)


def _end_of_gap(wall: datetime) -> datetime:
    """The instant of the jump that skips the local time `wall`, in UTC."""
    zone = wall.tzinfo
    naive = wall.replace(tzinfo=None, fold=0)
    low = int(wall.replace(fold=1).timestamp())
    high = int(wall.replace(fold=0).timestamp())
    while low < high:
        middle = (low + high) // 2
        local = datetime.fromtimestamp(middle, zone).replace(tzinfo=None, fold=0)
        low, high = (low, middle) if local >= naive else (middle + 1, high)
    return datetime.fromtimestamp(low, UTC)
