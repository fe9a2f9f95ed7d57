"""Dagster's event log on Postgres, with bulk writes, and with a lock per run that is executed.

A run over thousands of partitions writes two events for each, planned and materialized; one by one
they cost far more than the data. Dagster hands them over in batches when `DAGSTER_EVENT_BATCH_SIZE`
is set, which `WorkdayStorage` does, and writes them singly again when a batch fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import sqlalchemy
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster_postgres.event_log import PostgresEventLogStorage

from workday_assets.storage.liveness import RunLocks

if TYPE_CHECKING:
    from workday_assets.storage.server import ServerLease

_BULK = {
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
}


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
        """Store planned and materialization events in one transaction: all of them or none.

        Rows, tags and the assets' newest events are what `store_event` would have written for each.
        Other events go to Dagster's own method.
        """
        self._locks.renew()
        if {event.get_dagster_event().event_type for event in events} - _BULK:
            super().store_event_batch(events)
            return
        insert = SqlEventLogStorageTable.insert().returning(
            SqlEventLogStorageTable.c.id, sort_by_parameter_order=True
        )
        rows = [self._event_to_row(event) for event in events]
        newest = {str(event.get_dagster_event().asset_key): n for n, event in enumerate(events)}
        with self.index_transaction() as connection:
            ids = [int(found) for found in connection.execute(insert, rows).scalars()]
            self._store_asset_event_tags(connection, events, ids)
            for _, n in sorted(newest.items()):
                self._store_asset_event(connection, events[n], ids[n])

    def dispose(self) -> None:
        """Close the log, and give up the locks and the embedded server."""
        self._locks.close()
        super().dispose()
        if self._lease is not None:
            self._lease.close()
