"""The rows that stand for events in the tables of Dagster's event log.

Columns and values are Dagster's own; what differs is how often a part of them is made. The events
of a ranged run differ in what they say of their partition and in their time; the rest of their
text is the same for thousands of them and is serialized once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import uuid4

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationPlanned,
)
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._serdes import serialize_value

from workday_assets.storage.bulk import Row


class EventRow(NamedTuple):
    """An event as it is stored.

    Attributes:
        event: the event.
        row: its row in the table of events, without the number.
        asset_key: the asset whose history it belongs to, as it is stored; `None` of a check.
    """

    event: dg.EventLogEntry
    row: Row
    asset_key: str | None


def event_rows(events: Sequence[dg.EventLogEntry]) -> list[EventRow]:
    """What to store for events that Dagster writes in batches, in their order."""
    texts = _Texts()
    keys: dict[dg.AssetKey, str] = {}
    rows = []
    for event in events:
        said = event.get_dagster_event()
        key = said.asset_key
        if key is not None and key not in keys:
            keys[key] = key.to_string()
        asset_key = None if key is None else keys[key]
        row: Row = {
            "run_id": event.run_id,
            "event": texts.of(event),
            "dagster_event_type": said.event_type_value,
            "timestamp": _instant(event),
            "step_key": said.step_key,
            "asset_key": asset_key,
            "partition": said.partition or None,
        }
        rows.append(EventRow(event, row, asset_key))
    return rows


def tag_rows(stored: EventRow, event_id: int, tags: Mapping[str, str]) -> Iterator[Row]:
    """The rows of an event in the table of tags."""
    for key, value in tags.items():
        yield {
            "event_id": event_id,
            "asset_key": stored.asset_key,
            "key": key,
            "value": value,
            "event_timestamp": stored.row["timestamp"],
        }


def check_rows(stored: EventRow, event_id: int) -> Iterator[Row]:
    """The rows of a planned check, one per partition, in the table of checks."""
    planned = stored.event.get_dagster_event().event_specific_data
    if not isinstance(planned, AssetCheckEvaluationPlanned):
        return
    subset = planned.partitions_subset
    for partition in [None] if subset is None else subset.get_partition_keys():
        yield {
            "asset_key": planned.asset_key.to_string(),
            "check_name": planned.check_name,
            "partition": partition,
            "run_id": stored.row["run_id"],
            "execution_status": AssetCheckExecutionRecordStatus.PLANNED.value,
            "evaluation_event": stored.row["event"],
            "evaluation_event_timestamp": stored.row["timestamp"],
            "evaluation_event_storage_id": event_id,
        }


class _Texts:
    """The texts that `serialize_value` makes of events, each fastest after one that is like it."""

    def __init__(self) -> None:
        self._frame: dg.EventLogEntry | None = None
        self._parts = ("", "", "")
        # No event holds these words; they mark where the parts that differ go.
        self._said, self._when = uuid4().hex, uuid4().hex

    def of(self, event: dg.EventLogEntry) -> str:
        """The text of one event."""
        said = event.get_dagster_event()
        frame = event._replace(
            dagster_event=said._replace(event_specific_data=self._said),  # type: ignore[arg-type]
            timestamp=self._when,  # type: ignore[arg-type]
        )
        if frame != self._frame:
            self._frame = frame
            head, _, rest = serialize_value(frame).partition(f'"{self._said}"')
            middle, _, tail = rest.partition(f'"{self._when}"')
            self._parts = head, middle, tail
        head, middle, tail = self._parts
        data = serialize_value(said.event_specific_data)
        return f"{head}{data}{middle}{json.dumps(event.timestamp)}{tail}"


def _instant(event: dg.EventLogEntry) -> datetime:
    """The time of an event as the columns hold it: UTC, naive."""
    return datetime.fromtimestamp(event.timestamp, UTC).replace(tzinfo=None)
