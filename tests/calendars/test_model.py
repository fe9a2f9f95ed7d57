"""The calendar as a value: layers, bounds, reasons, equality, overlays."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import pickle
from datetime import date, time
from typing import Any

import pytest

from workday_assets import WorkdayCalendar
from workday_assets.errors import ClosedDayError, InvalidInputError, OutOfBoundsError


def july(**layers: Any) -> WorkdayCalendar:
    """A calendar of the two weeks from Monday 1 to Sunday 14 July 2024."""
    return WorkdayCalendar.build("JULY", "2024-07-01", "2024-07-14", **layers)


def days(calendar: WorkdayCalendar) -> list[int]:
    """The workdays of such a calendar, as days of July."""
    return [day.day for day in calendar.workdays("2024-07-01", "2024-07-15")]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        pytest.param({}, [1, 2, 3, 4, 5, 8, 9, 10, 11, 12], id="weekend"),
        pytest.param({"weekend": ()}, list(range(1, 15)), id="no-weekend"),
        pytest.param({"weekend": (4, 5)}, [1, 2, 3, 4, 7, 8, 9, 10, 11, 14], id="friday-saturday"),
        pytest.param({"weekend": range(6)}, [7, 14], id="sundays-only"),
        pytest.param(
            {"weekend": [(None, (4, 5)), ("2024-07-08", (5, 6))]},
            [1, 2, 3, 4, 7, 8, 9, 10, 11, 12],
            id="dated-weekend",
        ),
        pytest.param({"holidays": ["2024-07-04"]}, [1, 2, 3, 5, 8, 9, 10, 11, 12], id="holiday"),
        pytest.param({"closures": ["2024-07-04"]}, [1, 2, 3, 5, 8, 9, 10, 11, 12], id="closure"),
        pytest.param(
            {"extra_workdays": ["2024-07-06"]}, [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12], id="extra"
        ),
        pytest.param(
            {"holidays": ["2024-07-06"], "extra_workdays": ["2024-07-06"]},
            [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12],
            id="extra-beats-weekend-and-holiday",
        ),
        pytest.param(
            {"closures": ["2024-07-04"], "extra_workdays": ["2024-07-04"]},
            [1, 2, 3, 4, 5, 8, 9, 10, 11, 12],
            id="extra-beats-closure",
        ),
        pytest.param(
            {"holidays": ["2024-07-09", "2024-07-04", "2024-07-04", "2024-07-06", "1999-01-01"]},
            [1, 2, 3, 5, 8, 10, 11, 12],
            id="unordered-twice-on-weekend-and-outside",
        ),
        pytest.param(
            {"half_days": {"2024-07-03": "13:00"}},
            [1, 2, 3, 4, 5, 8, 9, 10, 11, 12],
            id="half-day-is-a-workday",
        ),
    ],
)
def test_layers_make_the_workdays(layers: dict[str, Any], expected: list[int]) -> None:
    """Weekend rules, then closures, then extra workdays decide; the later layer wins."""
    assert days(july(**layers)) == expected


def test_every_day_says_why() -> None:
    """Each kind of day has its description, and a range lists its closed days with reasons."""
    calendar = july(
        holidays={"2024-07-04": "Independence Day"},
        closures={"2024-07-04": "flood", "2024-07-09": "storm"},
        extra_workdays={"2024-07-06": "for 9 July"},
        half_days={"2024-07-03": time(13)},
    )
    asked = ["2024-07-02", "2024-07-03", "2024-07-04", "2024-07-06", "2024-07-09"]
    assert [calendar.describe(day) for day in asked] == [
        "workday",
        "half day, closes 13:00",
        "Independence Day; flood",
        "for 9 July",
        "storm",
    ]
    assert calendar.closed_days("2024-07-04", "2024-07-09") == {
        date(2024, 7, 4): "Independence Day; flood",
        date(2024, 7, 7): "weekend",
    }


@pytest.mark.parametrize("method", ["is_workday", "describe", "next", "previous"])
@pytest.mark.parametrize("day", ["2024-06-30", "2024-07-15"], ids=["before", "after"])
def test_a_day_beyond_the_bounds_is_refused(method: str, day: str) -> None:
    """A question outside the bounds is an error that names them, and a LookupError."""
    with pytest.raises(OutOfBoundsError, match="2024-07-01 to 2024-07-14") as raised:
        getattr(july(), method)(day)
    assert isinstance(raised.value, LookupError)
    assert (raised.value.first_date, raised.value.last_date) == (
        date(2024, 7, 1),
        date(2024, 7, 14),
    )


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        pytest.param({"weekend": range(7)}, "all seven", id="seven-day-weekend"),
        pytest.param({"weekend": (5, 7)}, "0 .*Monday.* to 6", id="no-such-weekday"),
        pytest.param({"weekend": ["Sat"]}, "0 .*Monday.* to 6", id="weekday-by-name"),
        pytest.param({"weekend": [("2024-07-05", (5, 6))]}, "no rule for", id="no-first-rule"),
        pytest.param(
            {"weekend": [(None, (5,)), ("2024-07-05", (5,)), ("2024-07-05", (6,))]},
            "two rules",
            id="two-rules-on-one-date",
        ),
        pytest.param(
            {"holidays": [f"2024-07-{day:02}" for day in range(1, 15)]}, "no workday", id="empty"
        ),
        pytest.param({"half_days": {"2024-07-03": "1pm"}}, "'13:00'", id="time-by-hand"),
        pytest.param({"half_days": {"2024-07-03": "13:00+02:00"}}, "without a", id="zoned-time"),
        pytest.param({"extra_workdays": ["2024-02-30"]}, "extra_workdays=", id="no-such-day"),
    ],
)
def test_what_cannot_be_a_calendar_is_refused(arguments: dict[str, Any], match: str) -> None:
    """An impossible argument is a ValueError that names it."""
    with pytest.raises(InvalidInputError, match=match) as raised:
        july(**arguments)
    assert isinstance(raised.value, ValueError)


def test_reversed_bounds_are_refused() -> None:
    """A calendar that ends before it begins is an error."""
    with pytest.raises(InvalidInputError, match="is before first"):
        WorkdayCalendar.build("X", "2024-07-02", "2024-07-01")


def test_equality_is_by_content() -> None:
    """Names, reasons, provenance and the layer do not count; days, bounds and half days do."""
    one = july(holidays={"2024-07-04": "Independence Day", "2024-07-06": "a Saturday"})
    same = WorkdayCalendar.build(
        "OTHER", "2024-07-01", "2024-07-14", closures=["2024-07-04"], provenance="elsewhere"
    )
    assert (one, hash(one), one.fingerprint) == (same, hash(same), same.fingerprint)
    others = [
        july(),
        july(holidays=["2024-07-05"]),
        one.with_half_days({"2024-07-03": "13:00"}),
        one.with_half_days({"2024-07-03": "13:30"}),
        one.between(last="2024-07-13"),
    ]
    assert len({one, *others}) == 6
    assert one != "JULY"


def test_fingerprint_is_the_hash_of_the_text_that_its_definition_gives() -> None:
    """SHA-256 of bounds, workdays and closing times, so that another program can check it."""
    calendar = july(holidays=["2024-07-04"], half_days={"2024-07-03": "13:00"})
    lines = ["2024-07-01", "2024-07-14", "2024-07-01", "2024-07-02", "2024-07-03 13:00:00"]
    lines += ["2024-07-05", *(f"2024-07-{day:02}" for day in range(8, 13))]
    assert calendar.fingerprint == hashlib.sha256("\n".join(lines).encode()).hexdigest()


def test_a_calendar_is_frozen() -> None:
    """Neither a field nor a layer can be changed in place."""
    calendar = july(holidays=["2024-07-04"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        calendar.name = "X"  # type: ignore[misc]
    with pytest.raises(TypeError):
        calendar.holidays[date(2024, 7, 5)] = "X"  # type: ignore[index]
    calendar.workdays("2024-07-01", "2024-07-15").clear()
    assert len(days(calendar)) == 9


def test_a_calendar_survives_copies() -> None:
    """Pickle, deepcopy and the dictionary of JSON values keep content, reasons and provenance."""
    calendar = july(
        weekend=[(None, (4, 5)), ("2024-07-08", (5, 6))],
        holidays={"2024-07-04": "Independence Day"},
        closures={"2024-07-09": "storm"},
        extra_workdays={"2024-07-06": "for 9 July"},
        half_days={"2024-07-03": "13:00"},
        provenance="a test",
    )
    copies = [
        pickle.loads(pickle.dumps(calendar)),  # noqa: S301 - our own bytes
        copy.deepcopy(calendar),
        WorkdayCalendar.from_dict(calendar.to_dict()),
    ]
    for each in copies:
        assert (each, each.to_dict()) == (calendar, calendar.to_dict())


def test_a_dictionary_with_a_field_missing_is_refused() -> None:
    """`from_dict` names the field that is not there."""
    data = july().to_dict()
    del data["holidays"]
    with pytest.raises(InvalidInputError, match="'holidays'"):
        WorkdayCalendar.from_dict(data)


def test_overlays_are_copies_with_the_later_one_on_top() -> None:
    """Closing, opening and shortening a day give copies; the original stays as it was."""
    calendar = july(extra_workdays=["2024-07-06"])
    closed = calendar.with_closures({"2024-07-06": "flood", "2024-07-04": "storm"})
    opened = closed.with_extra_workdays({"2024-07-04": "needed"})
    assert days(calendar) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    assert days(closed) == [1, 2, 3, 5, 8, 9, 10, 11, 12]
    assert days(opened) == [1, 2, 3, 4, 5, 8, 9, 10, 11, 12]
    assert opened.describe("2024-07-04") == "needed"
    shorter = opened.with_half_days({"2024-07-03": "13:00"})
    assert shorter.half_days == {date(2024, 7, 3): time(13)}


def test_a_closed_day_cannot_be_a_half_day() -> None:
    """Shortening a closed day is an error, and closing a half day removes its time."""
    with pytest.raises(ClosedDayError, match="weekend"):
        july().with_half_days({"2024-07-06": "13:00"})
    half = july(half_days={"2024-07-03": "13:00"})
    assert half.with_closures(["2024-07-03"]).half_days == {}


@pytest.mark.parametrize("method", ["with_closures", "with_extra_workdays"])
def test_an_overlay_beyond_the_bounds_is_refused(method: str) -> None:
    """An overlay for a day that the calendar does not vouch for is an error."""
    with pytest.raises(OutOfBoundsError):
        getattr(july(), method)(["2024-07-15"])


def test_narrower_bounds() -> None:
    """`between` keeps the days inside, and refuses bounds that are wider than the calendar's."""
    narrow = july(holidays=["2024-07-04"]).between("2024-07-03", "2024-07-08")
    assert narrow.workdays("2024-07-03", "2024-07-09") == [
        date(2024, 7, 3),
        date(2024, 7, 5),
        date(2024, 7, 8),
    ]
    with pytest.raises(OutOfBoundsError):
        july().between(first="2024-06-30")
