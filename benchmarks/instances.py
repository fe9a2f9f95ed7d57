"""Instances to compare: this project's, and Dagster's own on SQLite and on Postgres.

All run the same command over the same assets; only `dagster.yaml` differs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workday_assets.storage.server import join_server

REPOSITORY = Path(__file__).parents[1]
COMMAND = str(Path(sys.executable).with_name("workday-assets"))
KINDS = ("ours", "stock Postgres", "stock SQLite")
_QUIET = "telemetry: {enabled: false}\n"
_POSTGRES = "storage: {postgres: {postgres_url: {env: BENCHMARK_POSTGRES_URL}}}\n"


@contextmanager
def instance(kind: str) -> Iterator[dict[str, str]]:
    """The environment of a new, empty instance of one of `KINDS`; it is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the embedded server of a user root is another user
        environment = {
            "DAGSTER_HOME": name,
            "WORKDAY_ASSETS_HOME": str(folder / "state"),
            "WORKDAY_ASSETS_POSTGRES_URL": "",
        }
        if kind == "ours":
            shutil.copy(REPOSITORY / "dagster.yaml", folder)
            yield environment
            return
        environment["DAGSTER_EVENT_BATCH_SIZE"] = "0"  # Dagster's default
        if kind == "stock SQLite":
            (folder / "dagster.yaml").write_text(_QUIET, "utf-8")
            yield environment
            return
        (folder / "dagster.yaml").write_text(_QUIET + _POSTGRES, "utf-8")
        lease = join_server(folder / "server")
        try:
            yield environment | {"BENCHMARK_POSTGRES_URL": lease.url}
        finally:
            lease.close()
