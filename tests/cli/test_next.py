"""`workday-assets next`: the clock is the real one, so what is checked holds at any time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from workday_assets.cli import main


def run(*words: str, code: int = 0) -> str:
    """What the command prints; its exit code must be `code`."""
    result = CliRunner().invoke(main, ["next", *words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def rows(*words: str) -> list[dict[str, Any]]:
    """The rows as data."""
    found: list[dict[str, Any]] = json.loads(run(*words, "--json"))
    return found


def test_intervals_are_workdays_in_order() -> None:
    """Twenty coming intervals: weekdays, each longer than 22 hours, not runnable before its end."""
    found = rows("-n", "20")
    assert len(found) == 20
    days = [datetime.fromisoformat(row["day"]).date() for row in found]
    assert days == sorted(set(days))
    assert {day.weekday() for day in days} <= {0, 1, 2, 3, 4}
    now = datetime.now(UTC)
    for row, day in zip(found, days, strict=True):
        start, end, after = (datetime.fromisoformat(row[k]) for k in ("start", "end", "run after"))
        assert (start.date(), end.date()) == (day, day + timedelta(days=1))
        assert end == after
        assert after > now
        assert datetime.fromisoformat(row["run after UTC"]) == after


def test_cron_is_pinned_to_the_clock() -> None:
    """Every quarter of an hour means minute 0, 15, 30 and 45."""
    found = [
        datetime.fromisoformat(row["tick"]) for row in rows("-n", "8", "--cron", "*/15 * * * *")
    ]
    assert {tick.minute for tick in found} == {0, 15, 30, 45}
    assert found[0] > datetime.now(UTC)


def test_a_period_counts_from_its_start() -> None:
    """Every day from 14:37 means 14:37, whatever the calendar or the season says."""
    found = rows("-n", "400", "--every", "1d", "--start", "2026-01-15T14:37")
    assert {row["tick"][11:16] for row in found} == {"14:37"}
    assert len({row["tick"][:10] for row in found}) == 400


def test_text_fits_a_narrow_terminal() -> None:
    """The table needs no more than 80 columns."""
    said = run("-n", "3")
    assert max(map(len, said.splitlines())) <= 80
    assert len(said.splitlines()) == 3 + 3 + 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--cron", "61 * * * *"), "is not a cron expression"),
        (("--every", "1x", "--start", "2026-01-15T14:37"), "is not a period"),
        (("--every", "1d", "--start", "2026-02-30T00:00"), "is not a time"),
        (("--every", "1d", "--start", "2026-01-15T00:00+01:00"), "carries a zone"),
        (("--every", "1d"), "do not go together"),
        (("--cron", "* * * * *", "--every", "1d", "--start", "2026-01-01"), "do not go together"),
    ],
    ids=["cron", "period", "start", "zone", "no-start", "both"],
)
def test_bad_arguments(words: tuple[str, ...], sentence: str) -> None:
    """Each is one sentence that names the option, and exit code 2."""
    assert sentence in run(*words, code=2)
