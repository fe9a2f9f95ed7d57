"""The assets with which the contract of the event log is tested, and what they do on request.

As a program it executes one ranged run of the asset `first` on a serialized instance.
"""

import sys
from collections.abc import Callable, Iterator

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationPlanned,
)
from dagster._core.events import (
    AssetMaterializationPlannedData,
    AssetObservationData,
    StepMaterializationData,
)
from dagster._core.instance import InstanceRef
from dagster._serdes import deserialize_value

DAYS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-31")
KEYS = [f"2026-01-0{n}" for n in range(5, 10)]
FIRST, SECOND, THIRD, WHOLE = (dg.AssetKey(name) for name in ("first", "second", "third", "whole"))
ASSETS = {FIRST: DAYS, SECOND: DAYS, THIRD: DAYS, WHOLE: None}
DAILY, PLAIN, GATE = (
    dg.AssetCheckKey(FIRST, "daily"),
    dg.AssetCheckKey(WHOLE, "plain"),
    dg.AssetCheckKey(SECOND, "gate"),
)
CHECKS = {DAILY: DAYS, PLAIN: None, GATE: None}

#: What to do inside the second asset, and whether its blocking check passes.
inside_second: list[Callable[[], None]] = []
gate_passes = [True]

_RANGED = dg.BackfillPolicy.single_run()


@dg.asset(
    partitions_def=DAYS,
    backfill_policy=_RANGED,
    code_version="1",
    check_specs=[dg.AssetCheckSpec("daily", asset="first", partitions_def=DAYS)],
)
def first(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Materialized with metadata, tags, an observation per day and a text that needs quoting."""
    for key in context.partition_keys:
        context.add_asset_metadata({"text": f"tab\t, \\N and {key}"}, partition_key=key)
        context.log_event(dg.AssetObservation("third", partition=key, metadata={"seen": 1}))
    check = dg.AssetCheckResult(check_name="daily", passed=True)
    return dg.MaterializeResult(
        metadata={"answer": 42}, tags={"kind": "made"}, check_results=[check]
    )


@dg.asset(
    partitions_def=DAYS,
    backfill_policy=_RANGED,
    code_version="1",
    deps=[first],
    check_specs=[dg.AssetCheckSpec("gate", asset="second", blocking=True)],
)
def second() -> dg.MaterializeResult:
    """Materialized with a data version, after what is to happen inside has happened."""
    for happen in inside_second:
        happen()
    check = dg.AssetCheckResult(check_name="gate", passed=gate_passes[0])
    return dg.MaterializeResult(data_version=dg.DataVersion("two"), check_results=[check])


@dg.asset(partitions_def=DAYS, backfill_policy=_RANGED, code_version="1", deps=[second])
def third() -> None:
    """Materialized last."""


@dg.asset(code_version="1")
def whole() -> None:
    """Has no partitions."""


@dg.asset_check(asset=whole)
def plain() -> dg.AssetCheckResult:
    """Fails with a warning."""
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)


def definitions() -> dg.Definitions:
    """All of it, and jobs whose steps run in their process."""
    jobs = [
        dg.define_asset_job(name, selection, executor_def=dg.in_process_executor)
        for name, selection in {
            "days": dg.AssetSelection.assets(first, second, third),
            "one": dg.AssetSelection.assets(first),
            "wholly": dg.AssetSelection.assets(whole),
        }.items()
    ]
    return dg.Definitions([first, second, third, whole], jobs=jobs, asset_checks=[plain])


def days() -> dg.JobDefinition:
    """The job over the three assets with partitions, for another process to build again."""
    return definitions().resolve_job_def("days")


def ranged(start: str = KEYS[0], end: str = KEYS[-1]) -> dict[str, str]:
    """The tags of a run over a range of days."""
    return {
        "dagster/asset_partition_range_start": start,
        "dagster/asset_partition_range_end": end,
    }


def events(run_id: str, timestamp: float) -> Iterator[dg.EventLogEntry]:
    """One batch with every kind of event that Dagster writes in batches, over two assets."""
    subset = DAYS.subset_with_partition_keys(KEYS).to_serializable_subset()
    planned, made, seen, check = (
        dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
        dg.DagsterEventType.ASSET_MATERIALIZATION,
        dg.DagsterEventType.ASSET_OBSERVATION,
        dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED,
    )
    said = [
        (
            check,
            AssetCheckEvaluationPlanned(
                asset_key=FIRST, check_name="daily", partitions_subset=subset
            ),
        )
    ]
    said += [(check, AssetCheckEvaluationPlanned(asset_key=WHOLE, check_name="plain"))]
    for key in (THIRD, FIRST):
        said += [(planned, AssetMaterializationPlannedData(key, each, None)) for each in KEYS]
        for each in KEYS:
            tags = {"dagster/data_version": f"of {each}", "kind": "made"}
            of = {"partition": each, "tags": tags, "metadata": {"n": 1}}
            said += [
                (made, StepMaterializationData(dg.AssetMaterialization(key, **of))),
                (seen, AssetObservationData(dg.AssetObservation(key, **of))),
            ]
    for n, (kind, data) in enumerate(said):
        event = dg.DagsterEvent(
            kind.value, "job", event_specific_data=data, step_key=f"step {n % 2}"
        )
        yield dg.EventLogEntry(
            error_info=None,
            level=10,
            user_message="",
            run_id=run_id,
            timestamp=timestamp + n,
            dagster_event=event,
        )


if __name__ == "__main__":
    with dg.DagsterInstance.from_ref(deserialize_value(sys.argv[1], InstanceRef)) as _instance:
        _job = definitions().resolve_job_def("one")
        _job.execute_in_process(instance=_instance, tags=ranged())
