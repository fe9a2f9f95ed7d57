"""Roll-ups, previous days and trailing windows, in both directions, against plain dates."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    previous_workday,
    rollup,
    trailing_workdays,
)
from workday_assets.automation.period_plans import plan_periods
from workday_assets.definitions import defs
from workday_assets.ecb.assets import TIMETABLE

ZONES = {
    "XECB": "Europe/Berlin",
    "US": "America/New_York",
    "XNYS": "America/New_York",
    "GB-ENG": "Europe/London",
    "XTKS": "Asia/Tokyo",
    "CN": "Asia/Shanghai",  # make-up workdays, and from 2004 on only
}
FIRST, PAST = date(2000, 1, 1), date(2027, 1, 1)
WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
MONTHLY = {"month": range(1, 13), "quarter": (1, 4, 7, 10), "year": (1,)}

Keys = Mapping[str, list[str]]


@dataclass(frozen=True)
class Case:
    """Workdays, periods, and which workdays plain dates say are in which period."""

    workdays: WorkdayPartitionsDefinition
    periods: dg.TimeWindowPartitionsDefinition
    days_of: Keys

    @property
    def periods_of_days(self) -> dict[str, str]:
        """The period of each workday that is in one, in order."""
        return {day: period for period, days in self.days_of.items() for day in days}


def starts(unit: str, first: date, past: date) -> list[date]:
    """The first dates of the whole periods in ``first <= day < past``; and the date past the last.

    A unit is a weekday, for the weeks that begin on it, or month, quarter or year.
    """
    days = [first + timedelta(days=n) for n in range((past - first).days + 1)]
    if unit in WEEKDAYS:
        return [day for day in days if (day.weekday() + 1) % 7 == WEEKDAYS.index(unit)]
    return [day for day in days if day.day == 1 and day.month in MONTHLY[unit]]


def periods(unit: str, zone: str, first: date, past: date) -> dg.TimeWindowPartitionsDefinition:
    """Dagster's own definition of the periods between two dates."""
    if unit in WEEKDAYS:
        cron = f"0 0 * * {WEEKDAYS.index(unit)}"
    else:
        cron = f"0 0 1 {','.join(map(str, MONTHLY[unit])) if unit != 'month' else '*'} *"
    return dg.TimeWindowPartitionsDefinition(
        start=str(first), end=str(past), cron_schedule=cron, fmt="%Y-%m-%d", timezone=zone
    )


def build(
    calendar: WorkdayCalendar, zone: str, unit: str, first: date = FIRST, past: date = PAST
) -> Case:
    """The case of a calendar's whole periods between two dates."""
    bounds = starts(unit, first, past)
    days = (first + timedelta(days=n) for n in range((past - first).days))
    known = (day for day in days if calendar.first_date <= day <= calendar.last_date)
    days_of: dict[str, list[str]] = {str(begin): [] for begin in bounds[:-1]}
    for day in known:
        at = bisect_right(bounds, day) - 1
        if calendar.is_workday(day) and 0 <= at < len(days_of):
            days_of[str(bounds[at])].append(str(day))
    workdays = WorkdayPartitionsDefinition(calendar, zone)
    return Case(workdays, periods(unit, zone, first, past), days_of)


@pytest.fixture(autouse=True)
def later() -> Iterator[None]:
    """Every day until 2026 is over."""
    with partition_loading_context(pendulum.datetime(2027, 1, 9)):
        yield


def upstream(
    mapping: dg.PartitionMapping,
    of: dg.TimeWindowPartitionsDefinition,
    to: dg.TimeWindowPartitionsDefinition,
    *keys: str,
) -> list[str]:
    """What the mapping says that the keys need; nothing is needed that does not exist."""
    result = mapping.get_upstream_mapped_partitions_result_for_partitions(
        of.subset_with_partition_keys(keys), of, to
    )
    assert list(result.required_but_nonexistent_partition_keys) == []
    return sorted(result.partitions_subset.get_partition_keys())


def downstream(
    mapping: dg.PartitionMapping,
    of: dg.TimeWindowPartitionsDefinition,
    to: dg.TimeWindowPartitionsDefinition,
    *keys: str,
) -> list[str]:
    """What the mapping says needs one of the keys."""
    subset = mapping.get_downstream_partitions_for_partitions(
        of.subset_with_partition_keys(keys), of, to
    )
    return sorted(subset.get_partition_keys())


#: Every calendar has weeks, and every weekday begins some.
WEEKS = {
    "XECB": ["friday"],
    "US": ["monday"],
    "XNYS": ["tuesday"],
    "GB-ENG": ["wednesday"],
    "XTKS": ["thursday", "saturday"],  # from Saturday 2019-04-27 on ten days were closed
    "CN": ["sunday"],
}
ALL = [(code, unit) for code in ZONES for unit in [*WEEKS[code], *MONTHLY]]


@pytest.mark.parametrize(("code", "unit"), ALL, ids=[f"{code}-{unit}" for code, unit in ALL])
def test_period_is_its_own_workdays(code: str, unit: str) -> None:
    """Every period 2000-2026 maps to its own workdays and no other, and they to it alone."""
    case = build(WorkdayCalendar.named(code), ZONES[code], unit)
    days, whole = case.workdays, case.periods
    found = {period: upstream(rollup(), whole, days, period) for period in case.days_of}
    back = {
        period: downstream(rollup(), days, whole, *inside)
        for period, inside in case.days_of.items()
    }
    assert found == case.days_of
    assert back == {period: [period] if inside else [] for period, inside in case.days_of.items()}


@pytest.mark.parametrize("code", ZONES)
def test_many_periods_are_their_workdays_together(code: str) -> None:
    """All weeks 2000-2026 in one range map to all workdays, and two apart to theirs."""
    case = build(WorkdayCalendar.named(code), ZONES[code], "sunday")
    all_days = [day for inside in case.days_of.values() for day in inside]
    assert upstream(rollup(), case.periods, case.workdays, *case.days_of) == all_days
    apart = list(case.days_of)[300:310:4]
    expected = [day for period in apart for day in case.days_of[period]]
    assert upstream(rollup(), case.periods, case.workdays, *apart) == expected


# Shanghai was shut from 2020-01-24 to 02-02, so the week from Monday 2020-01-27 has no workday.
SHUT = WorkdayCalendar.build(
    "SHUT", "2020-01-06", "2020-02-28", holidays=[f"2020-01-{d}" for d in (24, 27, 28, 29, 30, 31)]
)
SHUT_DAYS = WorkdayPartitionsDefinition(SHUT, "Asia/Shanghai")
SHUT_WEEKS = periods("monday", "Asia/Shanghai", date(2020, 1, 6), date(2020, 2, 17))


def test_an_empty_week_is_complete_with_nothing() -> None:
    """Its run reads nothing and succeeds, although no workday is materialized."""

    @dg.asset(partitions_def=SHUT_DAYS)
    def days() -> None:
        """Workdays."""

    @dg.asset(partitions_def=SHUT_WEEKS, ins={"days": dg.AssetIn(partition_mapping=rollup())})
    def weeks(context: dg.AssetExecutionContext, days: dict[str, int]) -> None:
        read.append((context.partition_key, sorted(days)))

    class Values(dg.IOManager):
        """Loads the keys it is asked for."""

        def load_input(self, context: dg.InputContext) -> dict[str, int]:
            return dict.fromkeys(context.asset_partition_keys, 1)

        def handle_output(self, context: dg.OutputContext, obj: object) -> None:
            """Keeps nothing."""

    read: list[tuple[str, list[str]]] = []
    for week in ("2020-01-20", "2020-01-27"):
        result = dg.materialize(
            [days, weeks], partition_key=week, selection=[weeks], resources={"io_manager": Values()}
        )
        assert result.success
    assert read == [
        ("2020-01-20", ["2020-01-20", "2020-01-21", "2020-01-22", "2020-01-23"]),
        ("2020-01-27", []),
    ]


# In each zone clocks change at midnight within the dates: a date begins at 01:00 or has midnight
# twice, and in Samoa 2011-12-30 does not exist. Asuncion's 2023-10-01 also begins a quarter. In
# New York, Berlin and on Lord Howe (half an hour) they change in the night, on a Sunday.
CLOCKS = {
    "Sao-Paulo": ("America/Sao_Paulo", date(2018, 1, 1), date(2019, 1, 1)),
    "Asuncion": ("America/Asuncion", date(2023, 1, 1), date(2024, 1, 1)),
    "Santiago": ("America/Santiago", date(2019, 1, 1), date(2020, 1, 1)),
    "Havana": ("America/Havana", date(2024, 1, 1), date(2025, 1, 1)),
    "Beirut": ("Asia/Beirut", date(2023, 1, 1), date(2024, 1, 1)),
    "Cairo": ("Africa/Cairo", date(2023, 1, 1), date(2024, 1, 1)),
    "Apia": ("Pacific/Apia", date(2011, 9, 1), date(2012, 3, 1)),
    "New-York": ("America/New_York", date(2026, 1, 1), date(2027, 1, 1)),
    "Berlin": ("Europe/Berlin", date(2026, 1, 1), date(2027, 1, 1)),
    "Lord-Howe": ("Australia/Lord_Howe", date(2026, 1, 1), date(2027, 1, 1)),
}
WHERE = pytest.mark.parametrize(("zone", "first", "past"), CLOCKS.values(), ids=CLOCKS)


def clocks(zone: str, first: date, past: date) -> WorkdayCalendar:
    """Closed on the first date and on Wednesdays, so that clock-change weekends are open."""
    skipped = {"2011-12-30": "skipped"} if zone == "Pacific/Apia" else {}
    holidays = {str(first): "closed"} | skipped
    return WorkdayCalendar.build("CLOCKS", first, past, weekend=(2,), holidays=holidays)


@pytest.mark.parametrize("unit", ["sunday", "monday", "month", "quarter"])
@WHERE
def test_period_where_clocks_change(zone: str, first: date, past: date, unit: str) -> None:
    """Days of 23 and 25 hours, and around a skipped date, belong to their own period."""
    case = build(clocks(zone, first, past), zone, unit, first, past)
    days, whole = case.workdays, case.periods
    found = {period: upstream(rollup(), whole, days, period) for period in case.days_of}
    back = {day: downstream(rollup(), days, whole, day) for day in case.periods_of_days}
    assert found == case.days_of
    assert back == {day: [period] for day, period in case.periods_of_days.items()}


def windows(days: Sequence[str], start: int, end: int) -> dict[str, list[str]]:
    """For each day those from `start` to `end` places after it, by counting in the list."""
    return {
        day: list(days[max(at + start, 0) : max(at + end + 1, 0)]) for at, day in enumerate(days)
    }


@pytest.mark.parametrize(
    ("mapping", "start", "end"),
    [
        pytest.param(previous_workday(), -1, -1, id="previous"),
        pytest.param(trailing_workdays(3), -2, 0, id="trailing-3"),
    ],
)
@WHERE
def test_offsets_where_clocks_change(
    zone: str, first: date, past: date, mapping: dg.PartitionMapping, start: int, end: int
) -> None:
    """The workday before and the last three are counted in workdays, whatever the clocks do."""
    calendar = clocks(zone, first, past)
    listed = [first + timedelta(days=n) for n in range((past - first).days)]
    days = [str(day) for day in listed if calendar.is_workday(day)]
    definition = WorkdayPartitionsDefinition(calendar, zone, end=past)
    needed = {day: upstream(mapping, definition, definition, day) for day in days}
    needing = {day: downstream(mapping, definition, definition, day) for day in days}
    assert needed == windows(days, start, end)
    assert needing == windows(days, -end, -start)


#: By hand: January 2026 begins on a Thursday, New Year's Day, and ends on a Saturday.
JANUARY_2026 = [2, *range(5, 10), *range(12, 17), *range(19, 24), *range(26, 31)]


def test_january_2026_in_decisions_on_the_projects_own_month() -> None:
    """`ecb/monthly_summary` waits for exactly its 21 workdays, and is due with them alone.

    That its run reads exactly these is tested in `ecb/test_summaries.py`.
    """
    month, rates = dg.AssetKey(["ecb", "monthly_summary"]), dg.AssetKey(["ecb", "reference_rates"])
    days = [date(2026, 1, day) for day in JANUARY_2026]
    graph = defs.resolve_asset_graph()
    with dg.instance_for_test() as instance:
        for workday in [None, *days]:
            if workday is not None:
                event = dg.AssetMaterialization(asset_key=rates, partition=str(workday))
                instance.report_runless_asset_event(event)
            plans = plan_periods(
                graph,
                instance,
                [month],
                TIMETABLE,
                as_of=pendulum.datetime(2026, 2, 1, tz="Europe/Berlin"),
                start=days[0].replace(day=1),
            )
            (january,) = plans.plans[month].decisions[:1]
            left = [day for day in days if workday is None or day > workday]
            assert list(january.expected) == [(rates, day) for day in days]
            assert list(january.missing) == [(rates, day) for day in left]
            assert january.verdict == ("not_ready" if left else "due")


@pytest.mark.parametrize(
    ("end", "february"),
    [
        pytest.param("2026-01-31", [], id="ends after a Friday"),
        pytest.param("2026-02-01", [], id="after a Saturday"),
        pytest.param("2026-02-02", [], id="after a Sunday"),
        pytest.param("2026-02-03", ["2026-02-02"], id="after a Monday"),
    ],
)
@pytest.mark.parametrize("unit", ["month", "sunday"])
def test_a_period_after_the_last_workday_has_none(unit: str, end: str, february: list[str]) -> None:
    """February 2026 begins on a Sunday: where January's last workday is the last, it is empty."""
    calendar, zone = WorkdayCalendar.named("XECB"), ZONES["XECB"]
    workdays = WorkdayPartitionsDefinition(calendar, zone, start="2026-01-01", end=end)
    target = periods(unit, zone, date(2026, 1, 1), date(2026, 3, 1))
    with partition_loading_context(pendulum.datetime(2026, 6, 1)):
        asked = target.subset_with_partition_keys(["2026-02-01"])
        found = rollup().get_upstream_mapped_partitions_result_for_partitions(
            asked, target, workdays
        )
        assert list(found.partitions_subset.get_partition_keys()) == february
        friday = workdays.subset_with_partition_keys(["2026-01-30"])
        back = rollup().get_downstream_partitions_for_partitions(friday, workdays, target)
        assert "2026-02-01" not in back.get_partition_keys()


@pytest.mark.parametrize("code", ["XLON", "XSIF", "GB-ENG", "XTKS"])
def test_a_period_after_the_calendar_has_no_workday(code: str) -> None:
    """January 2028 begins on a Saturday, the day after these calendars end."""
    calendar = WorkdayCalendar.named(code)
    assert calendar.last_date == date(2027, 12, 31)
    zone = ZONES.get(code, "Europe/London")
    workdays = WorkdayPartitionsDefinition(calendar, zone, start="2027-11-01")
    months = periods("month", zone, date(2027, 11, 1), date(2028, 3, 1))
    with partition_loading_context(pendulum.datetime(2028, 6, 1)):
        asked = months.subset_with_partition_keys(["2028-01-01"])
        found = rollup().get_upstream_mapped_partitions_result_for_partitions(
            asked, months, workdays
        )
        assert list(found.partitions_subset.get_partition_keys()) == []
