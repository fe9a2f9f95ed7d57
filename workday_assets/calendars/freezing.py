"""Freezes a calendar into a file, and says what differs between two calendars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from workday_assets.calendars import tables
from workday_assets.calendars.calendar import WorkdayCalendar
from workday_assets.calendars.catalog import load
from workday_assets.calendars.conventions import DateLike, parse_date
from workday_assets.calendars.providers import from_holidays
from workday_assets.calendars.recipes import RECIPES
from workday_assets.errors import InvalidInputError


@dataclass(frozen=True)
class DayChange:
    """One day on which two calendars differ.

    Attributes:
        day: the date.
        kind: ``opened`` (closed before, a workday now), ``closed`` (the other way round) or
            ``half day`` (a workday in both, with other closing times).
        before: how the old calendar describes it.
        after: how the new one does.
        past_closure_removed: whether it is a closure before `as_of` that is gone: either the
            history was wrong, or it is wrong now, and partitions that nobody expected appear.
    """

    day: date
    kind: Literal["opened", "closed", "half day"]
    before: str
    after: str
    past_closure_removed: bool = False


@dataclass(frozen=True)
class CalendarDiff:
    """What changes between an old and a new calendar, inside the bounds that both have.

    Attributes:
        added: days that were closed and are workdays now, ascending.
        removed: workdays that are closed now.
        changed: workdays in both whose closing times differ.
        old_bounds: first and last date of the old calendar, both included.
        new_bounds: those of the new one.
    """

    added: tuple[DayChange, ...]
    removed: tuple[DayChange, ...]
    changed: tuple[DayChange, ...]
    old_bounds: tuple[date, date]
    new_bounds: tuple[date, date]

    def __bool__(self) -> bool:
        """Whether anything differs, bounds included."""
        return bool(self.days) or self.old_bounds != self.new_bounds

    @property
    def days(self) -> tuple[DayChange, ...]:
        """All days that differ, ascending."""
        return tuple(sorted((*self.added, *self.removed, *self.changed), key=lambda c: c.day))

    @property
    def past_closures_removed(self) -> tuple[DayChange, ...]:
        """Closures before `as_of` that the new calendar no longer has."""
        return tuple(change for change in self.added if change.past_closure_removed)


def diff(
    old: WorkdayCalendar, new: WorkdayCalendar, *, as_of: DateLike | None = None
) -> CalendarDiff:
    """What differs between two calendars; reasons do not count.

    Args:
        old: the calendar that runs.
        new: the one that would replace it.
        as_of: today; a closure removed before it is called out. `None` calls out none.

    Raises:
        InvalidInputError: the two share no date.
    """
    first, last = max(old.first_date, new.first_date), min(old.last_date, new.last_date)
    if last < first:
        raise InvalidInputError(
            f"old={old.name} ({old.first_date} to {old.last_date}) and new={new.name}"
            f" ({new.first_date} to {new.last_date}) share no date."
        )
    today = date.min if as_of is None else parse_date(as_of, "as_of")
    past = last + timedelta(days=1)
    before, after = set(old.workdays(first, past)), set(new.workdays(first, past))

    def changes(days: set[date], kind: Literal["opened", "closed", "half day"]) -> list[DayChange]:
        return [
            DayChange(
                day, kind, old.describe(day), new.describe(day), kind == "opened" and day < today
            )
            for day in sorted(days)
        ]

    both = before & after
    half = {day for day in both if old.half_days.get(day) != new.half_days.get(day)}
    return CalendarDiff(
        tuple(changes(after - before, "opened")),
        tuple(changes(before - after, "closed")),
        tuple(changes(half, "half day")),
        (old.first_date, old.last_date),
        (new.first_date, new.last_date),
    )


def from_provider(
    name: str, first: DateLike | None = None, last: DateLike | None = None
) -> WorkdayCalendar:
    """The calendar of that name as its provider answers now, whatever is frozen.

    Args:
        name: a name of the catalog, or a code of `holidays`.
        first: first date, included; `None` for that of the frozen file, else of the recipe.
        last: last date, included; likewise. Needed for a name that the catalog does not have.

    Raises:
        ProviderError: the provider is missing, or does not know the name.
        InvalidInputError: a bound is missing and not known.
    """
    frozen, recipe = load(name), RECIPES.get(name)
    start = frozen.first_date if first is None and frozen else first
    end = frozen.last_date if last is None and frozen else last
    if recipe is None:
        return from_holidays(name, start, end)
    return from_holidays(
        recipe.code,
        start or recipe.first,
        end or recipe.last,
        categories=recipe.categories,
        half_day_closes=recipe.half_day_closes,
        name=name,
    )


def freeze(
    name: str,
    first: DateLike | None = None,
    last: DateLike | None = None,
    *,
    frozen_on: DateLike,
    evidence: str | None = None,
) -> str:
    """The text of the frozen file of a calendar as its provider answers now.

    Args:
        name: a name of the catalog, or a code of `holidays`.
        first: as of `from_provider`.
        last: the last date that is published or that a standing rule covers, included.
        frozen_on: today, for the header.
        evidence: where the days and the last date come from; `None` for the recipe's.

    Raises:
        InvalidInputError: `last` is beyond what the recipe has evidence for, and none is given.
    """
    calendar = from_provider(name, first, last)
    recipe = RECIPES.get(name)
    stamped = f"{calendar.provenance}; frozen {parse_date(frozen_on, 'frozen_on')}"
    text = evidence or (recipe.evidence if recipe else "bounds as given to freeze")
    if recipe and evidence is None and str(calendar.last_date) > recipe.last:
        raise InvalidInputError(
            f"last={calendar.last_date} is beyond {recipe.last}, for which the recipe of {name} has"
            " evidence; say in evidence (--evidence) who has published the days after it."
        )
    return tables.dumps(replace(calendar, provenance=stamped), text)
