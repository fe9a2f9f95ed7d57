"""The keeper: a small process that stops the embedded Postgres when its last user is gone.

`server.py` starts it as a plain script of the standard library, in a session of its own, so that
Ctrl-C in the terminal does not reach it. Every user of the server holds a shared lock on one
file; the keeper waits for the exclusive lock. The kernel drops the lock of a process however it
ends, so a user killed with ``kill -9`` is noticed like any other, and no process id is ever
compared.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from pathlib import Path


def main(
    users_file: str, keeper_lock: int, pg_ctl: str, pgdata: str, sockets: str, *, uid: int, gid: int
) -> None:
    """Wait until nobody holds `users_file`, then stop the server of `pgdata`.

    Until the end this process holds the exclusive lock on `users_file`, so that a newcomer waits
    for the stop and then starts the server anew.

    Args:
        users_file: the file on which users hold shared locks.
        keeper_lock: inherited descriptor whose lock says that a keeper is there.
        pg_ctl: path of Postgres's own control program.
        pgdata: the data folder.
        sockets: the folder of its socket, removed where it is empty then.
        uid: system user of the server.
        gid: its group.
    """
    users = os.open(users_file, os.O_RDWR)
    fcntl.flock(users, fcntl.LOCK_EX)
    user = {"user": uid, "group": gid, "extra_groups": []} if uid != os.geteuid() else {}
    subprocess.run(  # noqa: S603 - the program of the installed package
        [pg_ctl, "stop", "--mode=fast", "--wait", "--silent"],
        check=False,
        cwd=pgdata,
        env={"PGDATA": pgdata, "PATH": os.defpath, "LC_ALL": "C"},
        **user,  # type: ignore[call-overload]
    )
    with contextlib.suppress(OSError):
        Path(sockets).rmdir()
    # Before the users' lock: whoever gets that one next must find that there is no keeper.
    os.close(keeper_lock)


if __name__ == "__main__":
    if os.fork() == 0:  # nobody's child, so that nobody has to wait for it
        _users, _lock, _pg_ctl, _pgdata, _sockets, _uid, _gid = sys.argv[1:]
        main(_users, int(_lock), _pg_ctl, _pgdata, _sockets, uid=int(_uid), gid=int(_gid))
