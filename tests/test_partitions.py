"""The partitions definition: keys, windows, identity, and parity with what the host rebuilds."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import dagster as dg
import pendulum
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._serdes import deserialize_value, serialize_value
from hypothesis import given, settings
from hypothesis import strategies as st
from support.partition_answers import (
    DEFINITIONS,
    SATURDAYS,
    XMAS,
    host,
    instants,
    keys_and_windows,
    window,
)

from workday_assets import WorkdayCalendar, WorkdayPartitionsDefinition, WorkdayTimetable
from workday_assets.errors import ClosedDayError, InvalidInputError, OutOfBoundsError
from workday_assets.exclusions import exclusions
from workday_assets.host import ORIGINALS


@pytest.fixture(autouse=True)
def _as_dagster_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base class as Dagster has it, whatever an instance opened before has made of it."""
    for name, method in ORIGINALS.items():
        monkeypatch.setattr(dg.TimeWindowPartitionsDefinition, name, method)


def test_what_is_overridden_is_compared() -> None:
    """A further override must be compared with the base, or refused in a test, before it passes."""
    ours = {
        name
        for name in vars(WorkdayPartitionsDefinition)
        if hasattr(dg.TimeWindowPartitionsDefinition, name)
    }
    assert {name for name in ours if not name.startswith(("__", "_abc"))} == {
        "_iterate_time_windows",
        "_reverse_iterate_time_windows",
        "get_partition_key_for_timestamp",
        "get_partition_keys",
        "get_partition_keys_in_range",
        "get_partition_keys_in_time_window",
        "has_partition_key",
        "is_window_start_excluded",
        "start_time_for_partition_key",
        "subset_with_partition_keys",
        "time_window_for_partition_key",
        "time_windows_for_partition_keys",
    }


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_host_answers_the_same(name: str) -> None:
    """Keys, windows, identity and equality agree with the plain definition the host rebuilds."""
    ours = DEFINITIONS[name]
    theirs = host(ours)
    assert (ours == theirs, theirs == ours, hash(ours) == hash(theirs)) == (True, True, True)
    assert ours.get_serializable_unique_identifier() == theirs.get_serializable_unique_identifier()
    for now in instants(ours):
        with partition_loading_context(now):
            assert keys_and_windows(ours) == keys_and_windows(theirs), now


@pytest.mark.parametrize(
    ("name", "instant", "end_closed", "expected"),
    [
        ("xmas-new-york", "2024-12-07T00:00", False, "2024-12-09"),  # Saturday begins a window
        ("xmas-new-york", "2024-12-08T12:00", False, "2024-12-09"),
        ("xmas-new-york", "2024-12-07T12:00", True, "2024-12-06"),
        ("xmas-new-york", "2024-12-09T00:00", True, "2024-12-06"),  # Monday ends one
        ("xmas-new-york", "2024-12-25T00:00", False, "2024-12-26"),
        ("xmas-new-york", "2024-12-26T00:00", True, "2024-12-24"),
        ("xmas-new-york", "2024-12-01T00:00", False, "2024-12-02"),  # the first date is a Sunday
        ("xmas-new-york", "2025-02-01T00:00", True, "2025-01-31"),  # the end of the definition
        ("xmas-new-york", "2025-02-01T00:00", False, "2025-02-01"),  # past its last Friday and date
        ("xtae-jerusalem", "2026-01-01T12:00", False, "2026-01-01"),  # a Thursday
        ("xtae-jerusalem", "2026-01-02T00:00", False, "2026-01-04"),  # Friday and Saturday rest
        ("xtae-jerusalem", "2026-01-10T00:00", False, "2026-01-12"),  # Saturday and Sunday rest
        ("saturdays-kolkata", "2024-01-20T00:00", False, "2024-01-20"),  # a make-up Saturday
        ("saturdays-kolkata", "2024-01-21T00:00", False, "2024-01-23"),  # Monday is a holiday
        ("saturdays-kolkata", "2024-01-23T00:00", True, "2024-01-20"),
    ],
)
def test_a_closed_instant_is_rounded_into_its_window(
    name: str, instant: str, end_closed: bool, expected: str
) -> None:
    """A window that begins on a closed day begins with the next workday, not the one before."""
    definition = DEFINITIONS[name]
    timestamp = pendulum.parse(instant, tz=definition.timezone).timestamp()
    found = definition.get_partition_key_for_timestamp(timestamp, end_closed=end_closed)
    assert found == expected


@pytest.mark.parametrize("name", DEFINITIONS)
def test_pages_of_keys_agree_with_the_host(name: str) -> None:
    """Paging through the keys, in both directions, gives the same pages on both sides."""
    for ascending in (True, False):
        pages = []
        for definition in (DEFINITIONS[name], host(DEFINITIONS[name])):
            last = DEFINITIONS[name].last_date
            now = pendulum.datetime(last.year, last.month, last.day, 12, tz="UTC")
            with partition_loading_context(now) as context:
                first = definition.get_paginated_partition_keys(context, 7, ascending)
                second = definition.get_paginated_partition_keys(
                    context, 7, ascending, first.cursor
                )
            pages.append([first.results, second.results])
        assert pages[0] == pages[1]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_keys_are_the_workdays_of_any_calendar(data: st.DataObject) -> None:
    """Whatever days are closed, and in whatever order, the host's keys are the calendar's days."""
    every = [date(2024, 1, 1) + timedelta(days=n) for n in range(120)]
    weekend = data.draw(st.sets(st.integers(0, 6), max_size=3))
    closed = data.draw(st.lists(st.sampled_from(every[1:]), max_size=30))
    extra = data.draw(st.lists(st.sampled_from(every), max_size=10))
    calendar = WorkdayCalendar.build(
        "ANY",
        every[0],
        every[-1],
        weekend=tuple(weekend),
        holidays=dict.fromkeys(closed, "closed"),
        extra_workdays=dict.fromkeys([*extra, every[0]], "extra"),
    )
    definition = WorkdayPartitionsDefinition(calendar, "Europe/Berlin")
    open_days = set(extra) | {every[0]}
    expected = [
        str(d) for d in every if d in open_days or (d.weekday() not in weekend and d not in closed)
    ]
    with partition_loading_context(pendulum.datetime(2025, 1, 1)):
        assert host(definition).get_partition_keys() == expected


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_window_is_the_timetables_interval(name: str) -> None:
    """Partition windows and data intervals are one and the same."""
    definition = DEFINITIONS[name]
    table = WorkdayTimetable(definition.calendar, definition.timezone)
    with partition_loading_context(pendulum.datetime(2040, 1, 1)):
        for key in definition.get_partition_keys():
            interval = table.interval(definition.day(key))
            found = definition.time_window_for_partition_key(key)
            assert window(found) == (interval.start.timestamp(), interval.end.timestamp())


def test_keys_end_with_the_calendar() -> None:
    """Past the calendar's last date there are no partitions."""
    definition = DEFINITIONS["xmas-new-york"]
    with partition_loading_context(pendulum.datetime(2030, 1, 1)):
        assert definition.get_last_partition_key() == "2025-01-31"


# The ids were printed once and are compared for ever: a change re-keys every user's partitions.
GOLDEN = {
    "xmas-new-york": "b0a3e2abddfa501ea0b6a760f7a14c62e72b0840",
    "saturdays-kolkata": "f73b52b61d2684349269ef7733a002c14e99ca0d",
    "xecb-berlin": "77c2b2bd19a5221ef423998e7e290f3e072e4244",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_identity_never_changes(name: str) -> None:
    """The unique id of a definition is what it was when it was first published."""
    assert DEFINITIONS[name].get_serializable_unique_identifier() == GOLDEN[name]


def test_identity_does_not_depend_on_order_names_or_reasons() -> None:
    """The same days give the same definition, however the calendar was written down."""
    one = WorkdayCalendar.build(
        "A", "2024-12-01", "2025-01-31", holidays={"2025-01-01": "a", "2024-12-25": "b"}
    )
    two = WorkdayPartitionsDefinition(one, "America/New_York")
    first = DEFINITIONS["xmas-new-york"]
    assert two == first
    assert two.get_serializable_unique_identifier() == first.get_serializable_unique_identifier()


EXCLUSIONS = [
    ("weekends", XMAS, ["0 0 * 1,12 0,6", "2024-12-25", "2025-01-01"]),
    (
        "make-up-saturdays",
        SATURDAYS,
        [
            "0 0 * * 0",
            "0 0 * 2,3,4,6,7,8,9,10,11,12 6",
            *("2024-01-06", "2024-01-13", "2024-01-22", "2024-01-27"),
            *("2024-05-04", "2024-05-11", "2024-05-25", "2024-12-25"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("calendar", "expected"), [e[1:] for e in EXCLUSIONS], ids=[e[0] for e in EXCLUSIONS]
)
def test_exclusions_are_compact(calendar: WorkdayCalendar, expected: list[str]) -> None:
    """Closed weekdays are cron strings, by month where one has a make-up day; the rest dates."""
    last = calendar.last_date + timedelta(days=1)
    found = exclusions(calendar, "UTC", calendar.first_date, last)
    shown = [
        x if isinstance(x, str) else str(datetime.fromtimestamp(x.timestamp, pendulum.UTC).date())
        for x in found
    ]
    assert shown == expected


REFUSED: dict[str, Callable[[WorkdayPartitionsDefinition], Any]] = {
    "window": lambda d: d.time_window_for_partition_key("2024-12-25"),
    "start": lambda d: d.start_time_for_partition_key("2024-12-25"),
    "end": lambda d: d.end_time_for_partition_key("2024-12-25"),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_a_closed_day_is_refused_with_both_neighbours(
    ask: Callable[[WorkdayPartitionsDefinition], Any],
) -> None:
    """The base class answers for another day (dagster #23801); ours names the reason and days."""
    with pytest.raises(ClosedDayError, match=r"Christmas Day.*2024-12-24 and 2024-12-26"):
        ask(DEFINITIONS["xmas-new-york"])


def test_a_range_that_ends_on_closed_days_is_cut() -> None:
    """2024-12-25 to 28 holds the 26th and 27th, never a day outside (dagster #18555)."""
    definition = DEFINITIONS["xmas-new-york"]
    found = definition.get_partition_keys_in_range(dg.PartitionKeyRange("2024-12-25", "2024-12-28"))
    assert found == ["2024-12-26", "2024-12-27"]


BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("no-zone", {"timezone": ""}, InvalidInputError, "never taken to be UTC"),
    ("zone", {"timezone": "Berlin"}, InvalidInputError, "timezone='Berlin'"),
    ("start", {"start": "2024-11-30"}, OutOfBoundsError, "start=2024-11-30"),
    ("end", {"end": "2025-02-02"}, OutOfBoundsError, "end=2025-02-01"),
    ("reversed", {"start": "2025-01-10", "end": "2025-01-05"}, InvalidInputError, "no workday"),
    ("weekend", {"start": "2024-12-28", "end": "2024-12-30"}, InvalidInputError, "no workday"),
    ("format", {"fmt": "%Y-%m"}, InvalidInputError, "does not tell"),
    ("aware", {"start": pendulum.datetime(2024, 12, 2)}, InvalidInputError, "start"),
]


@pytest.mark.parametrize(
    ("fields", "error", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_bad_arguments(fields: dict[str, Any], error: type[Exception], message: str) -> None:
    """Each bad argument is one sentence that names it."""
    with pytest.raises(error, match=message):
        WorkdayPartitionsDefinition(**{"calendar": XMAS, "timezone": "UTC"} | fields)


def test_a_copy_keeps_its_calendar() -> None:
    """Pickling keeps the calendar, so that overrides work in other processes too."""
    definition = DEFINITIONS["saturdays-kolkata"]
    copy = pickle.loads(pickle.dumps(definition))  # noqa: S301 - our own bytes
    assert (copy, copy.calendar) == (definition, definition.calendar)


def test_a_subset_survives_serialization() -> None:
    """A serialized subset has the same keys; its definition is the plain class of the host."""
    definition = DEFINITIONS["xmas-new-york"]
    with partition_loading_context(pendulum.datetime(2025, 2, 1)):
        subset = definition.subset_with_partition_keys(["2024-12-24", "2024-12-26", "2025-01-02"])
        again = deserialize_value(serialize_value(subset.to_serializable_subset()))
        assert sorted(again.get_partition_keys()) == ["2024-12-24", "2024-12-26", "2025-01-02"]
    assert again.partitions_def == definition
