"""Days that are late, calendars that end and sources that are down, as incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import dagster as dg

from workday_assets.alerts.incidents import Incident
from workday_assets.automation.freshness import PARTITION
from workday_assets.automation.plans import WorkdaySource
from workday_assets.calendars import WorkdayCalendar


class LateDays:
    """What the freshness checks last said, and which of their partitions are there.

    Args:
        instance: where evaluations and materializations are recorded.
        checks: keys of checks from `build_workday_freshness_checks`.
    """

    def __init__(self, instance: dg.DagsterInstance, checks: Sequence[dg.AssetCheckKey]) -> None:
        self._instance = instance
        self._said: dict[str, dg.AssetCheckEvaluation] = {}
        records = instance.event_log_storage.get_asset_check_summary_records(list(checks))
        for key, summary in records.items():
            record = summary.last_completed_check_execution_record
            event = record.event.dagster_event if record and record.event else None
            if event is not None:
                self._said[key.asset_key.to_user_string()] = event.asset_check_evaluation_data

    def now(self) -> Iterator[Incident]:
        """An incident for each late day, with all the assets of which it is late."""
        late: dict[str, list[str]] = defaultdict(list)
        for asset, said in self._said.items():
            if not said.passed:
                late[_partition(said)].append(asset)
        for partition, assets in sorted(late.items()):
            text = f"{', '.join(assets)}: {self._said[assets[0]].description}"
            yield Incident(
                f"late {partition}",
                "late",
                f"{partition} is late",
                text,
                tuple(assets),
                (partition,),
            )

    def is_over(self, incident: Incident) -> bool:
        """Whether the day is there now, of every asset, or its check asks for it no more."""
        return not any(self._is_missing(asset, incident.partitions[0]) for asset in incident.assets)

    def _is_missing(self, asset: str, partition: str) -> bool:
        said = self._said.get(asset)
        if said is None or (said.passed and _partition(said) in ("", partition)):
            return False
        made = self._instance.event_log_storage.get_latest_storage_id_by_partition(
            dg.AssetKey.from_user_string(asset),
            dg.DagsterEventType.ASSET_MATERIALIZATION,
            {partition},
        )
        return partition not in made


def _partition(said: dg.AssetCheckEvaluation) -> str:
    return str(said.metadata[PARTITION].value)


def calendars_that_end(
    calendars: Sequence[WorkdayCalendar], today: date, warn_days: int
) -> Iterator[Incident]:
    """An incident for each calendar whose last date is at most `warn_days` away."""
    for calendar in calendars:
        left = (calendar.last_date - today).days
        if left > warn_days:
            continue
        ends = "ended" if left < 0 else "ends"
        yield Incident(
            f"calendar {calendar.name}",
            "calendar_ends",
            f"Calendar {calendar.name} {ends} {calendar.last_date}",
            f"After {calendar.last_date} nothing runs: freeze a calendar that reaches further"
            f" (workday-assets freeze {calendar.name}), and commit it.",
        )


def sources_that_are_down(sources: Mapping[str, WorkdaySource], today: date) -> Iterator[Incident]:
    """An incident for each source that answers with an error when it is asked for a day."""
    for name, source in sources.items():
        try:
            source.published(today)
        except Exception as error:  # whatever it raises is what is told
            yield Incident(f"source {name}", "source_down", f"Source {name} is down", f"{error}")
