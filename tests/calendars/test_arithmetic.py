"""Steps, rolls, counts and ranges, with numpy's `busday_*` as the independent witness."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workday_assets import WorkdayCalendar
from workday_assets.calendars.conventions import ROLL_CONVENTIONS
from workday_assets.errors import ClosedDayError, InvalidInputError, OutOfBoundsError

FIRST, LAST = date(2020, 1, 1), date(2025, 12, 31)
YEAR = (date(2022, 6, 1), date(2023, 5, 31))  # far enough inside the bounds for every step
NUMPY_ROLLS = {
    "following": "following",
    "preceding": "preceding",
    "modified following": "modifiedfollowing",
    "modified preceding": "modifiedpreceding",
}

asked_days = st.dates(*YEAR)
weekends = st.sets(st.integers(0, 6), max_size=6)
closed_days = st.sets(st.dates(date(2022, 3, 1), date(2023, 8, 31)), max_size=25)
steps = st.integers(-30, 30)
laws = settings(deadline=None, max_examples=100)


def build(weekend: set[int], closed: set[date], extra: set[date] = frozenset()) -> WorkdayCalendar:  # type: ignore[assignment]
    """A calendar of six years."""
    return WorkdayCalendar.build(
        "LAW", FIRST, LAST, weekend=weekend, holidays=closed, extra_workdays=extra
    )


def witness(weekend: set[int], closed: set[date]) -> np.busdaycalendar:
    """The same calendar as numpy has it."""
    mask = [int(day not in weekend) for day in range(7)]
    return np.busdaycalendar(mask, sorted(np.datetime64(day) for day in closed))


@laws
@given(weekends, closed_days, asked_days, asked_days)
def test_membership_and_count_agree_with_numpy(
    weekend: set[int], closed: set[date], one: date, other: date
) -> None:
    """`is_workday` is `is_busday` and `count` is `busday_count`, odd weekends included."""
    calendar, numpy = build(weekend, closed), witness(weekend, closed)
    start, end = sorted((one, other))
    assert calendar.is_workday(one) == np.is_busday(one, busdaycal=numpy)
    assert calendar.count(start, end) == np.busday_count(start, end, busdaycal=numpy)
    days = np.arange(np.datetime64(start), np.datetime64(end))
    expected = days[np.is_busday(days, busdaycal=numpy)]
    assert calendar.workdays(start, end) == expected.tolist()
    assert calendar.workdays_array(start, end).tolist() == expected.tolist()


@laws
@given(weekends, closed_days, asked_days, steps, st.sampled_from(sorted(NUMPY_ROLLS)))
def test_offset_agrees_with_numpy(
    weekend: set[int], closed: set[date], day: date, n: int, roll: str
) -> None:
    """Rolling first and stepping then gives `busday_offset`, under every roll that numpy has."""
    calendar, numpy = build(weekend, closed), witness(weekend, closed)
    expected = np.busday_offset(day, n, roll=NUMPY_ROLLS[roll], busdaycal=numpy)  # type: ignore[call-overload]
    assert calendar.offset(day, n, roll=roll) == expected.item()
    assert calendar.roll(day, roll) == calendar.offset(day, 0, roll=roll)


@laws
@given(weekends, closed_days, asked_days)
def test_next_and_previous_agree_with_numpy(
    weekend: set[int], closed: set[date], day: date
) -> None:
    """Strictly after and strictly before, also from a closed day."""
    calendar, numpy = build(weekend, closed), witness(weekend, closed)
    after, before = day + timedelta(days=1), day - timedelta(days=1)
    expected_next = np.busday_offset(after, 0, roll="following", busdaycal=numpy)
    expected_previous = np.busday_offset(before, 0, roll="preceding", busdaycal=numpy)
    assert calendar.next(day) == expected_next.item()
    assert calendar.previous(day) == expected_previous.item()


@laws
@given(weekends, closed_days, closed_days, asked_days, steps)
def test_offset_comes_back(
    weekend: set[int], closed: set[date], extra: set[date], day: date, n: int
) -> None:
    """`n` workdays on and `n` back is the same workday, and a step of one is `next`."""
    calendar = build(weekend, closed, extra)
    start = calendar.roll(day, "following")
    assert calendar.offset(calendar.offset(start, n), -n) == start
    assert calendar.offset(start, 1) == calendar.next(start)
    assert calendar.offset(start, -1) == calendar.previous(start)


@laws
@given(weekends, closed_days, closed_days, st.tuples(asked_days, asked_days, asked_days))
def test_counts_add_over_a_split(
    weekend: set[int], closed: set[date], extra: set[date], days: tuple[date, date, date]
) -> None:
    """A half-open range counts as the sum of its two halves, and as the length of its list."""
    calendar = build(weekend, closed, extra)
    start, middle, end = sorted(days)
    whole = calendar.count(start, end)
    assert whole == calendar.count(start, middle) + calendar.count(middle, end)
    assert whole == len(calendar.workdays(start, end))


@laws
@given(weekends, closed_days, closed_days, asked_days, st.sampled_from(ROLL_CONVENTIONS[1:]))
def test_roll_is_idempotent_and_open(
    weekend: set[int], closed: set[date], extra: set[date], day: date, roll: str
) -> None:
    """A rolled day is a workday, stays where it is, and an open day does not move."""
    calendar = build(weekend, closed, extra)
    rolled = calendar.roll(day, roll)
    assert calendar.is_workday(rolled)
    assert calendar.roll(rolled, roll) == rolled
    assert (rolled == day) == calendar.is_workday(day)


@laws
@given(weekends, closed_days, closed_days, st.lists(asked_days, max_size=12), steps)
def test_arrays_are_answered_as_arrays(
    weekend: set[int], closed: set[date], extra: set[date], days: list[date], n: int
) -> None:
    """Every method that takes an array answers each of its days as it answers the day alone."""
    calendar = build(weekend, closed, extra)
    array = np.array(days, dtype="datetime64[D]")
    assert calendar.is_workday(array).tolist() == [calendar.is_workday(day) for day in days]
    assert calendar.next(array).tolist() == [calendar.next(day) for day in days]
    assert calendar.previous(array).tolist() == [calendar.previous(day) for day in days]
    for roll in ROLL_CONVENTIONS[1:]:
        rolled = calendar.roll(array, roll)
        assert rolled.dtype == np.dtype("datetime64[D]")
        assert rolled.tolist() == [calendar.roll(day, roll) for day in days]
        expected = [calendar.offset(day, n, roll=roll) for day in days]
        assert calendar.offset(array, n, roll=roll).tolist() == expected


@laws
@given(weekends, closed_days, closed_days)
def test_extra_workdays_beat_every_other_layer(
    weekend: set[int], closed: set[date], extra: set[date]
) -> None:
    """The workdays are the open weekdays without the closed days, together with the extra ones."""
    calendar = build(weekend, closed, extra)
    days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
    expected = [d for d in days if d in extra or (d.weekday() not in weekend and d not in closed)]
    assert calendar.workdays(FIRST, LAST + timedelta(days=1)) == expected


EASTER = WorkdayCalendar.build(
    "EASTER",
    "2024-03-01",
    "2024-04-30",
    holidays={"2024-03-28": "a", "2024-03-29": "Good Friday", "2024-04-01": "Easter Monday"},
)


@pytest.mark.parametrize(
    ("day", "roll", "expected"),
    [
        ("2024-03-30", "following", "2024-04-02"),
        ("2024-03-30", "preceding", "2024-03-27"),
        ("2024-03-30", "modified following", "2024-03-27"),
        ("2024-04-01", "modified preceding", "2024-04-02"),
        ("2024-03-30", "nearest", "2024-04-02"),
        ("2024-03-29", "nearest", "2024-03-27"),
        ("2024-04-14", "nearest", "2024-04-15"),
        ("2024-03-10", "half-month modified following", "2024-03-11"),
        ("2024-04-13", "half-month modified following", "2024-04-15"),
        ("2024-03-31", "half-month modified following", "2024-03-27"),
        ("2024-03-27", "following", "2024-03-27"),
        ("2024-03-30", "Modified_Following", "2024-03-27"),
        ("2024-03-30", "modifiedfollowing", "2024-03-27"),
    ],
    ids=lambda value: str(value).replace(" ", "-"),
)
def test_roll_conventions(day: str, roll: str, expected: str) -> None:
    """Each convention moves a closed day as QuantLib defines it; ties go forward."""
    assert str(EASTER.roll(day, roll)) == expected


def test_half_month_turns_round_between_the_15th_and_the_16th() -> None:
    """A closed 15th rolls back where plain modified following would roll forward."""
    calendar = WorkdayCalendar.build("X", "2024-06-01", "2024-06-30")
    asked = [
        calendar.roll("2024-06-15", f"{kind}modified following") for kind in ("", "half-month ")
    ]
    assert asked == [date(2024, 6, 17), date(2024, 6, 14)]


def test_a_closed_day_without_a_roll_is_an_error_with_its_neighbours() -> None:
    """The error names the day, the calendar, the reason and the workdays around it."""
    with pytest.raises(ClosedDayError, match="Good Friday") as raised:
        EASTER.offset("2024-03-29", 1)
    error = raised.value
    assert (error.day, error.calendar, error.previous, error.next) == (
        date(2024, 3, 29),
        "EASTER",
        date(2024, 3, 27),
        date(2024, 4, 2),
    )


@pytest.mark.parametrize("roll", ["forward", "", None, 1], ids=repr)
def test_an_unknown_roll_is_refused_also_on_a_workday(roll: Any) -> None:
    """A convention that does not exist never passes because the day happens to be open."""
    with pytest.raises(InvalidInputError, match="roll="):
        EASTER.roll("2024-03-27", roll)
    with pytest.raises(InvalidInputError, match="roll="):
        EASTER.offset("2024-03-27", 1, roll=roll)


@pytest.mark.parametrize(
    ("day", "roll", "expected"),
    [
        pytest.param("2024-06-30", "following", None, id="following-off-the-end"),
        pytest.param("2024-06-30", "modified following", "2024-06-28", id="month-ends-with-bounds"),
        pytest.param("2024-06-01", "preceding", None, id="preceding-off-the-start"),
        pytest.param("2024-06-01", "modified preceding", "2024-06-03", id="month-starts-with-it"),
        pytest.param("2024-06-30", "nearest", None, id="nearest-may-be-beyond"),
        pytest.param("2024-06-29", "nearest", "2024-06-28", id="nearest-cannot-be-beyond"),
        pytest.param("2024-06-02", "nearest", "2024-06-03", id="nearest-at-the-start"),
        pytest.param("2024-06-01", "nearest", None, id="nearest-may-be-before"),
    ],
)
def test_rolls_at_the_bounds(day: str, roll: str, expected: str | None) -> None:
    """A roll answers at a bound only where nothing beyond it could change the answer."""
    calendar = WorkdayCalendar.build("JUNE", "2024-06-01", "2024-06-30")
    if expected is None:
        with pytest.raises(OutOfBoundsError):
            calendar.roll(day, roll)
    else:
        assert str(calendar.roll(day, roll)) == expected


def test_modified_following_does_not_guess_beyond_a_bound_within_the_month() -> None:
    """Bounds that end on a closed day in mid-month leave the following workday unknown."""
    calendar = WorkdayCalendar.build("X", "2024-06-01", "2024-06-16")
    with pytest.raises(OutOfBoundsError):
        calendar.roll("2024-06-16", "modified following")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("offset", ("2024-06-28", 1)),
        ("offset", ("2024-06-03", -1)),
        ("offset", ("2024-06-30", -1, "following")),
        ("offset", ("2024-06-01", 1, "preceding")),
        ("next", ("2024-06-28",)),
        ("previous", ("2024-06-03",)),
        ("count", ("2024-05-31", "2024-06-10")),
        ("workdays", ("2024-06-01", "2024-07-02")),
        ("closed_days", ("2024-06-01", "2024-07-02")),
        ("nth_workday", (2024, 7, 1)),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value)),
)
def test_answers_beyond_the_bounds_are_refused(method: str, arguments: tuple[Any, ...]) -> None:
    """No method answers, or steps, out of the bounds, alone or as an array."""
    calendar = WorkdayCalendar.build("JUNE", "2024-06-01", "2024-06-30")
    with pytest.raises(OutOfBoundsError, match="2024-06-01 to 2024-06-30"):
        getattr(calendar, method)(*arguments)
    if method in ("offset", "next", "previous"):
        array = np.array([arguments[0]], dtype="datetime64[D]")
        with pytest.raises(OutOfBoundsError):
            getattr(calendar, method)(array, *arguments[1:])


@pytest.mark.parametrize("method", ["count", "workdays", "workdays_array", "closed_days"])
def test_a_reversed_range_is_refused(method: str) -> None:
    """The end may not be before the start; an empty range is empty, wherever it lies."""
    with pytest.raises(InvalidInputError, match="end=2024-03-01 is before start=2024-03-02"):
        getattr(EASTER, method)("2024-03-02", "2024-03-01")
    assert EASTER.count("1990-01-01", "1990-01-01") == 0


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array(["2024-03-04T09:30"], dtype="datetime64[m]"), id="time-of-day"),
        pytest.param(np.array(["NaT"], dtype="datetime64[D]"), id="missing"),
        pytest.param(np.array([20240304]), id="numbers"),
    ],
)
def test_an_array_of_what_is_no_day_is_refused(array: Any) -> None:
    """Times of day, missing values and numbers are no days, also inside an array."""
    with pytest.raises(InvalidInputError, match=r"datetime64\[D\]"):
        EASTER.is_workday(array)


def test_nth_workday_of_month_quarter_and_year() -> None:
    """Workdays are counted from either end of a month, a quarter or a year."""
    calendar = WorkdayCalendar.named("XECB")
    assert str(calendar.nth_workday(2024, 3, 1)) == "2024-03-01"
    assert str(calendar.nth_workday(2024, 3, -1)) == "2024-03-28"
    assert str(calendar.nth_workday(2024, 5, 1)) == "2024-05-02"
    assert str(calendar.nth_workday_of_quarter(2024, 2, 1)) == "2024-04-02"
    assert str(calendar.nth_workday_of_quarter(2024, 1, -1)) == "2024-03-28"
    assert str(calendar.nth_workday_of_year(2024, 1)) == "2024-01-02"
    assert str(calendar.nth_workday_of_year(2024, -1)) == "2024-12-31"


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("nth_workday", (2024, 3, 0)),
        ("nth_workday", (2024, 3, 24)),
        ("nth_workday", (2024, 13, 1)),
        ("nth_workday_of_quarter", (2024, 5, 1)),
        ("nth_workday_of_year", (2024, -400)),
    ],
    ids=str,
)
def test_no_such_workday(method: str, arguments: tuple[int, ...]) -> None:
    """A zeroth workday, one too many, and a month or quarter that does not exist are errors."""
    with pytest.raises(InvalidInputError):
        getattr(WorkdayCalendar.named("XECB"), method)(*arguments)
