"""A connection to a server that breaks where a test decides: refused, reset, or cut before an answer comes back."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_RESET = struct.pack("ii", 1, 0)
_TERMINATE = b"X\0\0\0\4"  # PostgreSQL's own goodbye
_SECONDS = 10


@dataclass
class Wire:
    """A port on loopback that forwards to a server.

    `cut_before` is text that, once sent by a client, is not passed on: the connection is reset. `cut_behind` is passed
    on, and the connection is reset in place of the answer: after a goodbye and the server's own end of the connection
    or, without a goodbye, after the first that the server answers. Each counts down `times`, then lets everything
    through.
    """

    port: int
    cut_before: bytes = b""
    cut_behind: bytes = b""
    times: int = 0
    cuts: int = 0
    goodbye: bytes = _TERMINATE
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def breaks(self, *, before: bytes = b"", behind: bytes = b"", times: int = 1) -> None:
        """Set where it breaks next."""
        self.cut_before, self.cut_behind, self.times = before, behind, times

    def is_cut(self, text: bytes, sent: bytes) -> bool:
        """Whether it breaks here; this counts as one break."""
        with self._lock:
            if not text or self.times < 1 or text not in sent:
                return False
            self.times -= 1
            self.cuts += 1
            return True


@contextmanager
def broken_wire(to_port: int, *, goodbye: bytes = _TERMINATE) -> Iterator[Wire]:
    """Listen on a free port, and forward it to another until the test has ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wire = Wire(port=listener.getsockname()[1], goodbye=goodbye)
        threading.Thread(target=_accept, args=(listener, to_port, wire), daemon=True).start()
        try:
            yield wire
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, to_port: int, wire: Wire) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_lead, args=(client, to_port, wire), daemon=True).start()


def _lead(client: socket.socket, to_port: int, wire: Wire) -> None:
    with suppress(OSError), client, socket.create_connection(("127.0.0.1", to_port)) as server:
        deaf, answered = threading.Event(), threading.Event()
        answers = threading.Thread(target=_answer, args=(server, client, deaf, answered), daemon=True)
        answers.start()
        while sent := client.recv(65536):
            if wire.is_cut(wire.cut_before, sent):
                server.shutdown(socket.SHUT_RDWR)  # closing is not enough while another thread listens
                _reset(client)
                return
            if wire.is_cut(wire.cut_behind, sent):
                deaf.set()
                server.sendall(sent + wire.goodbye)
                if wire.goodbye:
                    # The session has ended: what was sent before is done.
                    answers.join(timeout=_SECONDS)
                else:
                    answered.wait(timeout=_SECONDS)
                    server.shutdown(socket.SHUT_RDWR)
                _reset(client)
                return
            server.sendall(sent)
        server.shutdown(socket.SHUT_RDWR)


def _answer(server: socket.socket, client: socket.socket, deaf: threading.Event, answered: threading.Event) -> None:
    with suppress(OSError):
        while got := server.recv(65536):
            if deaf.is_set():
                answered.set()
                continue
            client.sendall(got)


def _reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    client.close()
