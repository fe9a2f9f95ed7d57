"""The newest materialization of each partition of an asset, read in bulk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import sqlalchemy
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._serdes import deserialize_value

from workday_assets.errors import InstanceError
from workday_assets.storage.parquet import FILE

_CHUNK = 500
#: Called with what is done now and the number of its parts; answers what is to be called with the
#: number of parts that were just done.
Begin = Callable[[str, int], Callable[[int], object]]


def no_progress(what: str, total: int) -> Callable[[int], object]:  # noqa: ARG001 - see `Begin`
    """Tells nobody."""
    return lambda _: None


@dataclass(frozen=True, slots=True)
class Keys:
    """Upstream partition keys as a materialization records them.

    Attributes:
        count: how many.
        first: the first one; `None` where there is none.
        last: the last one, likewise.
        sha256: of the keys in order, joined by newlines.
    """

    count: int
    first: str | None
    last: str | None
    sha256: str

    @classmethod
    def of(cls, keys: Sequence[str]) -> Keys:
        """What would be recorded of `keys`."""
        digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()
        return cls(len(keys), keys[0] if keys else None, keys[-1] if keys else None, digest)

    def __str__(self) -> str:
        if self.count < 2:
            return self.first or "nothing"
        return f"{self.count} keys {self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class Record:
    """One materialization.

    Attributes:
        key: its partition key.
        run_id: the run that made it; empty where a person reported it without a run.
        made_at: when, in UTC.
        calendar: name of the calendar by which it was made; `None` where it does not say.
        fingerprint: of that calendar's days.
        inputs: by upstream asset, the keys that it was made from; likewise.
        rows: rows of its file; likewise.
        sha256: of its file's bytes; likewise.
    """

    key: str
    run_id: str
    made_at: datetime
    calendar: str | None = None
    fingerprint: str | None = None
    inputs: Mapping[str, Keys] | None = field(default=None, hash=False)
    rows: int | None = None
    sha256: str | None = None


def read_records(
    instance: dg.DagsterInstance,
    asset_key: dg.AssetKey,
    begin: Begin = no_progress,
    wanted: Callable[[str], bool] = lambda _: True,
) -> dict[str, Record]:
    """By partition key, the newest materialization of an asset.

    Args:
        instance: where they are recorded, in an SQL event log.
        asset_key: the asset.
        begin: see `Begin`.
        wanted: of a partition key, whether to read it.

    Raises:
        InstanceError: the event log is not an SQL one.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        raise InstanceError(
            f"the event log {type(storage).__name__} is not an SQL database, which alone can be"
            " audited; run the audit where the instance's own database is configured."
        )
    newest = storage.get_latest_storage_id_by_partition(
        asset_key, dg.DagsterEventType.ASSET_MATERIALIZATION
    )
    events = SqlEventLogStorageTable.c
    numbers = sorted(number for key, number in newest.items() if wanted(key))
    found: dict[str, Record] = {}
    advance = begin(f"records of {asset_key.to_user_string()}", len(numbers))
    for start in range(0, len(numbers), _CHUNK):
        chunk = numbers[start : start + _CHUNK]
        query = sqlalchemy.select(events.partition, events.event).where(events.id.in_(chunk))
        with storage.index_connection() as connection:
            rows = connection.execute(query).all()
        for key, text in rows:
            found[key] = _record(key, deserialize_value(text, dg.EventLogEntry))
        advance(len(rows))
    return dict(sorted(found.items()))


def count_without_partition(instance: dg.DagsterInstance, asset_key: dg.AssetKey) -> int:
    """How many materializations of a partitioned asset name no partition."""
    storage = instance.event_log_storage
    assert isinstance(storage, SqlEventLogStorage)  # noqa: S101 - `read_records` refused others
    events = SqlEventLogStorageTable.c
    query = sqlalchemy.select(sqlalchemy.func.count()).where(
        events.asset_key == asset_key.to_string(),
        events.dagster_event_type == dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        events.partition.is_(None),
    )
    with storage.index_connection() as connection:
        return int(connection.execute(query).scalar_one())


def _record(key: str, event: dg.EventLogEntry) -> Record:
    materialization = event.asset_materialization
    assert materialization is not None  # noqa: S101 - only materializations were read
    said = {label: value.value for label, value in materialization.metadata.items()}
    calendar, file = _mapping(said, "workday/calendar"), _mapping(said, FILE)
    rows = file.get("rows", said.get("dagster/partition_row_count"))
    inputs = None
    if "workday/inputs" in said:
        recorded = _mapping(said, "workday/inputs")
        inputs = {asset: Keys(**described) for asset, described in recorded.items()}
    return Record(
        key=key,
        run_id=event.run_id,
        made_at=datetime.fromtimestamp(event.timestamp, UTC),
        calendar=calendar.get("name"),
        fingerprint=calendar.get("fingerprint"),
        inputs=inputs,
        rows=rows if isinstance(rows, int) else None,
        sha256=file.get("sha256"),
    )


def _mapping(said: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Metadata that this package writes as a JSON object; empty where there is none."""
    value = said.get(label)
    return value if isinstance(value, dict) else {}
