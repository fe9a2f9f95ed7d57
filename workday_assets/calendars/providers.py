"""Builds a calendar from `holidays` or from pandas' holiday rules, imported when asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.conventions import (
    DateLike,
    Weekend,
    WeekendRules,
    parse_date,
    parse_weekend,
)
from workday_assets.errors import InvalidInputError, ProviderError

if TYPE_CHECKING:
    from pandas.tseries.holiday import AbstractHolidayCalendar

_HALF = "half_day"
_HALF_LABEL = re.compile(r"half[- ]day|markets? closes? at", re.IGNORECASE)
_CLOSES = re.compile(r"\b(\d{1,2})(?::(\d\d))?\s*([ap])m\b", re.IGNORECASE)
_SUBSTITUTED = re.compile(r"substituted from (\d\d)/(\d\d)/(\d{4})")


def from_holidays(
    code: str,
    first: DateLike | None = None,
    last: DateLike | None = None,
    subdivision: str | None = None,
    categories: Iterable[str] | None = None,
    half_day_closes: time | str | None = None,
    name: str | None = None,
) -> WorkdayCalendar:
    """A calendar from the installed `holidays` library.

    The library answers for years that nobody has published. So the bounds are arguments, and are
    known only for the codes of the catalog. Weekends follow the library's, also where they
    changed. Make-up workdays become extra workdays, days that it lists one by one because no rule
    gives them ad hoc closures, and entries of the category ``half_day``, or labelled so in another
    one, half days: never closures.

    Args:
        code: country (``US``), country and subdivision (``GB-ENG``) or market (``XNYS``).
        first: first date, included; `None` for the catalog's.
        last: last date, included; `None` for the catalog's.
        subdivision: part of the country, instead of in `code`.
        categories: the library's categories of closures; `None` for its default.
        half_day_closes: local closing time of half days whose label has none; where that is
            `None` too, such a day is a plain workday.
        name: the calendar's name; `None` for `code`.

    Raises:
        ProviderError: the library is missing, or does not know the code or a category.
        InvalidInputError: a bound is missing and not known.
    """
    code, _, part = code.partition("-")
    part = subdivision or part
    label = f"{code}-{part}" if part else code
    start, end = bounds(name or label, label, first, last)
    asked = None if categories is None else sorted(set(categories))
    # A year's observed days and make-up workdays can be published with the year after or before.
    years = range(start.year - 1, end.year + 2)
    whole = [category for category in asked if category != _HALF] if asked else None
    closed = None if whole == [] else _lookup(code, part, years, whole)
    half = _lookup(code, part, years, [_HALF]) if asked and _HALF in asked else None
    library: Any = half if closed is None else closed
    whole_years = date(start.year, 1, 1), date(end.year, 12, 31)
    holidays, half_days = _sorted_out(closed, half, half_day_closes)
    ad_hoc = _ad_hoc(library)
    return WorkdayCalendar.build(
        name or label,
        *whole_years,
        weekend=_weekend(library.is_weekend, *whole_years),
        holidays={day: why for day, why in holidays.items() if day not in ad_hoc},
        closures={day: why for day, why in holidays.items() if day in ad_hoc},
        extra_workdays=_make_up(library),
        half_days=half_days,
        provenance=f"{_version('holidays')}, {label}" + (f" ({', '.join(asked)})" if asked else ""),
    ).between(start, end)


def knows(code: str) -> bool:
    """Whether the installed `holidays` has that country, subdivision or market."""
    try:
        import holidays
    except ImportError:
        return False
    country, _, part = code.partition("-")
    countries = holidays.list_supported_countries(include_aliases=True)
    if part:
        return part in countries.get(country, ())
    return country in countries or country in holidays.list_supported_financial()


def from_pandas(
    rules: AbstractHolidayCalendar | type[AbstractHolidayCalendar],
    first: DateLike,
    last: DateLike,
    weekend: Weekend = (5, 6),
    name: str | None = None,
) -> WorkdayCalendar:
    """A calendar from pandas' holiday rules.

    Args:
        rules: an `AbstractHolidayCalendar`, or a class of it.
        first: first date, included.
        last: last date, included; pandas does not know how far its rules are law.
        weekend: as of `WorkdayCalendar.build`.
        name: the calendar's name; `None` for that of the rules.

    Raises:
        ProviderError: `rules` is no such calendar.
    """
    from pandas.tseries.holiday import AbstractHolidayCalendar

    found = rules() if isinstance(rules, type) else rules
    if not isinstance(found, AbstractHolidayCalendar):
        raise ProviderError(
            f"rules={rules!r} is not a pandas AbstractHolidayCalendar; give one, or a class of it."
        )
    start, end = parse_date(first, "first"), parse_date(last, "last")
    (_, rule), *later = parse_weekend(weekend, start)
    # A rule's day can be observed on the other side of a bound: pandas is asked for more.
    earliest, latest = date(start.year - 1, 1, 1), date(end.year + 1, 12, 31)
    holidays: Any = found.holidays(earliest, latest, return_name=True)
    return WorkdayCalendar.build(
        name or str(found.name),
        earliest,
        latest,
        weekend=((None, rule), *later),
        holidays={day.date(): reason for day, reason in holidays.items()},
        provenance=f"{_version('pandas')}, {type(found).__name__}",
    ).between(start, end)


def bounds(
    name: str, code: str, first: DateLike | None, last: DateLike | None
) -> tuple[date, date]:
    """The bounds that were asked for; a missing one is the catalog's for that name or code.

    Raises:
        InvalidInputError: it has none.
    """
    from workday_assets.calendars.recipes import RECIPES

    recipe = RECIPES.get(name, RECIPES.get(code))
    if (first is None or last is None) and recipe is None:
        missing = "first" if first is None else "last"
        raise InvalidInputError(
            f"{missing}=None for calendar {code}: how far its years are published is not known;"
            " give first and last."
        )
    start = recipe.first if first is None and recipe else first
    end = recipe.last if last is None and recipe else last
    found = parse_date(start, "first"), parse_date(end, "last")  # type: ignore[arg-type]
    if found[1] < found[0]:
        raise InvalidInputError(
            f"last={found[1]} is before first={found[0]} for calendar {code}; exchange them."
        )
    return found


def _lookup(code: str, part: str, years: range, categories: list[str] | None) -> Any:
    try:
        import holidays
    except ImportError as error:
        raise ProviderError(
            f"code={code!r} needs the holidays library; install workday-assets[freeze]."
        ) from error
    market = code in holidays.list_supported_financial()
    make = holidays.financial_holidays if market else holidays.country_holidays
    options: dict[str, Any] = {"subdiv": part} if part else {}
    try:
        plain = make(code, years=years, categories=categories, **options)
        if "en_US" not in plain.supported_languages:
            return plain
        return make(code, years=years, categories=categories, language="en_US", **options)
    except (NotImplementedError, ValueError) as error:
        raise ProviderError(f"code={code!r}: holidays refuses it ({error}).") from error


def _sorted_out(
    closed: Any, half: Any, closes: time | str | None
) -> tuple[dict[date, str], dict[date, time | str]]:
    """Closures with their reasons, half days with their closing times."""
    holidays: dict[date, str] = {}
    half_days: dict[date, time | str] = {}
    entries = [(day, label, False) for day, label in (closed or {}).items()]
    entries += [(day, label, True) for day, label in (half or {}).items()]
    for day, label, is_half in entries:
        if not is_half and not _HALF_LABEL.search(label):
            holidays[day] = label
            continue
        at = _closing_time(label) or closes
        if at is not None:
            half_days[day] = at
    return holidays, half_days


def _ad_hoc(library: Any) -> set[date]:
    """The days that the library lists one by one, because no rule gives them.

    Its tables map a year to one or more of (month, day, label); a longer row moves a day off.
    """
    found = set()
    for category in library.categories:
        for prefix in ("special", f"special_{(library.subdiv or '').lower()}"):
            for year, rows in getattr(library, f"{prefix}_{category}_holidays", {}).items():
                for row in rows if isinstance(rows[0], tuple) else (rows,):
                    if len(row) == 3:
                        found.add(date(year, row[0], row[1]))
    return found


def _closing_time(label: str) -> time | None:
    found = _CLOSES.search(label)
    if found is None:
        return None
    hour, minute, half = int(found[1]) % 12, int(found[2] or 0), found[3].lower()
    return time(hour + 12 * (half == "p"), minute)


def _weekend(is_weekend: Callable[[date], bool], first: date, last: date) -> WeekendRules:
    """The weekend as dated rules, from a question that is asked for every day."""
    rules: list[tuple[date, tuple[int, ...]]] = []
    closed: set[int] | None = None
    for ordinal in range(first.toordinal(), last.toordinal() + 1):
        day = date.fromordinal(ordinal)
        if closed is None or is_weekend(day) != (day.weekday() in closed):
            week = (day + timedelta(days=ahead) for ahead in range(7))
            closed = {each.weekday() for each in week if is_weekend(each)}
            rules.append((day, tuple(sorted(closed))))
    return tuple(rules)


def _make_up(library: Any) -> dict[date, str]:
    """The weekend days that are worked, and the day off that each pays for, where it is named."""
    reasons = dict.fromkeys(library.weekend_workdays, "make-up workday")
    for off, label in library.items():
        found = _SUBSTITUTED.search(label)
        if found:
            worked = datetime.strptime("/".join(found.groups()), "%m/%d/%Y").date()  # noqa: DTZ007
            reasons[worked] = f"make-up workday for {off}"
    return reasons


def _version(package: str) -> str:
    from importlib.metadata import version

    return f"{package} {version(package)}"
