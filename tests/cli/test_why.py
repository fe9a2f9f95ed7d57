"""The sentences of `workday-assets why`, word by word, for every verdict."""

from __future__ import annotations

from typing import Any

import pytest

from workday_assets.cli.why import sentences

WORKDAY: dict[str, Any] = {
    "date": "2026-10-29",
    "weekday": "Thursday",
    "calendar": "XECB",
    "timezone": "Europe/Berlin",
    "workday": True,
    "reason": "workday",
    "interval": ["2026-10-29T00:00:00+01:00", "2026-10-30T00:00:00+01:00"],
    "run_after": "2026-10-30T08:00:00+01:00",
    "next": "The next interval, 2026-10-30, may run from 2026-10-31 08:00 Europe/Berlin on.",
}
FIRST = (
    "2026-10-29, a Thursday, is a workday of XECB: its interval is 2026-10-29 00:00 to"
    " 2026-10-30 00:00 Europe/Berlin, and it may run from 2026-10-30 08:00 on."
)
VERDICTS = [
    (
        "waiting",
        "it may run from 2026-10-30 08:00 Europe/Berlin",
        None,
        "a and b: waiting; it may run from 2026-10-30 08:00 Europe/Berlin.",
    ),
    (
        "in_flight",
        "a run of it has not ended",
        "STARTED",
        "a and b: in flight; a run of it has not ended (newest run 0123abcd, STARTED).",
    ),
    (
        "done",
        "it is materialized",
        "SUCCESS",
        "a and b: done; it is materialized (newest run 0123abcd, SUCCESS).",
    ),
    (
        "failed",
        "it failed 3 times, and 2 retries are allowed",
        "FAILURE",
        "a and b: failed; it failed 3 times, and 2 retries are allowed (newest run 0123abcd,"
        " FAILURE).",
    ),
    (
        "skipped",
        "only the newest 5 workdays are made up, from 2026-10-30 on",
        None,
        "a and b: skipped; only the newest 5 workdays are made up, from 2026-10-30 on.",
    ),
    (
        "not_ready",
        "the source has not published 2026-10-29 yet",
        None,
        "a and b: not ready; the source has not published 2026-10-29 yet.",
    ),
    (
        "due",
        "it is complete and not done",
        None,
        "a and b: due; it is complete and not done.",
    ),
]


@pytest.mark.parametrize(
    ("verdict", "reason", "status", "sentence"), VERDICTS, ids=[v[0] for v in VERDICTS]
)
def test_a_workday(verdict: str, reason: str, status: str | None, sentence: str) -> None:
    """Assets with the same verdict share a sentence, which names the run where there is one."""
    run = {"run": "0123abcd-4567" if status else None, "run_status": status}
    rows = [{"asset": name, "verdict": verdict, "reason": reason, **run} for name in ("a", "b")]
    assert list(sentences({**WORKDAY, "assets": rows})) == [FIRST, sentence, WORKDAY["next"]]


def test_a_closed_day() -> None:
    """A closed day says its reason and the workdays around it."""
    answer = {
        "date": "2026-12-25",
        "weekday": "Friday",
        "calendar": "XECB",
        "workday": False,
        "reason": "Christmas Day",
        "neighbours": ["2026-12-24", "2026-12-28"],
    }
    assert list(sentences(answer)) == [
        "2026-12-25, a Friday, is closed in XECB: Christmas Day.",
        "Nearest workdays: 2026-12-24 and 2026-12-28.",
    ]
