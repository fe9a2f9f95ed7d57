"""Locks of runs on the real Postgres: held while the process lives, and taken again when broken."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy

from workday_assets.storage.liveness import RunLocks
from workday_assets.storage.server import join_server


def test_a_lock_outlives_its_connection(root: Path) -> None:
    """A connection that breaks takes its locks along; the next event takes them again."""
    lease = join_server(root)
    engine = sqlalchemy.create_engine(lease.url, poolclass=sqlalchemy.pool.NullPool)
    worker, observer = RunLocks(engine), RunLocks(engine)
    try:
        for run_id in ("one", "two"):
            worker.hold(run_id)
        assert [observer.is_held(run_id) for run_id in ("one", "two", "three")] == [
            True,
            True,
            False,
        ]
        with engine.connect() as connection:
            connection.execute(
                sqlalchemy.text(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                )
            )
        assert not observer.is_held("one")
        worker.renew()
        assert [observer.is_held(run_id) for run_id in ("one", "two")] == [True, True]
        worker.close()
        assert not observer.is_held("two")
    finally:
        worker.close()
        lease.close()
