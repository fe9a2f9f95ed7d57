"""A way to a Postgres on which the end of a bulk write is lost once."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

_SOCKET = ".s.PGSQL.5432"


class LossyPath:
    """A socket in `folder` that leads to the server whose socket is in `server`.

    When it is armed, the next connection that sends a `COPY` breaks at its `COMMIT`.

    Attributes:
        lost: how many connections it broke.
    """

    def __init__(self, folder: Path, server: Path) -> None:
        self._server = server / _SOCKET
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _SOCKET))
        self._listener.listen()
        self._armed: str | None = None
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, what: str) -> None:
        """Lose the next "commit" on its way, or the "answer" to it on the way back."""
        self._armed = what

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self._server))
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            with suppress(OSError):
                self._ask(client, server)
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            back.join()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        copies = False
        while data := client.recv(1 << 16):
            copies = copies or b"COPY event_logs" in data
            if copies and self._armed and b"COMMIT\0" in data:
                answer_is_lost = self._armed == "answer"
                self._armed = None
                self.lost += 1
                if answer_is_lost:
                    client.shutdown(socket.SHUT_RDWR)
                    server.sendall(data)
                return
            server.sendall(data)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
