"""Whether the process that executes a run still lives, as the database knows it.

The process that executes a run takes a Postgres advisory lock of the run's number and keeps it
until it ends. The server drops the lock however the process ends, `kill -9` and a lost machine
included, so nobody compares process ids or waits for a heartbeat.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress

import sqlalchemy


class RunLocks:
    """The locks that this process holds, all on one connection, and the question for others'.

    Args:
        engine: an engine on the instance's database that pools no connections.
    """

    def __init__(self, engine: sqlalchemy.Engine) -> None:
        self._engine = engine
        self._connection: sqlalchemy.Connection | None = None
        self._held: set[str] = set()
        self._one_thread = threading.RLock()

    def hold(self, run_id: str) -> None:
        """Take the lock of a run that this process executes, until it ends."""
        with self._one_thread:
            self.close()
            self._held.add(run_id)
            self.renew()

    def renew(self) -> None:
        """Take the locks again on a new connection where the old one broke."""
        with self._one_thread:
            if not self._held or self._alive():
                return
            self.close()
            self._connection = self._engine.connect()
            for run_id in self._held:
                self._connection.execute(_select("pg_advisory_lock", run_id))
            self._connection.commit()

    def is_held(self, run_id: str) -> bool:
        """Whether any process holds the lock of a run."""
        with self._engine.connect() as connection:
            free = bool(connection.execute(_select("pg_try_advisory_lock", run_id)).scalar())
            if free:
                connection.execute(_select("pg_advisory_unlock", run_id))
        return not free

    def close(self) -> None:
        """Give up the connection, and with it all locks."""
        with self._one_thread:
            if self._connection is not None:
                with suppress(sqlalchemy.exc.SQLAlchemyError):
                    self._connection.close()
                self._connection = None

    def _alive(self) -> bool:
        if self._connection is None:
            return False
        try:
            self._connection.execute(sqlalchemy.text("SELECT 1"))
            self._connection.commit()
        except sqlalchemy.exc.SQLAlchemyError:
            return False
        return True


def _select(function: str, run_id: str) -> sqlalchemy.Select[tuple[object]]:
    number = int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8], "big", signed=True)
    return sqlalchemy.select(getattr(sqlalchemy.func, function)(number))
