"""Dagster's own class in the web server and the daemon: as fast as ours, its answers its own."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime
from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.timestamp import TimestampWithTimezone
from support.partition_answers import DEFINITIONS, host, instants, keys_and_windows
from support.projects import temporary_folder

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition
from workday_assets.host import FASTER, ORIGINALS, SWITCH

BASE = dg.TimeWindowPartitionsDefinition
CHINA = WorkdayPartitionsDefinition(
    WorkdayCalendar.named("CN"), "Asia/Shanghai", start="2019-01-01"
)
#: Samoa skipped Friday 2011-12-30.
SAMOA = WorkdayPartitionsDefinition(
    WorkdayCalendar.build("SAMOA", "2011-12-01", "2012-01-31", holidays={"2011-12-30": "skipped"}),
    "Pacific/Apia",
)


@pytest.fixture
def dagsters_own(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The base class as Dagster has it; afterwards as it was."""
    for name, method in ORIGINALS.items():
        monkeypatch.setattr(BASE, name, method)
    return monkeypatch


def speed_up(patch: pytest.MonkeyPatch) -> None:
    """The base class as the web server has it, until the test ends."""
    for name, function in FASTER.items():
        patch.setattr(BASE, name, function)


@pytest.mark.parametrize(
    "ours",
    [*DEFINITIONS.values(), CHINA, SAMOA],
    ids=[*DEFINITIONS, "china-shanghai", "samoa-apia"],
)
def test_every_answer_is_dagsters_own(
    ours: WorkdayPartitionsDefinition, dagsters_own: pytest.MonkeyPatch
) -> None:
    """What every public method answers is the same with and without our methods, at many nows."""
    nows = instants(ours)[::5]
    expected = []
    definition = host(ours)
    identity = (hash(definition), definition.get_serializable_unique_identifier())
    for now in nows:
        with partition_loading_context(now):
            expected.append(keys_and_windows(definition))
    speed_up(dagsters_own)
    definition = host(ours)
    assert (hash(definition), definition.get_serializable_unique_identifier()) == identity
    for now, answers in zip(nows, expected, strict=True):
        with partition_loading_context(now):
            assert keys_and_windows(definition) == answers, now


MIDNIGHT = TimestampWithTimezone(pendulum.datetime(2026, 1, 6).timestamp(), "UTC")
OTHERS: dict[str, dict[str, Any]] = {
    "no exclusions": {},
    "no end": {"exclusions": ["0 0 * * 0,6"], "end": None},
    "open days": {"exclusions": ["0 0 * * 0,6"], "end_offset": 2, "end": None},
    "another cron exclusion": {"exclusions": ["0 0 1 * *", MIDNIGHT]},
    "a cron exclusion of another hour": {"exclusions": ["0 1 * * *"]},
    "hours": {"cron_schedule": "0 * * * *", "fmt": "%Y-%m-%d %H", "exclusions": ["0 0 * * *"]},
    "not from midnight": {"cron_schedule": "0 7 * * *", "exclusions": ["0 7 * * 0,6"]},
    "Sunday as 7": {"exclusions": ["0 0 * * 7", MIDNIGHT]},
    "months": {"exclusions": ["0 0 * 1,3 2"]},
}


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_other_definitions_answer_as_before(
    options: dict[str, Any], dagsters_own: pytest.MonkeyPatch
) -> None:
    """Definitions of others, whatever their exclusions, keep Dagster's answers."""
    fields = {"cron_schedule": "0 0 * * *", "fmt": "%Y-%m-%d", "end": date(2026, 3, 1)} | options
    if isinstance(fields["end"], date):
        fields["end"] = fields["end"].strftime(fields["fmt"])

    def answers() -> list[Any]:
        start = date(2026, 1, 1).strftime(fields["fmt"])
        definition = BASE(start=start, timezone="Europe/Berlin", **fields)
        with partition_loading_context(pendulum.datetime(2026, 2, 4, 12)):
            keys = definition.get_partition_keys()
            windows = [definition.time_window_for_partition_key(key) for key in keys]
        starts = [definition.is_window_start_excluded(window.start) for window in windows]
        noon = definition.is_window_start_excluded(pendulum.datetime(2026, 1, 3, 12))
        return [hash(definition), keys, windows, starts, noon]

    expected = answers()
    speed_up(dagsters_own)
    assert answers() == expected


def test_a_table_is_made_for_each_of_ours(dagsters_own: pytest.MonkeyPatch) -> None:
    """Ours with closed days are answered by bisection, but where a zone skips a date."""
    speed_up(dagsters_own)
    asked = []

    def original(definition: BASE, _: datetime) -> bool:
        asked.append(definition)
        return False

    dagsters_own.setitem(ORIGINALS, "is_window_start_excluded", original)
    with_closed_days = [ours for ours in (*DEFINITIONS.values(), CHINA) if ours.exclusions]
    for ours in with_closed_days:
        definition = host(ours)
        definition.is_window_start_excluded(definition.start)
    assert (len(with_closed_days), asked) == (7, [])
    samoa = host(SAMOA)
    samoa.is_window_start_excluded(samoa.start)
    assert asked == [samoa]


LOOK = """
import dagster as dg
from workday_assets.host import FASTER
from workday_assets.storage.state import find_instance
with find_instance().open():
    print(all(getattr(dg.TimeWindowPartitionsDefinition, n) is f for n, f in FASTER.items()))
"""


@pytest.mark.parametrize(("switch", "expected"), [("", "True"), ("0", "False")])
def test_the_instance_switches_it_on(switch: str, expected: str) -> None:
    """Every process that opens the instance has it, but where the variable is 0."""
    with temporary_folder() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LOOK],
            env={**os.environ, "WORKDAY_ASSETS_HOME": str(folder / "state"), SWITCH: switch},
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.strip() == expected
