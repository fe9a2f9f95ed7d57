"""A calendar as an asset: what the lineage shows of it."""

from datetime import time

import dagster as dg

from workday_assets import WorkdayCalendar
from workday_assets.calendar_asset import calendar_asset

CALENDAR = WorkdayCalendar.build(
    "OWN",
    "2026-01-01",
    "2027-01-15",
    holidays={"2026-01-01": "New Year's Day", "2027-01-01": "New Year's Day"},
    closures={"2026-03-02": "Storm"},
    extra_workdays={"2026-01-03": "for the 2nd of March"},
    half_days={"2026-12-24": time(13)},
)


def test_years_are_told_by_their_exceptions() -> None:
    """A row a year: 2026 has 261 weekdays, less two closed, and a Saturday; 2027 is cut off."""
    metadata = calendar_asset(CALENDAR).metadata
    shown = metadata["workday/years"]
    assert isinstance(shown, dg.MarkdownMetadataValue)
    assert shown.md_str is not None
    assert shown.md_str.splitlines()[2:] == [
        "| 2026 | 260 | Thu 1 Jan New Year's Day; Sat 3 Jan open, for the 2nd of March;"
        " Mon 2 Mar Storm; Thu 24 Dec closes 13:00 |",
        "| 2027 | 10 known | Fri 1 Jan New Year's Day |",
    ]


def test_asset_says_what_it_is() -> None:
    """Key, bounds, and the fingerprint that materializations name."""
    spec = calendar_asset(CALENDAR)
    assert spec.key == dg.AssetKey(["calendar", "OWN"])
    assert spec.description is not None
    assert "2026-01-01 to 2027-01-15, both included" in spec.description
    assert spec.metadata["workday/fingerprint"] == CALENDAR.fingerprint
