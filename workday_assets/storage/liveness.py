"""Whether the process that executes a run still lives, as the database knows it.

The process that executes a run takes a Postgres advisory lock of the run's number and keeps it
until it ends. The server drops the lock however the process ends, `kill -9` and a lost machine
included, so nobody compares process ids or waits for a heartbeat.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from datetime import timedelta

import sqlalchemy

_RENEWAL_SECONDS = 20
_SERVER_AGE = sqlalchemy.text("SELECT extract(epoch from now() - pg_postmaster_start_time())")


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
        self._renewal: threading.Thread | None = None
        self._closed = threading.Event()

    def hold(self, run_id: str) -> None:
        """Take the lock of a run that this process executes, until it ends."""
        with self._one_thread:
            self._held.add(run_id)
            if self._alive():
                self._take(run_id)
            else:
                self.renew()
            if self._renewal is None:
                self._renewal = threading.Thread(target=self._renew_always, daemon=True)
                self._renewal.start()

    def renew(self) -> None:
        """Take the locks again on a new connection where the old one broke."""
        with self._one_thread:
            if not self._held or self._alive():
                return
            self._drop()
            self._connection = self._engine.connect()
            for run_id in self._held:
                self._take(run_id)

    def is_held(self, run_id: str) -> bool:
        """Whether any process holds the lock of a run."""
        with self._engine.connect() as connection:
            free = bool(connection.execute(_select("pg_try_advisory_lock", run_id)).scalar())
            if free:
                connection.execute(_select("pg_advisory_unlock", run_id))
        return not free

    def server_age(self) -> timedelta:
        """How long the server has been up; its restart took all locks for a moment."""
        with self._engine.connect() as connection:
            return timedelta(seconds=float(connection.execute(_SERVER_AGE).scalar_one()))

    def close(self) -> None:
        """Give up the connection, and with it all locks."""
        self._closed.set()
        self._drop()

    def _drop(self) -> None:
        with self._one_thread:
            if self._connection is not None:
                with suppress(sqlalchemy.exc.SQLAlchemyError):
                    self._connection.close()
                self._connection = None

    def _renew_always(self) -> None:
        """Renew while a silent step runs: a connection can break without any event to notice it."""
        while not self._closed.wait(_RENEWAL_SECONDS):
            with suppress(sqlalchemy.exc.SQLAlchemyError):
                self.renew()

    def _take(self, run_id: str) -> None:
        assert self._connection is not None  # noqa: S101 - asked by the callers
        self._connection.execute(_select("pg_advisory_lock", run_id))
        self._connection.commit()

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
