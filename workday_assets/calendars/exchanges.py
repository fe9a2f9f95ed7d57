"""Builds a calendar from `exchange_calendars`, and refuses what that gets wrong."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.conventions import DateLike, WeekendRules, parse_date
from workday_assets.errors import InvalidInputError, ProviderError


def from_exchange(
    code: str,
    first: DateLike | None = None,
    last: DateLike | None = None,
    name: str | None = None,
) -> WorkdayCalendar:
    """A calendar from the installed `exchange_calendars` library.

    Sessions are workdays; early closes are half days with their local time; sessions on a weekend
    are extra workdays. The library builds every calendar to a year from now, whatever is
    published, so `last` is an argument unless the catalog or the library's own data ends it.

    Args:
        code: MIC, for example ``XNYS``.
        first: first date, included; `None` for the catalog's, or where the library's data begin.
        last: last date, included; `None` for the catalog's, or where the library's data end.
        name: the calendar's name; `None` for `code`.

    Raises:
        ProviderError: the library is missing, does not know the code, cannot build the range, or
            loses special weekend sessions that it lists itself (as it does under pandas 3).
        InvalidInputError: a bound is missing and not known.
    """
    start, end = _bounds(code, first, last)
    built = _get(code, start=str(start), end=str(end))
    weekend = _weekend(built, start, end)
    sessions = {stamp.date() for stamp in built.sessions}
    _refuse_lost_sessions(code, built, sessions, start, end)
    rules = WorkdayCalendar.build(code, start, end, weekend=weekend)
    closed = {day for day in rules.workdays(start, end + timedelta(days=1)) if day not in sessions}
    reasons = _reasons(built, start, end)
    return WorkdayCalendar.build(
        name or code,
        start,
        end,
        weekend=weekend,
        holidays={day: reasons[day] for day in closed if day in reasons},
        closures={day: "ad hoc closure" for day in closed if day not in reasons},
        extra_workdays=dict.fromkeys(
            (day for day in sessions if not rules.is_workday(day)), "special session"
        ),
        half_days={
            stamp.date(): built.closes[stamp].tz_convert(built.tz).time()
            for stamp in built.early_closes
        },
        provenance=f"{_version()}, {code}",
    )


def _bounds(code: str, first: DateLike | None, last: DateLike | None) -> tuple[date, date]:
    from workday_assets.calendars.recipes import RECIPES

    recipe = RECIPES.get(code)
    start: Any = recipe.first if first is None and recipe else first
    end: Any = recipe.last if last is None and recipe else last
    if start is None or end is None:
        library = _get(code)
        start = library.bound_min() if start is None else start
        end = library.bound_max() if end is None else end
    if start is None or end is None:
        raise InvalidInputError(
            f"{'first' if start is None else 'last'}=None for calendar {code}: {_version()} does"
            " not say how far its data reach; give first and last."
        )
    return parse_date(start, "first"), parse_date(end, "last")


def _get(code: str, **bounds: str) -> Any:
    try:
        import exchange_calendars
    except ImportError as error:
        raise ProviderError(
            f"code={code!r} needs exchange_calendars; install workday-assets[exchanges]."
        ) from error
    try:
        return exchange_calendars.get_calendar(code, **bounds)
    except Exception as error:  # the library raises what it likes, also TypeError and KeyError
        raise ProviderError(
            f"code={code!r}: {_version()} cannot build {' to '.join(bounds.values()) or 'it'}"
            f" ({str(error)[:200]}); ask for other bounds, or make the calendar with"
            " WorkdayCalendar.build."
        ) from error


def _weekend(built: Any, start: date, end: date) -> WeekendRules:
    """The library's week masks as dated rules; those of a week or less are exceptions, not rules.

    A mask is seven characters from Monday on, where 1 is open.
    """
    rules: dict[date, tuple[int, ...]] = {start: _closed(built.weekmask)}
    for since, until, mask in getattr(built, "special_weekmasks", ()):
        begins = max(parse_date(since, "since"), start) if since is not None else start
        ends = parse_date(until, "until") if until is not None else end
        if ends < start or begins > end or (ends - begins).days < 7:
            continue
        rules[begins] = _closed(mask)
        if ends < end:
            rules.setdefault(ends + timedelta(days=1), _closed(built.weekmask))
    return tuple(sorted(rules.items()))


def _refuse_lost_sessions(
    code: str, built: Any, sessions: set[date], start: date, end: date
) -> None:
    """Refuses where a week that the library lists as longer than usual has no such session."""
    usual = set(range(7)) - set(_closed(built.weekmask))
    adhoc = {stamp.date() for stamp in built.adhoc_holidays}
    for since, until, mask in getattr(built, "special_weekmasks", ()):
        if since is None or until is None:
            continue
        opened = set(range(7)) - set(_closed(mask)) - usual
        first, last = parse_date(since, "since"), parse_date(until, "until")
        days = {first + timedelta(days=n) for n in range((last - first).days + 1)}
        lost = sorted(
            day
            for day in days - adhoc - sessions
            if start <= day <= end and day.weekday() in opened
        )
        if lost and (last - first).days < 7:
            raise ProviderError(
                f"code={code!r}: {_version()} lists a session on {lost[0]} ({lost[0]:%A}) and"
                " leaves it out of the calendar that it builds, as it does under pandas 3; end"
                " the bounds before it, or add it with with_extra_workdays to a calendar of your"
                " own."
            )


def _reasons(built: Any, start: date, end: date) -> dict[date, str]:
    rules = built.regular_holidays
    if rules is None:
        return {}
    margin = timedelta(days=366)
    found = rules.holidays(start - margin, end + margin, return_name=True)
    return {stamp.date(): str(reason) for stamp, reason in found.items()}


def _closed(mask: str) -> tuple[int, ...]:
    return tuple(day for day, is_open in enumerate(mask) if is_open == "0")


def _version() -> str:
    from importlib.metadata import version

    return f"exchange_calendars {version('exchange_calendars')}"
