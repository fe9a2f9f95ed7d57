"""The project and the instance that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import dagster as dg
import pendulum

from workday_assets.automation.plans import AssetPlans, WorkdaySource, plan_assets
from workday_assets.definitions import SOURCE, defs
from workday_assets.ecb.assets import TIMETABLE
from workday_assets.ecb.jobs import POLICY, RETRY_FAILED, WORKDAY_ASSETS
from workday_assets.storage.state import find_instance
from workday_assets.timetable import WorkdayTimetable


@dataclass(frozen=True)
class Project:
    """What a command needs.

    Attributes:
        instance: where runs and materializations are recorded.
        where: one line that says which instance that is.
        repository: the project's definitions.
        timetable: when its workdays may run.
        source: what its root assets read.
        as_of: "now", read once.
    """

    instance: dg.DagsterInstance
    where: str
    repository: dg.RepositoryDefinition
    timetable: WorkdayTimetable
    source: WorkdaySource
    as_of: datetime

    def plans(self) -> AssetPlans:
        """What the project's sensor decides now, on every day of the history."""
        graph = self.repository.asset_graph
        return plan_assets(
            graph,
            self.instance,
            sorted(WORKDAY_ASSETS.resolve(graph)),
            self.timetable,
            as_of=self.as_of,
            policy=POLICY,
            retry_failed=RETRY_FAILED,
            source=self.source,
        )


@contextmanager
def open_project() -> Iterator[Project]:
    """The project's definitions and its instance, closed afterwards; nothing in it is changed."""
    location = find_instance()
    with location.open() as instance:
        repository = defs.get_repository_def()
        now = pendulum.now("UTC")
        yield Project(instance, location.describe(), repository, TIMETABLE, SOURCE, now)
