"""The check of a calendar's horizon at chosen instants, executed by Dagster."""

import dagster as dg
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from support.ticks import now

from workday_assets import WorkdayCalendar
from workday_assets.audit.calendar_checks import build_calendar_checks
from workday_assets.calendar_asset import calendar_asset
from workday_assets.errors import InvalidInputError

CALENDAR = WorkdayCalendar.build("OWN", "2026-01-01", "2026-12-31")
CASES = [
    ("2026-10-01", True, "WARN", 91),
    ("2026-10-02", False, "WARN", 90),
    ("2026-12-16", False, "WARN", 15),
    ("2026-12-17", False, "ERROR", 14),
    ("2026-12-31", False, "ERROR", 0),
    ("2027-01-05", False, "ERROR", -5),
]


def evaluate(day: str) -> dg.AssetCheckEvaluation:
    """The check's answer at noon of that day."""
    checks = build_calendar_checks([CALENDAR])
    with partition_loading_context(now(f"{day}T12:00")):
        result = dg.materialize(
            [calendar_asset(CALENDAR), *checks], selection=dg.AssetSelection.checks(*checks)
        )
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


@pytest.mark.parametrize(("day", "passed", "severity", "left"), CASES, ids=[c[0] for c in CASES])
def test_horizon(day: str, passed: bool, severity: str, left: int) -> None:
    """A warning from 90 days before the last date on, an error from 14 on, and for ever after."""
    found = evaluate(day)
    assert found.asset_check_key == dg.AssetCheckKey(dg.AssetKey(["calendar", "OWN"]), "horizon")
    assert (found.passed, found.severity.value) == (passed, severity)
    assert found.metadata["workday/days_left"].value == left


def test_words() -> None:
    """It says until when the calendar vouches, and what to do."""
    cure = "freeze one that reaches further (workday-assets freeze OWN --last ...)."
    assert evaluate("2026-12-16").description == (
        f"Calendar OWN vouches for 15 more days, to 2026-12-31; before that, {cure}"
    )
    assert evaluate("2027-01-05").description == (
        f"Calendar OWN ended 2026-12-31: nothing runs after it; {cure}"
    )


def test_no_warning_is_refused() -> None:
    """An error that comes before any warning is a mistake."""
    with pytest.raises(InvalidInputError, match="warn_days=14 must be more than fail_days=14"):
        build_calendar_checks([CALENDAR], warn_days=14)
