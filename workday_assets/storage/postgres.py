"""The instance storage that `dagster.yaml` names: Dagster's Postgres storages on our server.

The database is the one in `WORKDAY_ASSETS_POSTGRES_URL`, else the embedded server of the state
root. The URL is never part of the configuration, so that no serialized instance carries a
password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy
from dagster._config.config_schema import UserConfigSchema
from dagster._core.instance import DagsterInstance
from dagster._core.storage.base_storage import DagsterStorage
from dagster._serdes import ConfigurableClass, ConfigurableClassData
from dagster_postgres.run_storage import PostgresRunStorage
from dagster_postgres.schedule_storage import PostgresScheduleStorage
from dagster_postgres.utils import DagsterPostgresException, retry_pg_connection_fn

from workday_assets.errors import InstanceError
from workday_assets.host import speed_up
from workday_assets.storage.event_log import WorkdayEventLogStorage
from workday_assets.storage.state import (
    POSTGRES_URL_VARIABLE,
    describe_url,
    is_postgres_url,
    state_root,
)

if TYPE_CHECKING:
    from workday_assets.storage.server import ServerLease

_DRIVERS = ("postgres", "postgresql", "postgresql+psycopg2")
_BATCH_VARIABLE = "DAGSTER_EVENT_BATCH_SIZE"
_BATCH_SIZE = "1000"
_CREATION_LOCK = 0x776F726B  # "work": one process at a time makes the tables


class WorkdayStorage(DagsterStorage[DagsterInstance], ConfigurableClass):
    """Runs, events and schedules in one Postgres; it takes no configuration.

    Raises:
        InstanceError: the server cannot be reached, or not be started, or a variable that it reads
            has a value that means nothing.
    """

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._inst_data = inst_data
        _switch_batches_on()
        speed_up()  # the web server and the daemon load no other code of ours
        external = os.environ.get(POSTGRES_URL_VARIABLE)
        lease = None if external else _embedded_server()
        url = lease.url if lease is not None else driver_url(external or "")
        try:
            self._create(url, lease)
        except (sqlalchemy.exc.SQLAlchemyError, DagsterPostgresException) as error:
            raise InstanceError(_unreachable(url, error)) from None

    def _create(self, url: str, lease: ServerLease | None) -> None:
        """Make the storages, and their tables where there are none, one process at a time."""
        engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool)
        with (
            retry_pg_connection_fn(engine.connect, retry_limit=3) as connection,
            connection.begin(),
        ):
            connection.execute(
                sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(_CREATION_LOCK))
            )
            self._run_storage = PostgresRunStorage(url)
            self._event_log_storage = WorkdayEventLogStorage(url, lease)
            self._schedule_storage = PostgresScheduleStorage(url)

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """How Dagster found this class, for other processes."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """No configuration."""
        return {}

    @classmethod
    def from_config_value(
        cls,
        inst_data: ConfigurableClassData | None,
        config_value: Mapping[str, Any],  # noqa: ARG003 - Dagster's signature
    ) -> WorkdayStorage:
        """The storage for this process's environment and state root."""
        return cls(inst_data)

    @property
    def event_log_storage(self) -> WorkdayEventLogStorage:
        """The event log."""
        return self._event_log_storage

    @property
    def run_storage(self) -> PostgresRunStorage:
        """The runs."""
        return self._run_storage

    @property
    def schedule_storage(self) -> PostgresScheduleStorage:
        """Schedules, sensors and their ticks."""
        return self._schedule_storage


def driver_url(url: str) -> str:
    """The URL with psycopg2 as its driver, which dagster-postgres needs.

    SQLAlchemy 2.1 takes psycopg 3 for a URL that names no driver.

    Raises:
        InstanceError: it is not a Postgres URL, or names another driver; no part of the URL but
            its scheme is in the message.
    """
    if not is_postgres_url(url):
        raise InstanceError(
            f"{POSTGRES_URL_VARIABLE} cannot be read (its value is not shown, it may hold a"
            " password); write postgresql://user:password@host:5432/database, and percent-encode"
            " special characters in user and password."
        )
    parsed = sqlalchemy.make_url(url)
    if parsed.drivername not in _DRIVERS:
        raise InstanceError(
            f"{POSTGRES_URL_VARIABLE} names the driver {parsed.drivername}, and dagster-postgres"
            " works with psycopg2 only; write postgresql://."
        )
    return parsed.set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)


def _switch_batches_on() -> None:
    """Let Dagster hand over events in batches, in this process and those that it starts.

    Every process that stores an event opens the instance first, however it was started. A value of
    the user's own stays.
    """
    size = os.environ.setdefault(_BATCH_VARIABLE, _BATCH_SIZE)
    try:
        int(size)
    except ValueError:
        raise InstanceError(
            f"{_BATCH_VARIABLE}={size} is not a whole number; write how many events are stored at"
            f" once, or 0 to store them one by one, or unset it for {_BATCH_SIZE}."
        ) from None


def _embedded_server() -> ServerLease:
    if os.name == "nt":
        raise InstanceError(
            f"{POSTGRES_URL_VARIABLE} is not set and the embedded Postgres needs Linux or macOS;"
            " set it to a Postgres of your own."
        )
    from workday_assets.storage.server import join_server  # cannot be imported on Windows

    return join_server(state_root())


def _unreachable(url: str, error: Exception) -> str:
    cause = error.__cause__ or error
    reason = str(getattr(cause, "orig", None) or cause).strip().splitlines()[0]
    parsed = sqlalchemy.make_url(url)
    for secret in (parsed.password, parsed.query.get("password")):
        if isinstance(secret, str) and secret:
            reason = reason.replace(secret, "***")
    return (
        f"{POSTGRES_URL_VARIABLE}: {describe_url(url)} cannot be used ({reason}); start that server"
        " or correct the variable."
    )
