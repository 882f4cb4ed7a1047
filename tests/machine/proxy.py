"""A proxy between a client and a database: every query and every new connection is a call that may fail.

It knows as much of PostgreSQL's protocol as it needs to recognize queries.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from tests.machine.faults import Died, Fate

_QUERY = b"PQBE"
_SILENCE = 0.3


@dataclass
class Proxy:
    """Listens on a free port of loopback, and forwards to another; `fate` is that of the current client."""

    to: int
    fate: Fate = field(default_factory=Fate)
    _listener: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Return the port to connect to."""
        return int(self._listener.getsockname()[1])

    @contextmanager
    def meeting(self, fate: Fate) -> Iterator[None]:
        """Apply a fate to all communication within the block."""
        before, self.fate = self.fate, fate
        try:
            yield
        finally:
            self.fate = before

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client, self.fate), daemon=True).start()

    def _serve(self, client: socket.socket, fate: Fate) -> None:
        with client, ExitStack() as opened:
            try:  # once opened it is hung up, though the answer may be lost
                server = fate.call("connect", "", lambda: self._connect(opened))
            except (OSError, Died):
                return
            with suppress(OSError, Died):
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                while request := client.recv(1 << 16):
                    _pass_on(request, client, server, fate)

    def _connect(self, opened: ExitStack) -> socket.socket:
        server = opened.enter_context(socket.create_connection(("127.0.0.1", self.to)))
        opened.callback(_hang_up, server)
        return server


def _hang_up(server: socket.socket) -> None:
    """End a connection: closing a socket that another thread reads from would not notify the other side."""
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)


def _pass_on(request: bytes, client: socket.socket, server: socket.socket, fate: Fate) -> None:
    if request[0] not in _QUERY:
        server.sendall(request)
        return

    kind = fate.strikes("query")

    def send() -> None:
        if kind in ("answer lost", "death after"):
            with suppress(OSError):
                client.shutdown(socket.SHUT_WR)  # what the server answers goes nowhere
            server.sendall(request)
            threading.Event().wait(_SILENCE)
        else:
            server.sendall(request)

    fate.call("query", _words(request), send)


def _words(request: bytes) -> str:
    text = request.split(b"\0")
    words = max((part.decode(errors="replace") for part in text[:3]), key=len)
    return " ".join(words.split())[:100]


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
