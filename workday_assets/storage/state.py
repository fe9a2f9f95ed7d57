"""The state root, and the one function that finds the instance.

Standard library only (Dagster is imported when an instance is opened), so that a command can say
which instance it would use without paying for Dagster. What the instance stores is the business
of `postgres.py` and `local.py`; how its database server lives is that of `server.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from workday_assets.errors import InstanceError

if TYPE_CHECKING:
    from dagster import DagsterInstance

HOME_VARIABLE = "WORKDAY_ASSETS_HOME"
POSTGRES_URL_VARIABLE = "WORKDAY_ASSETS_POSTGRES_URL"
DEFAULT_ROOT_NAME = ".workday_assets"
CONFIG_NAME = "dagster.yaml"

# Special characters in user and password are percent-encoded.
_URL = re.compile(
    r"postgres(ql)?(\+\w+)?://([^:/?#@]*(:[^:/?#@]*)?@)?"
    r"(?P<host>[\w.,-]*|\[[0-9a-fA-F:.]+\])(:(?P<port>\d+))?(/(?P<name>[\w.%-]*))?(\?.*)?"
)


@dataclass(frozen=True)
class InstanceLocation:
    """Which instance is meant, and why; nothing is opened or created yet.

    Attributes:
        config_dir: the folder whose `dagster.yaml` configures the instance, absolute.
        chosen_by: why that folder, in words: ``DAGSTER_HOME`` or ``found from the current folder``.
        root: the state root, absolute; it need not exist.
        dotenv: the variables of the `.env` file beside the project's `dagster.yaml`, which win
            over the environment, as in `dagster dev`.
    """

    config_dir: Path
    chosen_by: str
    root: Path
    dotenv: Mapping[str, str] = field(repr=False)

    def describe(self) -> str:
        """One line for people: the configuration, the state root, the database; no password."""
        config = self.config_dir / CONFIG_NAME
        where = f"Instance: {config} ({self.chosen_by}); state root: {self.root}"
        if not config.is_file() or f"{__package__}.postgres" not in config.read_text("utf-8"):
            return f"{where}; database: Dagster's, as configured there"
        url = {**os.environ, **self.dotenv}.get(POSTGRES_URL_VARIABLE, "")
        database = describe_url(url) if url else "embedded Postgres"
        return f"{where}; database: {database}"

    @contextmanager
    def open(self) -> Iterator[DagsterInstance]:
        """The instance itself, disposed of at the end of the block.

        Inside the block, and in processes started there, `state_root()` is this location's root,
        whatever becomes of the current folder.

        Raises:
            InstanceError: the state root or the database cannot be used.
        """
        from dagster import DagsterInstance
        from dagster._core.instance import InstanceRef
        from dagster._utils.env import environ

        by_home = self.chosen_by == "DAGSTER_HOME"
        base = self.config_dir if by_home else self.root
        with environ({**self.dotenv, HOME_VARIABLE: str(self.root)}):
            ref = InstanceRef.from_dir(str(base), config_dir=str(self.config_dir))
            with DagsterInstance.from_ref(ref) as instance:
                yield instance


def find_instance(start: Path | None = None) -> InstanceLocation:
    """The instance that `dagster dev` and every command of this project use.

    An exported `DAGSTER_HOME` wins, as everywhere in Dagster; else it is the project: the nearest
    folder with a `dagster.yaml`, from `start` (the current folder) upwards.

    Raises:
        InstanceError: there is neither, or a variable does not name an absolute folder.
    """
    start = Path.cwd() if start is None else start
    project = _nearest_project(start)
    dotenv = _read_dotenv(project or start)
    env = {**os.environ, **dotenv}
    if env.get("DAGSTER_HOME"):
        config_dir = _absolute("DAGSTER_HOME", env["DAGSTER_HOME"])
        if not config_dir.is_dir():
            raise InstanceError(
                f"DAGSTER_HOME={config_dir} is not a folder; create it, or unset DAGSTER_HOME to"
                f" use the project's {CONFIG_NAME}."
            )
        return InstanceLocation(config_dir, "DAGSTER_HOME", _root(env, config_dir), dotenv)
    if project is None:
        raise InstanceError(
            f"no {CONFIG_NAME} in {start} or a folder above it, and DAGSTER_HOME is not set, so"
            f" there is no instance; start from the project's folder, or set DAGSTER_HOME."
        )
    return InstanceLocation(project, "found from the current folder", _root(env, project), dotenv)


def state_root() -> Path:
    """The folder that holds Postgres, compute logs and Parquet, absolute; it need not exist.

    `$WORKDAY_ASSETS_HOME`, by default `.workday_assets` beside the `dagster.yaml` in use.

    Raises:
        InstanceError: the variable is not an absolute path, or it is unset and there is no
            `dagster.yaml`.
    """
    exported = os.environ.get(HOME_VARIABLE)
    return _absolute(HOME_VARIABLE, exported) if exported else find_instance().root


def data_root() -> Path:
    """The folder under which every asset's Parquet files lie: `data` in the state root."""
    return state_root() / "data"


def is_postgres_url(url: str) -> bool:
    """Whether a URL is well formed, so that every part of it is what it seems to be."""
    return _URL.fullmatch(url) is not None


def describe_url(url: str) -> str:
    """`Postgres host:port/database` of a URL: never its user, password or options.

    Of a URL that is not well formed nothing is shown, since any part of it may be a password.
    """
    match = _URL.fullmatch(url)
    if match is None:
        return f"Postgres (the address in {POSTGRES_URL_VARIABLE} cannot be read)"
    host, port, database = match["host"] or "local socket", match["port"] or "5432", match["name"]
    return f"Postgres {host}:{port}/{database or ''}"


def _nearest_project(start: Path) -> Path | None:
    folders = [start.absolute(), *start.absolute().parents]
    return next((folder for folder in folders if (folder / CONFIG_NAME).is_file()), None)


def _read_dotenv(folder: Path) -> dict[str, str]:
    file = folder / ".env"
    if not file.is_file():
        return {}
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(file).items() if value is not None}


def _root(env: Mapping[str, str], config_dir: Path) -> Path:
    exported = env.get(HOME_VARIABLE)
    return _absolute(HOME_VARIABLE, exported) if exported else config_dir / DEFAULT_ROOT_NAME


def _absolute(variable: str, value: str) -> Path:
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise InstanceError(
            f"{variable}={value} is not an absolute path, so that two processes could take it for"
            f" two folders; write {path.absolute()}."
        )
    return path
