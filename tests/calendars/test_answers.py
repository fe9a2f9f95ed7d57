"""The shipped calendars against days that were checked by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from workday_assets import WorkdayCalendar

ANSWERS = Path(__file__).parents[1] / "answers"
with (ANSWERS / "calendar_days.csv").open(encoding="utf-8") as _file:
    ROWS = list(csv.DictReader(_file))


def answer(calendar: WorkdayCalendar, day: str) -> str:
    """What a calendar says about a day, in the words of the answers."""
    described = calendar.describe(day)
    if not calendar.is_workday(day):
        return "closed"
    if described.startswith("half day, closes "):
        return "half " + described.removeprefix("half day, closes ")
    return "open" if described == "workday" else "extra"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['calendar']}-{row['date']}")
def test_shipped_calendar_agrees_with_hand_checked_day(row: dict[str, str]) -> None:
    """The day is open, closed, half or extra as its source says."""
    found = answer(WorkdayCalendar.named(row["calendar"]), row["date"])
    assert found == row["answer"], f"{row['why']} ({row['source']})"


def test_every_shipped_calendar_has_hand_checked_days_of_both_kinds() -> None:
    """Each calendar of the catalog has closed days and open days a careless rule would close."""
    from workday_assets.calendars import catalog

    kinds = {name: {r["answer"] for r in ROWS if r["calendar"] == name} for name in catalog.names()}
    assert {name for name, found in kinds.items() if not {"open", "closed"} <= found} == set()
