"""Assets with every mapping of this package, for a code location of a process of its own.

The calendars are made up, so that what differs is seen in few days: AMERICA rests on 2025-01-01 and
on Mondays 2025-01-20 and 2025-05-26, and from Monday 2025-02-10 on for a whole week; EUROPE rests
on 2025-01-01 and Thursday 2025-05-01.
"""

from typing import Any

import dagster as dg

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    previous_workday,
    rollup,
    same_workday,
    trailing_workdays,
)

NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"
SHUT = [f"2025-02-{day}" for day in (10, 11, 12, 13, 14)]
AMERICA = WorkdayCalendar.build(
    "AMERICA",
    "2024-09-02",
    "2026-01-30",
    holidays=["2024-12-25", "2025-01-01", "2025-01-20", *SHUT, "2025-05-26", "2026-01-01"],
)
EUROPE = WorkdayCalendar.build(
    "EUROPE", "2024-09-02", "2026-01-30", holidays=["2025-01-01", "2025-05-01", "2026-01-01"]
)
WORKDAYS = WorkdayPartitionsDefinition(AMERICA, NEW_YORK)


def cron(schedule: str, start: str) -> dg.TimeWindowPartitionsDefinition:
    """Periods of New York."""
    return dg.TimeWindowPartitionsDefinition(
        start=start, cron_schedule=schedule, fmt="%Y-%m-%d", timezone=NEW_YORK
    )


class Keys(dg.IOManager):
    """Gives every input the sorted partition keys that Dagster asks for, and stores nothing."""

    def load_input(self, context: dg.InputContext) -> list[str]:
        """The keys."""
        return sorted(context.asset_partition_keys)

    def handle_output(self, context: dg.OutputContext, obj: list[str]) -> None:
        """Nothing."""


@dg.asset(partitions_def=WORKDAYS)
def days() -> list[str]:
    """What all others are made of."""
    return []


def reader(
    name: str, partitions_def: dg.TimeWindowPartitionsDefinition, mapping: dg.PartitionMapping
) -> dg.AssetsDefinition:
    """An asset that returns which partitions of `days` it read."""

    @dg.asset(
        name=name,
        partitions_def=partitions_def,
        ins={"days": dg.AssetIn(partition_mapping=mapping)},
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def read(days: Any) -> list[str]:
        return list(days)

    return read


READERS = [
    reader("previous", WORKDAYS, previous_workday()),
    reader("trailing", WORKDAYS, trailing_workdays(3)),
    reader("monday_week", cron("0 0 * * 1", "2024-09-30"), rollup()),
    reader("sunday_week", cron("0 0 * * 0", "2024-09-29"), rollup()),
    reader("month", cron("0 0 1 * *", "2024-10-01"), rollup()),
    reader("quarter", cron("0 0 1 1,4,7,10 *", "2024-10-01"), rollup()),
    reader("year", cron("0 0 1 1 *", "2024-01-01"), rollup()),
    reader("one_zone", WorkdayPartitionsDefinition(EUROPE, NEW_YORK), same_workday()),
    reader(
        "two_zones", WorkdayPartitionsDefinition(EUROPE, BERLIN), same_workday(across_zones=True)
    ),
]
defs = dg.Definitions([days, *READERS], resources={"io_manager": Keys()})
