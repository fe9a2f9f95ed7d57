"""Which instance is meant, and where its state lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from workday_assets.errors import InstanceError
from workday_assets.storage.state import data_root, describe_url, find_instance, state_root


def test_default_root_lies_beside_the_nearest_configuration(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the project and from below it, the root is `.workday_assets` beside its file."""
    below = project / "a" / "b"
    below.mkdir(parents=True)
    for folder in (project, below):
        monkeypatch.chdir(folder)
        assert state_root() == project / ".workday_assets"
        assert data_root() == project / ".workday_assets" / "data"
        assert find_instance().config_dir == project


def test_exported_root_wins(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`WORKDAY_ASSETS_HOME` moves the state and leaves the configuration where it is."""
    monkeypatch.setenv("WORKDAY_ASSETS_HOME", str(tmp_path / "elsewhere"))
    assert state_root() == tmp_path / "elsewhere"
    assert find_instance().root == tmp_path / "elsewhere"
    assert find_instance().config_dir == project


@pytest.mark.usefixtures("project")
def test_exported_dagster_home_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`DAGSTER_HOME` names the instance, and the state lies in it, also from inside a project."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    location = find_instance()
    assert (location.config_dir, location.root) == (home, home / ".workday_assets")
    assert location.describe() == (
        f"Instance: {home}/dagster.yaml (DAGSTER_HOME); state root: {home}/.workday_assets;"
        " database: Dagster's, as configured there"
    )


def test_dotenv_beside_the_configuration_counts(project: Path, tmp_path: Path) -> None:
    """The `.env` file that `dagster dev` loads moves the state for every other command, too."""
    (project / ".env").write_text(f"WORKDAY_ASSETS_HOME={tmp_path}/from-dotenv\n")
    assert state_root() == tmp_path / "from-dotenv"


def test_one_line_names_the_embedded_instance(project: Path) -> None:
    """The line says which file, why that one, where the state is, and which database."""
    assert find_instance().describe() == (
        f"Instance: {project}/dagster.yaml (found from the current folder); state root:"
        f" {project}/.workday_assets; database: embedded Postgres"
    )


def test_one_line_hides_the_password(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an external database the line shows host, port and name."""
    monkeypatch.setenv("WORKDAY_ASSETS_POSTGRES_URL", "postgresql://me:s3cret@db.example/dagster")
    assert find_instance().describe() == (
        f"Instance: {project}/dagster.yaml (found from the current folder); state root:"
        f" {project}/.workday_assets; database: Postgres db.example:5432/dagster"
    )


@pytest.mark.parametrize(
    ("url", "described"),
    [
        ("postgresql://u:s3cret@h:6000/d", "Postgres h:6000/d"),
        ("postgresql://u:s3cret@/d?host=/run/pg&password=s3cret", "Postgres local socket:5432/d"),
        (
            "postgresql://u:s3c/ret@h/d",
            "Postgres (the address in WORKDAY_ASSETS_POSTGRES_URL cannot be read)",
        ),
    ],
    ids=["plain", "options", "unquoted slash in the password"],
)
def test_description_of_a_url(url: str, described: str) -> None:
    """A URL is described without user, password and options, also one that cannot be read."""
    assert describe_url(url) == described


def test_no_configuration_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside every project the message says where was looked and what to do."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InstanceError) as caught:
        state_root()
    assert str(caught.value) == (
        f"no dagster.yaml in {tmp_path} or a folder above it, and DAGSTER_HOME is not set, so there"
        " is no instance; start from the project's folder, or set DAGSTER_HOME."
    )


@pytest.mark.parametrize("variable", ["WORKDAY_ASSETS_HOME", "DAGSTER_HOME"])
def test_relative_folder_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A relative path, which two processes could take for two folders, is refused with its cure."""
    monkeypatch.setenv(variable, "state")
    with pytest.raises(InstanceError) as caught:
        find_instance()
    assert str(caught.value) == (
        f"{variable}=state is not an absolute path, so that two processes could take it for two"
        f" folders; write {project}/state."
    )


@pytest.mark.usefixtures("project")
def test_missing_dagster_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `DAGSTER_HOME` that is no folder is refused, not replaced by the project."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InstanceError, match=r"DAGSTER_HOME=.*/nowhere is not a folder; create it"):
        find_instance()
