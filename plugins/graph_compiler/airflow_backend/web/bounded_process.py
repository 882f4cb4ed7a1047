"""Run a program that may fail in any way, with limits on its time and the size of its answer.

It is a new process, never a fork of this one, which has threads. If it dies, hangs, stops itself or prints without end,
it is killed, and the error is one sentence.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.errors import UnreadableRowsError

_PIECE = 1 << 16
_PASSED_ON = ("HOME", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")
"""Variables that Python needs to find its packages. The server's other variables may contain secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedProcess:
    """A program and its limits: total seconds, bytes of its standard output."""

    command: Sequence[str]
    environment: Mapping[str, str]
    seconds: float
    most: int

    def answer_to(self, question: bytes, descriptors: Sequence[int]) -> bytes:
        """Return its output, with a question on its standard input and these files open.

        Raises UnreadableRowsError if it fails or exceeds a limit, OSError if it cannot be started.
        """
        until = time.monotonic() + self.seconds
        with tempfile.TemporaryFile() as given:  # a pipe would block if nothing reads it
            given.write(question)
            given.seek(0)
            process = subprocess.Popen(
                self.command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                env=_passed_on() | dict(self.environment),
                start_new_session=True,
            )
        try:
            answer = self._read(process, until)
            process.wait(timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._too_slow() from None
        finally:
            process.kill()
            # A process that waits for a disk is still alive: its reading thread waits, too, so no other read begins.
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        if process.returncode:
            raise UnreadableRowsError(f"the process that reads them {_end(process.returncode)}")
        return answer

    def _read(self, process: subprocess.Popen[bytes], until: float) -> bytes:
        assert process.stdout is not None
        found = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(timeout=max(0.0, until - time.monotonic())):
                    raise self._too_slow()
                piece = os.read(process.stdout.fileno(), _PIECE)
                found += piece
                if len(found) > self.most:
                    raise UnreadableRowsError(f"they take more than {self.most:,} bytes")
                if not piece:
                    return bytes(found)

    def _too_slow(self) -> UnreadableRowsError:
        return UnreadableRowsError(f"reading them takes more than {self.seconds:g} s")


def _passed_on() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def _end(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    if -code == signal.SIGXCPU:
        return "took too much CPU time"
    name = next((one.name for one in signal.Signals if one == -code), f"signal {-code}")
    return f"was ended by {name}; a file of the result may be damaged"
