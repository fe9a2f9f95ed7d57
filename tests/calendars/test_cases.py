"""Failures that people reported in public, each with its right answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workday_assets import WorkdayCalendar
from workday_assets.errors import InvalidInputError, OutOfBoundsError

ANSWERS = Path(__file__).parents[1] / "answers"
CASES = json.loads((ANSWERS / "calendar_cases.json").read_text("utf-8"))


def build(given: dict[str, Any]) -> WorkdayCalendar:
    """The calendar of a case, over all years that cases ask about."""
    return WorkdayCalendar.build(
        "case",
        "1970-01-01",
        "2030-12-31",
        weekend=given.get("weekend_rules", (5, 6)),
        holidays=given.get("holidays", ()),
        extra_workdays=given.get("extra", ()),
    )


def solve(case: dict[str, Any]) -> object:
    """What the public API answers to a case, as plain JSON values."""
    if case["op"] == "matrix":
        return {
            name: WorkdayCalendar.named(name).is_workday(case["date"]) for name in case["expect"]
        }
    calendar = build(case["calendar"])
    if case["op"] == "workdays":
        return [str(day) for day in calendar.workdays(case["start"], case["end"])]
    if case["op"] == "is_workday":
        return {day: calendar.is_workday(day) for day in case["expect"]}
    if case["op"] == "next":
        return str(calendar.next(case["key"]))
    return calendar.count(case["start"], case["end"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    """The calendar gives the right answer to a case from the field."""
    assert solve(case) == case["expect"], case["why"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Adak"])
def test_p02_answers_do_not_depend_on_the_machines_zone(zone: str) -> None:
    """P02: a process in another zone gives the same workdays."""
    code = (
        "from workday_assets import WorkdayCalendar;"
        "print(*WorkdayCalendar.named('XECB').workdays('2024-12-24', '2024-12-31'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TZ": zone},
    )
    assert found.stdout.split() == ["2024-12-24", "2024-12-27", "2024-12-30"]


def test_a08_an_override_is_visible_in_the_provenance() -> None:
    """A08: who closes 1 October 2020 in Tokyo sees it in the provenance of the copy."""
    shipped = WorkdayCalendar.named("XTKS")
    traded = shipped.with_closures({"2020-10-01": "system failure"})
    assert (shipped.is_workday("2020-10-01"), traded.describe("2020-10-01")) == (
        True,
        "system failure",
    )
    assert traded.provenance.endswith("overlay of closures: 2020-10-01 (system failure)")


def test_a10_beyond_the_last_published_day_is_refused_by_name() -> None:
    """A10: a calendar loads, answers to its last day, and names that day beyond it."""
    calendar = WorkdayCalendar.named("CN")
    assert calendar.is_workday("2026-12-31")
    with pytest.raises(OutOfBoundsError, match="2026-12-31"):
        calendar.is_workday("2027-01-01")


def test_a11_an_unpublished_year_is_not_answered() -> None:
    """A11: CN 2027 is refused although the library answers for it."""
    import holidays

    assert len(holidays.country_holidays("CN", years=2027)) > 0
    with pytest.raises(OutOfBoundsError):
        WorkdayCalendar.named("CN").workdays("2027-01-01", "2027-12-31")


@pytest.mark.parametrize("bounds", [("2021-01-01", "2021-12-31"), ("2021-12-31", "2021-12-31")])
def test_o02_a_day_observed_in_the_year_before_is_found_in_any_range(
    bounds: tuple[str, str],
) -> None:
    """O02: 2021-12-31 is closed when only 2021, or only that day, is built."""
    first, last = bounds
    from pandas.tseries.holiday import USFederalHolidayCalendar

    for calendar in (
        WorkdayCalendar.from_holidays("US", first, last),
        WorkdayCalendar.from_pandas(USFederalHolidayCalendar, first, last),
        WorkdayCalendar.named("US", first, last),
    ):
        assert calendar.describe("2021-12-31").startswith("New Year's Day")


def test_o10_half_days_are_not_closures() -> None:
    """O10: offices that closed at noon had a workday; whole-day orders closed them."""
    calendar = WorkdayCalendar.named("US-OPM")
    open_days = ["2002-12-24", "2009-12-24", "2015-12-24", "2024-12-26"]
    closed_days = ["2014-12-26", "2018-12-24", "2019-12-24", "2020-12-24"]
    closed_days += ["2024-12-24", "2025-12-24", "2025-12-26"]
    assert [calendar.is_workday(day) for day in open_days] == [True] * 4
    assert [calendar.is_workday(day) for day in closed_days] == [False] * 7


@pytest.mark.parametrize(
    "instant",
    [
        pytest.param(datetime(2024, 12, 25, 5, tzinfo=UTC), id="aware"),
        pytest.param(datetime(2024, 12, 25, 9, 30), id="time-of-day"),  # noqa: DTZ001
        pytest.param(datetime(2024, 12, 25), id="midnight"),  # noqa: DTZ001
        pytest.param(pd.Timestamp("2024-12-25", tz="UTC"), id="aware-timestamp"),
        pytest.param(pd.Timestamp("2024-12-25 09:30"), id="timestamp-with-time"),
    ],
)
def test_n01_an_instant_is_no_holiday(instant: datetime) -> None:
    """N01: an instant among the holidays is refused, with the cure, and never closes nothing."""
    with pytest.raises(InvalidInputError, match=r"holidays=.*convert it .*\.date\(\)"):
        WorkdayCalendar.build("X", "2024-01-01", "2024-12-31", holidays=[instant])


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(date(2024, 12, 25), id="date"),
        pytest.param("2024-12-25", id="iso"),
        pytest.param(np.datetime64("2024-12-25"), id="datetime64"),
        pytest.param(np.datetime64("2024-12-25T00:00:00"), id="datetime64-midnight"),
        pytest.param(pd.Timestamp("2024-12-25"), id="timestamp"),
    ],
)
def test_n02_natural_spellings_close_the_local_date(spelling: Any) -> None:
    """N02: each natural way to write a date closes that date, and asks about it."""
    calendar = WorkdayCalendar.build("X", "2024-01-01", "2024-12-31", holidays=[spelling])
    assert calendar.holidays == {date(2024, 12, 25): "holiday"}
    assert calendar.is_workday(spelling) is False


@pytest.mark.parametrize(
    "value",
    [
        "2024-02-30",
        "20241225",
        "2024-12-25T00:00",
        "",
        "NaT",
        np.datetime64("NaT"),
        pd.NaT,
        np.datetime64("2024-12-25T09:30"),
        None,
        20241225,
        float("nan"),
    ],
    ids=repr,
)
def test_n02_what_is_no_date_raises_when_the_calendar_is_built(value: Any) -> None:
    """N02: 30 February and other values that are no date are refused, naming the parameter."""
    with pytest.raises(InvalidInputError, match=r"^holidays="):
        WorkdayCalendar.build("X", "2024-01-01", "2024-12-31", holidays=[value])
