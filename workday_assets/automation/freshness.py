"""Asset checks that pass while the newest workday that is due is materialized.

A check is executed like any other, also in the runs that materialize its asset. The sensor needs
no run: it works out every check at each tick and records an evaluation when the answer has
changed, so that a check turns red at the deadline and green when the day is there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.storage.event_log.base import AssetCheckSummaryRecord

from workday_assets.automation.deadlines import Deadlines, Freshness, judge
from workday_assets.errors import InvalidInputError
from workday_assets.partitions import WorkdayPartitionsDefinition

CHECK_NAME = "workday_freshness"
#: In the metadata of an evaluation: the partition that was due, empty where none was.
PARTITION = "workday/partition"

_DEADLINE, _WITHIN = "workday/deadline", "workday/within_workdays"
_GRACE, _SOURCE = "workday/half_day_grace_seconds", "workday/source"
_SEVERITY = "workday/severity"


def build_workday_freshness_checks(
    assets: Iterable[dg.AssetsDefinition | dg.AssetSpec],
    *,
    deadline: time,
    within_workdays: int = 1,
    half_day_grace: timedelta | None = None,
    source: str | None = None,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> Sequence[dg.AssetChecksDefinition]:
    """A check per asset that passes while the newest workday that is due is materialized.

    A workday is due at `deadline` on the `within_workdays`-th workday after it, in the calendar
    and zone of the asset's partitions. Only that partition counts: a backfill of an old day turns
    nothing green. Closed days are never due, and no alarm begins on one. The failed check names
    the missing day, its deadline and the next one.

    Give the checks to `build_workday_freshness_sensor` too, which keeps them up to date.

    Args:
        assets: all partitioned by `WorkdayPartitionsDefinition`.
        deadline: local time of day, without a zone.
        within_workdays: 1 is the next workday (Friday's is due on Monday). 0 is the day itself,
            for what is reported before its day is over: Dagster runs a partition only after that.
        half_day_grace: where the deadline would fall on a half day, it is so long after the day's
            early close if that is earlier; `None` leaves it.
        source: resource key of the `WorkdaySource` behind the assets: past an archive's
            `last_date` nothing is due. `None` is a source that never ends.
        severity: of a failed check.

    Raises:
        InvalidInputError: an asset is not partitioned by workdays, or a parameter is no deadline.
    """
    options: dict[str, Any] = {
        _DEADLINE: deadline.isoformat(),
        _WITHIN: within_workdays,
        _SEVERITY: severity.value,
    }
    if half_day_grace is not None:
        options[_GRACE] = half_day_grace.total_seconds()
    if source is not None:
        options[_SOURCE] = source
    specs = []
    for key, definition in _partitions(assets):
        deadlines = _deadlines(key, definition, options)
        spec = dg.AssetCheckSpec(
            CHECK_NAME, asset=key, description=_description(deadlines), metadata=options
        )
        specs.append(spec)
    return [_definition(specs, {source} if source else set())] if specs else []


def build_workday_freshness_sensor(
    name: str,
    checks: Sequence[dg.AssetChecksDefinition],
    *,
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
) -> dg.SensorDefinition:
    """A sensor that records an evaluation of each check when its answer changes, without a run.

    That is at each workday's deadline, and when a missing day comes: one evaluation per workday
    while all is well.

    Args:
        name: the sensor's name.
        checks: from `build_workday_freshness_checks`.
        minimum_interval_seconds: time between ticks.
        default_status: running by default.

    Raises:
        InvalidInputError: one of `checks` is another check.
    """
    specs = freshness_specs(checks, "checks")

    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        if context.repository_def is None:
            raise RuntimeError("the evaluation context has no repository; pass repository_def")
        graph = context.repository_def.asset_graph
        answers = list(_answers(specs, graph, context.instance, context.resources))
        recorded = context.instance.event_log_storage.get_asset_check_summary_records(
            [spec.key for spec in specs]
        )
        return dg.SensorResult(
            asset_events=[a.evaluation() for a in answers if a.is_news(recorded[a.spec.key])],
            skip_reason=dg.SkipReason(_tick_text(answers)),
        )

    return dg.SensorDefinition(
        name=name,
        evaluation_fn=evaluate,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description="Records, without runs, whether the newest workday that is due is there.",
        required_resource_keys={s.metadata[_SOURCE] for s in specs if _SOURCE in s.metadata},
    )


def freshness_specs(
    checks: Iterable[dg.AssetChecksDefinition], parameter: str
) -> list[dg.AssetCheckSpec]:
    """The specs of checks from `build_workday_freshness_checks`.

    Raises:
        InvalidInputError: one of them is another check.
    """
    specs = [spec for check in checks for spec in check.check_specs]
    for spec in specs:
        if spec.name != CHECK_NAME:
            raise InvalidInputError(
                f"{parameter}={spec.key.to_user_string()} is no workday freshness check; give what"
                " build_workday_freshness_checks returned."
            )
    return specs


@dataclass(frozen=True)
class _Answer:
    """What is to be said of a check."""

    spec: dg.AssetCheckSpec
    freshness: Freshness
    partition: str

    @property
    def metadata(self) -> dict[str, dg.MetadataValue]:
        """The partition that was due, its deadline and the next one."""
        following = "dagster/fresh_until_timestamp" if self.freshness.passed else "workday/next_due"
        instants = {
            "workday/was_due": self.freshness.deadline,
            following: self.freshness.next_deadline,
        }
        known = {name: dg.MetadataValue.timestamp(at) for name, at in instants.items() if at}
        return {PARTITION: dg.MetadataValue.text(self.partition), **known}

    def is_news(self, recorded: AssetCheckSummaryRecord) -> bool:
        """Whether the newest recorded evaluation says something else."""
        record = recorded.last_completed_check_execution_record
        event = record.event.dagster_event if record and record.event else None
        if event is None:
            return True
        before = event.asset_check_evaluation_data
        was = (before.passed, before.severity, before.metadata)
        return was != (self.freshness.passed, self._severity, self.metadata)

    def result(self) -> dg.AssetCheckResult:
        """The answer of a run."""
        return dg.AssetCheckResult(
            asset_key=self.spec.asset_key,
            check_name=self.spec.name,
            passed=self.freshness.passed,
            severity=self._severity,
            description=self.freshness.text,
            metadata=self.metadata,
        )

    def evaluation(self) -> dg.AssetCheckEvaluation:
        """The same without a run."""
        return dg.AssetCheckEvaluation(
            asset_key=self.spec.asset_key,
            check_name=self.spec.name,
            passed=self.freshness.passed,
            severity=self._severity,
            description=self.freshness.text,
            metadata=self.metadata,
        )

    @property
    def _severity(self) -> dg.AssetCheckSeverity:
        return dg.AssetCheckSeverity(self.spec.metadata[_SEVERITY])


def _definition(
    specs: Sequence[dg.AssetCheckSpec], resource_keys: set[str]
) -> dg.AssetChecksDefinition:
    """All checks in one step, which makes only those that are asked for."""
    names = "_".join(sorted(spec.asset_key.to_python_identifier() for spec in specs))

    @dg.multi_asset_check(
        name=f"{CHECK_NAME}_{names}",
        specs=specs,
        can_subset=True,
        required_resource_keys=resource_keys,
    )
    def workday_freshness(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        asked = [spec for spec in specs if spec.key in context.selected_asset_check_keys]
        graph = context.job_def.asset_layer.asset_graph
        for answer in _answers(asked, graph, context.instance, context.resources):
            yield answer.result()

    return workday_freshness


def _answers(
    specs: Iterable[dg.AssetCheckSpec],
    graph: BaseAssetGraph[Any],
    instance: dg.DagsterInstance,
    resources: Any,
) -> Iterator[_Answer]:
    """What is to be said of each check now, which Dagster's tests and daemons can set."""
    with partition_loading_context() as loading:
        now = loading.effective_dt
    for spec in specs:
        definition = graph.get(spec.asset_key).partitions_def
        deadlines = _deadlines(spec.asset_key, definition, spec.metadata)
        assert isinstance(definition, WorkdayPartitionsDefinition)  # noqa: S101 - just seen
        due = deadlines.newest_due(now)
        partition = due.strftime(definition.fmt) if due else ""
        made = {due} if due and _is_made(instance, spec.asset_key, partition) else set()
        archive = getattr(resources, spec.metadata[_SOURCE]) if _SOURCE in spec.metadata else None
        last, ends = definition.last_date, "The partitions end"
        if archive is not None and archive.last_date is not None and archive.last_date < last:
            last, ends = archive.last_date, "The archive ends"
        freshness = judge(
            deadlines,
            made,
            now,
            first_date=definition.first_workday,
            last_date=last,
            ends=ends,
        )
        yield _Answer(spec, freshness, partition if freshness.day else "")


def _is_made(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str) -> bool:
    found = instance.event_log_storage.get_latest_storage_id_by_partition(
        key, dg.DagsterEventType.ASSET_MATERIALIZATION, {partition}
    )
    return partition in found


def _partitions(
    assets: Iterable[dg.AssetsDefinition | dg.AssetSpec],
) -> Iterator[tuple[dg.AssetKey, dg.PartitionsDefinition | None]]:
    for asset in assets:
        for spec in [asset] if isinstance(asset, dg.AssetSpec) else asset.specs:
            yield spec.key, spec.partitions_def


def _deadlines(
    key: dg.AssetKey, definition: dg.PartitionsDefinition | None, options: Mapping[str, Any]
) -> Deadlines:
    """The deadlines that the metadata of a check describe.

    Raises:
        InvalidInputError: the asset is not partitioned by workdays, or it is no deadline.
    """
    if not isinstance(definition, WorkdayPartitionsDefinition):
        raise InvalidInputError(
            f"assets={key.to_user_string()} is not partitioned by a WorkdayPartitionsDefinition"
            f" ({definition}); leave it out."
        )
    grace = options.get(_GRACE)
    return Deadlines(
        definition.calendar,
        definition.timezone,
        time.fromisoformat(options[_DEADLINE]),
        options[_WITHIN],
        None if grace is None else timedelta(seconds=grace),
    )


def _description(deadlines: Deadlines) -> str:
    n = deadlines.within_workdays
    on = {0: "that day", 1: "the next workday"}.get(n, f"the {n}th workday after it")
    return (
        f"The newest {deadlines.calendar.name} workday that is due is materialized: each is due at"
        f" {deadlines.deadline:%H:%M} {deadlines.timezone} on {on}."
    )


def _tick_text(answers: Sequence[_Answer]) -> str:
    late = [a for a in answers if not a.freshness.passed]
    if not late:
        return f"All {len(answers)} fresh. {answers[0].freshness.text}" if answers else "No checks."
    names = ", ".join(answer.spec.asset_key.to_user_string() for answer in late)
    return f"{len(late)} of {len(answers)} late: {names}. {late[0].freshness.text}"
