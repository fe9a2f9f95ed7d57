"""Two small assets over weekdays that may become holidays, and what their code has stored."""

from datetime import date, timedelta

import dagster as dg

from workday_assets import (
    WorkdayCalendar,
    WorkdayPartitionsDefinition,
    WorkdayTimetable,
    trailing_workdays,
)

FIRST, LAST = date(2024, 12, 16), date(2025, 1, 3)
WEEKDAYS = [
    day for day in (FIRST + timedelta(days=n) for n in range(19)) if day.weekday() not in (5, 6)
]
RATES, RETURNS = dg.AssetKey("rates"), dg.AssetKey("returns")


class Project:
    """Two assets over the weekdays less some closures, and what their code has stored.

    `rates` stores how often it was made; `returns` stores which rates it read.
    """

    def __init__(self) -> None:
        self.closures: set[date] = set()
        self.rates: dict[date, int] = {}
        self.returns: dict[date, dict[date, int]] = {}
        self.made = 0
        self.failing: dg.AssetKey | None = None
        self.reload()

    def workdays(self) -> list[date]:
        """The open days, oldest first."""
        return [day for day in WEEKDAYS if day not in self.closures]

    def needed(self, day: date) -> list[date]:
        """The days of `rates` that `returns` of `day` reads: that day and the workday before."""
        return [other for other in self.workdays() if other <= day][-2:]

    def reload(self) -> None:
        """Build the definitions over the present calendar, as a restart does."""
        calendar = WorkdayCalendar.build("MACHINE", FIRST, LAST, holidays=sorted(self.closures))
        workdays = WorkdayPartitionsDefinition(calendar, "UTC")
        self.table = WorkdayTimetable(calendar, "UTC")

        @dg.asset(partitions_def=workdays)
        def rates(context: dg.AssetExecutionContext) -> None:
            self._fail(RATES)
            self.made += 1
            self.rates[date.fromisoformat(context.partition_key)] = self.made

        @dg.asset(
            partitions_def=workdays,
            deps=[dg.AssetDep(rates, partition_mapping=trailing_workdays(2))],
        )
        def returns(context: dg.AssetExecutionContext) -> None:
            self._fail(RETURNS)
            day = date.fromisoformat(context.partition_key)
            self.returns[day] = {other: self.rates[other] for other in self.needed(day)}

        self.definitions = dg.Definitions(assets=[rates, returns], executor=dg.in_process_executor)
        self.graph = self.definitions.resolve_asset_graph()
        self.job = self.definitions.resolve_implicit_global_asset_job_def()

    def _fail(self, asset: dg.AssetKey) -> None:
        if self.failing == asset:
            raise ValueError("told to fail")
