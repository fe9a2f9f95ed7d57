"""Events written in bulk mean what events written one by one mean, on the real Postgres."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from sqlalchemy.exc import IntegrityError

from workday_assets.storage.event_log import WorkdayEventLogStorage
from workday_assets.storage.state import find_instance

DAYS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-31")
RANGE = {
    "dagster/asset_partition_range_start": "2026-01-05",
    "dagster/asset_partition_range_end": "2026-01-09",
}
KEYS = [f"2026-01-0{n}" for n in range(5, 10)]
FIRST, SECOND = dg.AssetKey("first"), dg.AssetKey("second")


@dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run(), code_version="1")
def first() -> dg.MaterializeResult[None]:
    """Materializes every day of its range."""
    return dg.MaterializeResult(metadata={"answer": 42}, tags={"kind": "made"})


@dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run(), deps=[first])
def second() -> None:
    """Fails."""
    raise ValueError("second never works")


@pytest.fixture
def instance(project: Path) -> Iterator[dg.DagsterInstance]:
    """The project's instance, on the embedded Postgres."""
    assert project.is_dir()
    with find_instance().open() as found:
        yield found


def believed(instance: dg.DagsterInstance, run_id: str) -> dict[str, Any]:
    """What the public read methods say of the two assets after a run."""
    storage = instance.event_log_storage
    records = instance.get_records_for_run(run_id).records
    attempts = {
        key: storage.get_latest_asset_partition_materialization_attempts_without_materializations(
            key
        )
        for key in (FIRST, SECOND)
    }
    entries = {record.asset_entry.asset_key: record for record in instance.get_asset_records()}
    return {
        "materialized": {k: instance.get_materialized_partitions(k) for k in (FIRST, SECOND)},
        "attempts": {
            key: {p: r == run_id for p, (r, _) in a.items()} for key, a in attempts.items()
        },
        "events": [
            (
                record.event_log_entry.get_dagster_event().event_type_value,
                str(record.event_log_entry.get_dagster_event().asset_key),
                record.partition_key,
            )
            for record in records
            if record.event_log_entry.is_dagster_event
            and record.event_log_entry.get_dagster_event().asset_key
        ],
        "newest": {key: entries[key].asset_entry.last_run_id == run_id for key in (FIRST, SECOND)},
        "tags": instance.get_event_tags_for_asset(FIRST),
    }


def ranged_run(instance: dg.DagsterInstance) -> str:
    """One run over five days of which the second asset fails; its id."""
    result = dg.materialize([first, second], instance=instance, tags=RANGE, raise_on_error=False)
    assert not result.success
    return result.run_id


def test_bulk_and_single_events_are_read_alike(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planned, materialized and failed partitions look the same either way."""
    written: list[int] = []
    plain = WorkdayEventLogStorage.store_event_batch
    monkeypatch.setattr(
        WorkdayEventLogStorage,
        "store_event_batch",
        lambda self, events: (written.append(len(events)), plain(self, events))[1],
    )
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "0")
    singly = believed(instance, ranged_run(instance))
    assert written == []
    for key in (FIRST, SECOND):
        instance.wipe_assets([key])
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "1000")
    in_bulk = believed(instance, ranged_run(instance))
    assert written == [10, 5]
    assert in_bulk == singly
    assert in_bulk["materialized"] == {FIRST: set(KEYS), SECOND: set()}
    assert in_bulk["attempts"] == {FIRST: {}, SECOND: dict.fromkeys(KEYS, True)}


def test_bulk_writing_is_on_by_default(instance: dg.DagsterInstance) -> None:
    """Opening the instance is enough; no variable has to be set."""
    assert isinstance(instance.event_log_storage, WorkdayEventLogStorage)
    assert instance._is_batch_writing_enabled()


def test_a_batch_is_stored_whole_or_not_at_all(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a row of a batch is refused, none of the others is left behind."""
    run_id = ranged_run(instance)
    storage = instance.event_log_storage
    assert isinstance(storage, WorkdayEventLogStorage)
    entries = [
        record.event_log_entry
        for record in instance.get_records_for_run(run_id).records
        if record.event_log_entry.is_dagster_event
        and record.event_log_entry.get_dagster_event().is_step_materialization
    ]
    before = instance.get_records_for_run(run_id).records
    whole = storage._event_to_row
    rows = {id(entry): whole(entry) for entry in entries}
    rows[id(entries[3])][SqlEventLogStorageTable.c.event.name] = None
    monkeypatch.setattr(storage, "_event_to_row", lambda entry: rows[id(entry)])
    with pytest.raises(IntegrityError):
        storage.store_event_batch(entries)
    assert instance.get_records_for_run(run_id).records == before
