"""Runs that failed and are not tried again, and whether what they left out is made by now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta

import dagster as dg
from dagster._core.storage.dagster_run import RunRecord
from dagster._core.storage.tags import PARTITION_NAME_TAG, WILL_RETRY_TAG

from workday_assets.alerts.incidents import Incident, OpenIncidents
from workday_assets.automation.periods import Periods, has_whole_dates
from workday_assets.automation.recorded import read_recorded
from workday_assets.automation.requests import BACKFILL_TRIGGER, TRIGGER_TAG
from workday_assets.partitions import WorkdayPartitionsDefinition

#: Older failures are not looked at: whoever switches alerts on is not told of last year's.
LOOK_BACK = timedelta(days=7)
_LIMIT = 1000
_RUN = "run "
_JOB = "job "
#: Stands for the partition of what has none.
_WHOLE = ""

Dates = WorkdayPartitionsDefinition | Periods


class Failures:
    """The failed runs of an instance at one instant.

    Nothing is remembered between ticks: a failure that was told is known by its open incident, one
    that was repaired by the materializations since.

    Args:
        instance: where runs are recorded.
        repository: the assets and jobs of this code location.
        location: its name; runs of other locations are left out. Empty leaves out none.
        retry_failed: runs that a sensor asked for are tried again while their attempts are at most
            this, see `build_interval_sensor`.
        as_of: "now", aware.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        repository: dg.RepositoryDefinition,
        location: str,
        retry_failed: int,
        as_of: datetime,
    ) -> None:
        self._instance = instance
        self._repository = repository
        self._graph = repository.asset_graph
        self._location = location
        self._retry_failed = retry_failed
        self._as_of = as_of
        self._tried: dict[dg.AssetKey, Mapping[str, str]] = {}
        self._failed: dict[dg.AssetKey, Mapping[date, int]] = {}

    def new(self, known: OpenIncidents) -> Iterator[Incident]:
        """The failures that are final, not repaired and not told yet, oldest first.

        It looks at `known` as it goes on, so that two runs for one partition are one incident.
        """
        filters = dg.RunsFilter(
            statuses=[dg.DagsterRunStatus.FAILURE], updated_after=self._as_of - LOOK_BACK
        )
        for record in reversed(self._instance.get_run_records(filters, limit=_LIMIT)):
            run = record.dagster_run
            if not self._is_ours(run) or run.tags.get(WILL_RETRY_TAG) == "true":
                continue
            pairs = [
                (subject, partition)
                for subject in self._subjects(run)
                for partition in self._left_out(subject, record)
                if not known.covers((subject, partition))
            ]
            if pairs:
                subjects = sorted({subject for subject, _ in pairs})
                yield self._incident(run, subjects, sorted({partition for _, partition in pairs}))

    def is_over(self, incident: Incident) -> bool:
        """Whether all that the failed run left out was made since, or is no asset any more."""
        record = self._instance.get_run_record_by_id(incident.id.removeprefix(_RUN))
        return not any(
            self._unmade(subject, record).keys() & set(incident.partitions)
            for subject in incident.assets
        )

    def _is_ours(self, run: dg.DagsterRun) -> bool:
        origin = run.remote_job_origin
        if origin is None or not self._location:
            return True
        return origin.repository_origin.code_location_origin.location_name == self._location

    def _subjects(self, run: dg.DagsterRun) -> list[str]:
        """The assets that a run was to make; of a job without assets the job."""
        keys = set(run.asset_selection or ())
        if not keys and self._repository.has_job(run.job_name):
            layer = self._repository.get_job(run.job_name).asset_layer
            keys = set(layer.executable_asset_keys)
        elif not keys:  # a job made on the spot, as by `dagster.materialize`
            planned = self._instance.event_log_storage.get_logs_for_run(
                run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
            )
            events = [entry.get_dagster_event() for entry in planned]
            keys = {event.asset_key for event in events if event.asset_key is not None}
        return sorted(key.to_user_string() for key in keys) or [f"{_JOB}{run.job_name}"]

    def _left_out(self, subject: str, record: RunRecord) -> list[str]:
        """The partitions that this run was the last to try, and that will not be tried again."""
        run = record.dagster_run
        unmade = self._unmade(subject, record)
        left = [partition for partition, run_id in unmade.items() if run_id == run.run_id]
        if run.tags.get(TRIGGER_TAG, BACKFILL_TRIGGER) == BACKFILL_TRIGGER:
            return left
        return [key for key in left if self._attempts(subject, key) > self._retry_failed]

    def _unmade(self, subject: str, record: RunRecord | None) -> Mapping[str, str]:
        """What is not made since it was last tried, by partition: the run that tried.

        Of a job without assets, and of an asset without partitions, it is told by `record` alone.
        """
        if subject.startswith(_JOB):
            return {} if record is None or self._succeeded_since(record) else _whole(record)
        key = dg.AssetKey.from_user_string(subject)
        if not self._graph.has(key):
            return {}
        if self._graph.get(key).partitions_def is None:
            return {} if record is None or self._made_since(key, record) else _whole(record)
        if key not in self._tried:
            storage = self._instance.event_log_storage
            ask = (
                storage.get_latest_asset_partition_materialization_attempts_without_materializations
            )
            self._tried[key] = {partition: run_id for partition, (run_id, _) in ask(key).items()}
        return self._tried[key]

    def _made_since(self, key: dg.AssetKey, record: RunRecord) -> bool:
        """Whether an asset without partitions was made by that run or later."""
        made = self._instance.get_latest_materialization_event(key)
        return made is not None and made.timestamp >= record.create_timestamp.timestamp()

    def _succeeded_since(self, record: RunRecord) -> bool:
        """Whether the job of a run, for the same partition if it has one, succeeded later."""
        run = record.dagster_run
        partition = run.tags.get(PARTITION_NAME_TAG)
        filters = dg.RunsFilter(
            job_name=run.job_name,
            statuses=[dg.DagsterRunStatus.SUCCESS],
            tags={PARTITION_NAME_TAG: partition} if partition else {},
            created_after=record.create_timestamp,
        )
        return bool(self._instance.get_run_records(filters, limit=1))

    def _attempts(self, subject: str, partition: str) -> float:
        """How many runs failed to make a partition since it was last made; no dates, no retries."""
        key = dg.AssetKey.from_user_string(subject)
        dates = self._dates(key)
        if dates is None:
            return float("inf")
        if key not in self._failed:
            self._failed[key] = read_recorded(self._instance, key, dates).failed
        return self._failed[key].get(dates.day(partition), 0)

    def _dates(self, key: dg.AssetKey) -> Dates | None:
        definition = self._graph.get(key).partitions_def
        if isinstance(definition, WorkdayPartitionsDefinition):
            return definition
        if isinstance(definition, dg.TimeWindowPartitionsDefinition) and has_whole_dates(
            definition
        ):
            return Periods(definition, self._as_of)
        return None

    def _incident(self, run: dg.DagsterRun, subjects: list[str], partitions: list[str]) -> Incident:
        what = subjects[0] if len(subjects) == 1 else f"{subjects[0]} and {len(subjects) - 1} more"
        when = partitions[0]
        if len(partitions) > 1:
            when = f"{partitions[0]} to {partitions[-1]} ({len(partitions)} partitions)"
        title = f"Run failed: {what}{' ' if when else ''}{when}"
        text = f"Run {run.run_id} failed and is not tried again. {self._why(run)}"
        return Incident(
            f"{_RUN}{run.run_id}", "run_failed", title, text, tuple(subjects), tuple(partitions)
        )

    def _why(self, run: dg.DagsterRun) -> str:
        """The first failed step and what it says, in one line."""
        failures = self._instance.get_records_for_run(
            run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=1
        ).records
        event = failures[0].event_log_entry.dagster_event if failures else None
        if event is None:
            return "No step says why."
        error = event.step_failure_data.error
        while error is not None and error.cause is not None:
            error = error.cause
        said = error.message.strip().splitlines()[0] if error is not None else "no reason given"
        return f"Step {event.step_key}: {said}"


def _whole(record: RunRecord) -> dict[str, str]:
    return {_WHOLE: record.dagster_run.run_id}
