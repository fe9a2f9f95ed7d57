"""The instance that `dagster.yaml` describes, on the embedded and on an external Postgres."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy
from dagster._core.instance import InstanceRef
from dagster._serdes import serialize_value
from support.processes import wait_until_stopped

from workday_assets.errors import InstanceError
from workday_assets.storage.postgres import driver_url
from workday_assets.storage.server import join_server
from workday_assets.storage.state import find_instance, state_root

URL_VARIABLE = "WORKDAY_ASSETS_POSTGRES_URL"


@dg.asset
def talkative() -> int:
    """An asset whose compute log can be recognized."""
    sys.stdout.write("said by the asset\n")
    return 42


def test_runs_events_and_logs_survive_a_restart(project: Path) -> None:
    """After the server stopped, a new instance has the run, the materialization and the log."""
    with find_instance().open() as instance:
        run_id = dg.materialize([talkative], instance=instance).run_id
    wait_until_stopped(project)
    with find_instance().open() as instance:
        assert [run.run_id for run in instance.get_runs()] == [run_id]
        assert instance.get_latest_materialization_event(talkative.key).run_id == run_id
        captured = instance.all_logs(run_id, of_type=dg.DagsterEventType.LOGS_CAPTURED)[0]
        file_key = captured.dagster_event.logs_captured_data.file_key
        log = instance.compute_log_manager.get_log_data([run_id, "compute_logs", file_key])
        assert log.stdout == b"said by the asset\n"
    assert {path.name for path in (project / ".workday_assets").iterdir()} >= {
        "artifacts",
        "compute_logs",
        "postgres",
    }


def test_another_process_opens_it_from_its_reference(project: Path) -> None:
    """A run worker, which is handed the serialized reference, sees the same runs."""
    worker = (
        "import sys; from dagster import DagsterInstance;"
        "from dagster._core.instance import InstanceRef;"
        "from dagster._serdes import deserialize_value;"
        "ref = deserialize_value(sys.argv[1], InstanceRef);"
        "instance = DagsterInstance.from_ref(ref);"
        "print(*[run.run_id for run in instance.get_runs()])"
    )
    with find_instance().open() as instance:
        run_id = dg.materialize([talkative], instance=instance).run_id
        command = [sys.executable, "-c", worker, serialize_value(instance.get_ref())]
        seen = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert seen.stdout.split() == [run_id]


def test_root_holds_although_the_current_folder_changes(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that changes the folder inside an open instance still writes to its state root."""
    with find_instance().open():
        monkeypatch.chdir(tmp_path)
        assert state_root() == project / ".workday_assets"
    assert "WORKDAY_ASSETS_HOME" not in os.environ


def test_interface_is_quiet_and_runs_are_limited(project: Path) -> None:
    """No telemetry, no sign-up pop-up, and four runs at once."""
    with find_instance().open() as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
        assert instance.get_concurrency_config().run_queue_config.max_concurrent_runs == 4
    assert project


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_external_server_is_used(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """With the URL set, state goes to that server and none is started in the state root."""
    lease = join_server(tmp_path / "external")
    socket = sqlalchemy.make_url(lease.url).query["host"]
    monkeypatch.setenv(URL_VARIABLE, f"{scheme}://postgres:s3cret@/postgres?host={socket}")
    with find_instance().open() as instance:
        run_id = dg.materialize([talkative], instance=instance).run_id
        assert "s3cret" not in serialize_value(instance.get_ref())
        assert "s3cret" not in str(instance.info_dict())
        assert "s3cret" not in repr(instance.event_log_storage)
    assert not (project / ".workday_assets" / "postgres").exists()
    with find_instance().open() as instance:
        assert [run.run_id for run in instance.get_runs()] == [run_id]
    lease.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@127.0.0.1:1/dagster",
        "postgresql://127.0.0.1:1/dagster?user=me&password=s3cret",
        "postgresql://me:s3cret@127.0.0.1:s3cret/dagster",
        "postgresql://me:a/s3cret@127.0.0.1:1/dagster",
        "postgresql://me:a@s3cret@127.0.0.1:1/dagster",
        "postgresql+asyncpg://me:s3cret@127.0.0.1:1/dagster",
        "me:s3cret@127.0.0.1:1/dagster",
    ],
    ids=[
        "nobody listens",
        "password as option",
        "port is no number",
        "slash in password",
        "at sign in password",
        "another driver",
        "no scheme",
    ],
)
def test_no_error_shows_the_password(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    """Whatever is wrong with the URL, neither traceback nor log shows the password."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(URL_VARIABLE, url)
    with pytest.raises(InstanceError, match=URL_VARIABLE) as caught, find_instance().open():
        pass
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    assert "s3cret" not in caplog.text
    assert "s3cret" not in find_instance().describe()
    assert not (project / ".workday_assets").exists()


def test_driver_is_always_psycopg2() -> None:
    """A URL without a driver gets psycopg2, with its user, password and options unchanged."""
    assert (
        driver_url("postgres://me:p%40ss@db:6000/dagster?sslmode=require")
        == "postgresql+psycopg2://me:p%40ss@db:6000/dagster?sslmode=require"
    )


def test_reference_holds_only_class_names(project: Path) -> None:
    """The configuration carries neither URL nor folder, so every process resolves them itself."""
    data = InstanceRef.from_dir(str(project)).storage_data
    assert (data.module_name, data.class_name, data.config_dict) == (
        "workday_assets.storage.postgres",
        "WorkdayStorage",
        {},
    )
