"""What calendar questions cost, as ratios to bare list and array operations in the same run.

Run ``python benchmarks/calendar_ops.py``; exit code 1 when a ratio or the load time is above its
limit. Airflow's example (``AfterWorkdayTimetable``) asks pandas for the holidays of every day it
looks at; the last row walks as it does.
"""

from __future__ import annotations

import sys
import timeit
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from importlib.resources import files

import numpy as np

from workday_assets import WorkdayCalendar
from workday_assets.calendars import tables

DAY = date(2020, 5, 4)
START, END = date(2001, 1, 1), date(2026, 1, 1)


def best(call: Callable[[], object], number: int = 2000) -> float:
    """Microseconds of one call, the best of seven rounds."""
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def airflow_steps(count: int) -> date:
    """`count` workdays forward as Airflow's example walks: pandas is asked about every weekday."""
    from pandas.tseries.holiday import USFederalHolidayCalendar

    holidays = USFederalHolidayCalendar()
    day = datetime.combine(DAY, time(0))
    for _ in range(count):
        day += timedelta(days=1)
        while day.weekday() > 4 or day in holidays.holidays(start=day, end=day).to_pydatetime():
            day += timedelta(days=1)
    return day.date()


def main() -> int:
    """Prints the table; 1 when a limit is broken."""
    calendar = WorkdayCalendar.named("XECB")
    first, last = calendar.first_date, calendar.last_date
    days = calendar.workdays(first, last + timedelta(days=1))
    array = np.array(days, dtype="datetime64[D]")
    low, high = bisect_left(days, START), bisect_left(days, END)
    file = files("workday_assets.calendars") / "data" / "XECB.csv"

    def bare_offset() -> date:
        return days[bisect_left(days, DAY) + 5]

    rows: list[tuple[str, Callable[[], object], str, Callable[[], object], float]] = [
        (
            "is_workday",
            lambda: calendar.is_workday(DAY),
            "bisect",
            lambda: bisect_left(days, DAY),
            3,
        ),
        ("next", lambda: calendar.next(DAY), "bisect", lambda: bisect_right(days, DAY), 3),
        ("previous", lambda: calendar.previous(DAY), "bisect", lambda: bisect_left(days, DAY), 3),
        ("offset 5", lambda: calendar.offset(DAY, 5), "bisect", bare_offset, 3),
        (
            "25 years as a list",
            lambda: calendar.workdays(START, END),
            "numpy slice as a list",
            array[low:high].tolist,
            3,
        ),
        (
            "25 years as an array",
            lambda: calendar.workdays_array(START, END),
            "numpy slice between two searchsorted",
            lambda: array[
                slice(*np.searchsorted(array, [np.datetime64(START), np.datetime64(END)]))
            ],
            3,
        ),
    ]
    print(f"{'question':24} {'us':>9}  {'to compare':38} {'us':>9} {'ratio':>7}")
    broken = 0
    for name, ours, bare_name, bare, limit in rows:
        cost, bare_cost = best(ours), best(bare)
        broken += cost > limit * bare_cost
        print(f"{name:24} {cost:9.3f}  {bare_name:38} {bare_cost:9.3f} {cost / bare_cost:7.2f}")
    load = best(lambda: tables.loads(file.read_text("utf-8"), file), 20) / 1000
    broken += load > 5
    step, theirs = best(lambda: calendar.next(DAY)), best(lambda: airflow_steps(50), 1) / 50
    print(f"load a frozen calendar: {load:.2f} ms (limit 5 ms)")
    print(f"a step of Airflow's example: {theirs / 1000:.1f} ms, {theirs / step:,.0f} times ours")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
