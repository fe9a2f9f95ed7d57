"""Dagster's event log on Postgres, with bulk writes, and with a lock per run that is executed.

A run over thousands of partitions writes two events for each, planned and materialized; one by one
they cost far more than the data. Dagster hands them over in batches when `DAGSTER_EVENT_BATCH_SIZE`
is set, which `WorkdayStorage` does, and writes them singly again when a batch fails.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import sqlalchemy
from dagster._core.events import BATCH_WRITABLE_EVENTS
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster_postgres.event_log import PostgresEventLogStorage

from workday_assets.storage.bulk import copy_rows, reserve_ids, start_transaction, was_committed
from workday_assets.storage.event_rows import EventRow, check_rows, event_rows, tag_rows
from workday_assets.storage.liveness import RunLocks

if TYPE_CHECKING:
    from workday_assets.storage.server import ServerLease

# A child of Dagster's logger, so that `dagster dev` shows it.
_logger = logging.getLogger("dagster.workday_assets")

# An asset's failure is an event that Dagster stores in its cloud only.
_BULK = BATCH_WRITABLE_EVENTS - {dg.DagsterEventType.ASSET_FAILED_TO_MATERIALIZE}


class WorkdayEventLogStorage(PostgresEventLogStorage):
    """Dagster's event log; disposing of it also gives up the use of the embedded server.

    Of the storages an instance disposes of, this is the last.
    """

    def __init__(self, postgres_url: str, lease: ServerLease | None) -> None:
        super().__init__(postgres_url)
        self._lease = lease
        self._locks = RunLocks(
            sqlalchemy.create_engine(
                postgres_url,
                poolclass=sqlalchemy.pool.NullPool,
                # A firewall must not take a silent connection, and so a lock, for a dead one.
                connect_args={"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10},
            )
        )

    def is_executing(self, run_id: str) -> bool:
        """Whether the process that started to execute a run is still there."""
        return self._locks.is_held(run_id)

    def server_age(self) -> timedelta:
        """How long the database server has been up."""
        return self._locks.server_age()

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Store one event; the process that says that a run starts is the one that executes it."""
        if event.dagster_event_type == dg.DagsterEventType.RUN_START:
            self._locks.hold(event.run_id)
        self._locks.renew()
        super().store_event(event)

    def store_event_batch(self, events: Sequence[dg.EventLogEntry]) -> None:
        """Store the events of a ranged run in one transaction: all of them or none.

        What is stored is what `store_event` would have stored for each. When the connection breaks
        on the way of the answer, the server is asked whether it has committed, so that Dagster,
        which stores the events one by one after an error, does not store them twice.
        """
        self._locks.renew()
        if {event.dagster_event_type for event in events} - _BULK:
            super().store_event_batch(events)
            return
        stored = event_rows(events)
        transaction = None
        try:
            with self.index_transaction() as connection:
                transaction = start_transaction(connection)
                self._store_rows(connection, stored)
        except Exception as error:
            if transaction is None or not was_committed(self._engine, transaction):
                raise
            _logger.warning("%d events were stored, and then: %s", len(events), error)

    def _store_rows(self, connection: sqlalchemy.Connection, stored: list[EventRow]) -> None:
        ids = reserve_ids(connection, SqlEventLogStorageTable.c.id, len(stored))
        numbered = list(zip(ids, stored, strict=True))
        events = [{"id": n, **each.row} for n, each in numbered]
        tags = [
            row
            for n, each in numbered
            for row in tag_rows(each, n, self._tags_for_asset_event(each.event))
        ]
        checks = [row for n, each in numbered for row in check_rows(each, n)]
        copy_rows(connection, SqlEventLogStorageTable, events)
        copy_rows(connection, AssetEventTagsTable, tags)
        copy_rows(connection, AssetCheckExecutionsTable, checks)
        newest = {
            (each.asset_key, each.row["dagster_event_type"]): (each.asset_key, n, each.event)
            for n, each in numbered
            if each.asset_key is not None
        }
        # By asset, so that two runs that write the same assets never wait for each other.
        for _, n, event in sorted(newest.values()):
            self._store_asset_event(connection, event, n)

    def dispose(self) -> None:
        """Close the log, and give up the locks and the embedded server."""
        self._locks.close()
        super().dispose()
        if self._lease is not None:
            self._lease.close()
