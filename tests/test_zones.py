"""Machines with different time-zone files, each as a process with its own `PYTHONTZPATH`.

British Columbia keeps daylight time all year from 2026-11-01 on, by releases of late 2026. A
machine with older files is made here by giving Vancouver the rules of Los Angeles.
"""

import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

DEFINE = """
import warnings
from dagster._core.definitions.partitions.snap import TimeWindowPartitionsSnap
from dagster._serdes import serialize_value
from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition

calendar = WorkdayCalendar.build("YVR", "{first}", "{last}", holidays=["2026-12-25"])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    days = WorkdayPartitionsDefinition(calendar, "America/Vancouver")
"""
WARNING = DEFINE + "print(*(str(w.message) for w in caught))"
SNAPSHOT = DEFINE + "print(serialize_value(TimeWindowPartitionsSnap.from_def(days)))"
WINDOW = """
import sys
from datetime import UTC, datetime
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._serdes import deserialize_value

days = deserialize_value(sys.stdin.read()).get_partitions_definition()
start = days.time_window_for_partition_key("2026-11-30").start
with partition_loading_context(datetime(2027, 4, 9, tzinfo=UTC)):
    print(start.astimezone(UTC).isoformat(), days.has_partition_key("2026-12-25"))
"""


@pytest.fixture(scope="module")
def old_files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of zone files in which Vancouver still changes its clocks."""
    folder = tmp_path_factory.mktemp("zones")
    with resources.as_file(resources.files("tzdata") / "zoneinfo") as package:
        shutil.copytree(package, folder, dirs_exist_ok=True)
    shutil.copy(folder / "America" / "Los_Angeles", folder / "America" / "Vancouver")
    return str(folder)


def run(script: str, zone_files: str, stdin: str = "") -> str:
    """What a process with these zone files prints; none are those of the `tzdata` package."""
    result = subprocess.run(
        [sys.executable, "-c", script],
        input=stdin,
        env={"PYTHONTZPATH": zone_files, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def test_z08_other_zone_files_are_warned_of(old_files: str) -> None:
    """Z08: the sentence names zone, date and cure; with the package's files there is none."""
    script = WARNING.format(first="2026-01-01", last="2027-03-31")
    assert "timezone=America/Vancouver: this machine's time-zone files" in run(script, old_files)
    assert "disagree from 2026-11-02 on" in run(script, old_files)
    assert "PYTHONTZPATH" in run(script, old_files)
    assert run(script, "") == ""


def test_z08_dates_on_which_the_files_agree_need_no_warning(old_files: str) -> None:
    """Z08: a calendar that ends before the difference is the same everywhere."""
    assert run(WARNING.format(first="2026-01-01", last="2026-10-30"), old_files) == ""


def test_z08_why_it_matters(old_files: str) -> None:
    """Z08: a webserver with other files than the code server has another window, and a holiday."""
    snapshot = SNAPSHOT.format(first="2026-01-01", last="2027-03-31")
    by_package, by_old_files = run(snapshot, ""), run(snapshot, old_files)
    assert run(WINDOW, "", by_package) == "2026-11-30T07:00:00+00:00 False"
    assert run(WINDOW, old_files, by_old_files) == "2026-11-30T08:00:00+00:00 False"
    assert run(WINDOW, "", by_old_files) == "2026-11-30T07:00:00+00:00 True"
