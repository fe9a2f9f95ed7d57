"""The report to Dagster in `docs/upstream/`: it holds, its figures are true, its patch works."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.definition import time_window

from workday_assets import WorkdayCalendar

REPORT = Path(__file__).parents[1] / "docs" / "upstream" / "get_partition_key_for_timestamp.md"
ZONE = "America/New_York"
FIRST, PAST = date(2000, 1, 1), date(2027, 1, 1)
STOCK = dg.TimeWindowPartitionsDefinition.get_partition_key_for_timestamp


def block(language: str) -> str:
    """The report's code block of a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", REPORT.read_text("utf-8"), flags=re.DOTALL)
    return str(found)


def test_dagster_still_answers_as_reported() -> None:
    """The reproduction, on plain Dagster in a process of its own, prints what the report says.

    When this turns red, Dagster has mended it: drop the override in `partitions.py`, the rows of
    `docs/host-differences.md` and this report.
    """
    script = ["-W", "ignore", "-c", block("python")]
    result = subprocess.run([sys.executable, *script], capture_output=True, text=True, check=True)
    assert result.stdout == block("text")


@pytest.fixture(scope="module")
def closed() -> list[date]:
    """Mondays to Fridays on which US federal offices are closed."""
    calendar = WorkdayCalendar.named("US")
    listed = (FIRST + timedelta(days=n) for n in range((PAST - FIRST).days))
    return [day for day in listed if day.weekday() < 5 and not calendar.is_workday(day)]


@pytest.fixture(scope="module")
def days(closed: list[date]) -> dg.TimeWindowPartitionsDefinition:
    """Plain Dagster's workdays, from the month before on."""
    return dg.DailyPartitionsDefinition(
        "1999-12-01",
        end_date=str(PAST),
        timezone=ZONE,
        exclusions=["0 0 * * 0,6", *(datetime(d.year, d.month, d.day) for d in closed)],  # noqa: DTZ001
    )


CRONS = {"months": "0 0 1 * *", "quarters": "0 0 1 1,4,7,10 *", "years": "0 0 1 1 *"}


def wrong(days: dg.TimeWindowPartitionsDefinition, cron: str) -> str:
    """How many periods need a day that is not theirs, of how many."""
    periods = dg.TimeWindowPartitionsDefinition(
        start=str(FIRST), end=str(PAST), cron_schedule=cron, fmt="%Y-%m-%d", timezone=ZONE
    )
    mapping, count = dg.TimeWindowPartitionMapping(), 0
    with partition_loading_context(pendulum.datetime(2027, 2, 1)):
        keys = periods.get_partition_keys()
        for key, following in zip(keys, [*keys[1:], str(PAST)], strict=True):
            needed = mapping.get_upstream_mapped_partitions_result_for_partitions(
                periods.subset_with_partition_keys([key]), periods, days
            ).partitions_subset.get_partition_keys()
            count += any(not key <= day < following for day in needed)
    return f"{count} of {len(keys)}"


def reported() -> dict[str, str]:
    """The report's figures."""
    rows = re.findall(r"^\| ([\w ,]+) \| (\d+ of \d+) \|$", REPORT.read_text("utf-8"), re.MULTILINE)
    return {name.partition(",")[0]: figure for name, figure in rows}


def test_figures(days: dg.TimeWindowPartitionsDefinition, closed: list[date]) -> None:
    """Of months, quarters and years measured; of weeks, counted as those that begin closed."""
    found = {name: wrong(days, cron) for name, cron in CRONS.items()}
    listed = [FIRST + timedelta(days=n) for n in range((PAST - FIRST).days - 6)]
    for name, weekday in {"weeks from Monday": 0, "weeks from Sunday": 6}.items():
        begins = [day for day in listed if day.weekday() == weekday]
        shut = [day for day in begins if weekday == 6 or day in closed]
        found[name] = f"{len(shut)} of {len(begins)}"
    assert found == reported()


def patched(folder: Path) -> Callable[..., str]:
    """Dagster's method with the report's patch applied to Dagster's own file."""
    diff = block("diff")
    copy = folder / re.findall(r"^--- a/(.*)$", diff, re.MULTILINE)[0]
    copy.parent.mkdir(parents=True)
    copy.write_text(Path(inspect.getfile(time_window)).read_text("utf-8"), "utf-8")
    subprocess.run(["git", "apply"], input=diff, cwd=folder, text=True, check=True)
    (method,) = [
        node
        for node in ast.walk(ast.parse(copy.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == STOCK.__name__
    ]
    found: dict[str, Any] = {}
    code = compile(ast.Module([method], type_ignores=[]), str(copy), "exec")
    exec(code, vars(time_window) | {"__name__": "patched"}, found)  # noqa: S102 - our own patch
    answer: Callable[..., str] = found[STOCK.__name__]
    return answer


def next_open(day: date, closed: list[date]) -> date:
    """The day itself, or the next that is open."""
    while day.weekday() >= 5 or day in closed:
        day += timedelta(days=1)
    return day


def test_patch(
    days: dg.TimeWindowPartitionsDefinition,
    closed: list[date],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It applies; a start on an excluded day is the next one's, all else is answered as before."""
    method = patched(tmp_path)
    for day in (date(2024, 12, 2) + timedelta(days=n) for n in range(60)):
        for hour in (0, 12):
            instant = pendulum.datetime(day.year, day.month, day.day, hour, tz=ZONE).timestamp()
            assert method(days, instant) == str(next_open(day, closed))
            assert method(days, instant, end_closed=True) == STOCK(days, instant, end_closed=True)
    monkeypatch.setattr(dg.TimeWindowPartitionsDefinition, STOCK.__name__, method)
    assert {name: wrong(days, cron) for name, cron in CRONS.items()} == {
        "months": "0 of 324",
        "quarters": "0 of 108",
        "years": "0 of 27",
    }
