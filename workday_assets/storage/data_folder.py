"""The embedded server's data folder: complete or absent, and never deleted once it was used."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workday_assets.errors import InstanceError
from workday_assets.storage.programs import (
    Programs,
    data_folder_programs,
    newest_programs,
    telling_line,
)
from workday_assets.storage.state import POSTGRES_URL_VARIABLE


def complete_data_folder(root: Path, pgdata: Path) -> Programs:
    """The programs of the data folder's version; the folder is made first where there is none.

    The caller holds the lock under which servers are started.

    Raises:
        InstanceError: the folder is not whole, or cannot be made.
    """
    if pgdata.is_dir() and not any(pgdata.iterdir()):
        pgdata.rmdir()
    if not pgdata.exists():
        _initialize(root, pgdata)
    missing = [name for name in ("PG_VERSION", "global/pg_control") if not (pgdata / name).exists()]
    if missing:
        raise InstanceError(
            f"{pgdata} is not a complete Postgres data folder ({missing[0]} is missing) and is left"
            " as it is; restore it from a copy, or move it away to start with an empty history."
        )
    return data_folder_programs(pgdata)


def _initialize(root: Path, pgdata: Path) -> None:
    fresh = root / "postgres.new"
    if fresh.exists():  # of a start that was interrupted; no server ever ran on it
        shutil.rmtree(fresh)
    programs = newest_programs()
    fresh.mkdir(mode=0o700)
    programs.make_reachable(fresh)
    programs.give(fresh)
    # "trust": the socket lies in a folder that only this user can enter.
    options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]
    result = programs.run("initdb", options, fresh)
    if result.returncode:
        raise InstanceError(
            f"the embedded Postgres cannot be initialized in {fresh}:"
            f" {telling_line(result.output)}; mend that, or set"
            f" {POSTGRES_URL_VARIABLE} to use a Postgres of your own."
        )
    fresh.rename(pgdata)
    descriptor = os.open(root, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
