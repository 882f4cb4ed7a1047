"""The driver's process, in which user functions run: its output is limited, and it ends when its work is done.

prints 100 MB                    the beginning is shown, and a note that the rest is left out
forks, and the child continues     the child ends when the function returns: it does not become a second driver
leaves threads or processes behind      the driver ends without waiting for them
"""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TextIO, TypeVar

from graph_compiler import program_log
from graph_compiler.identifiers import listing

LOG = program_log.logger(__name__)

OUTPUT_LIMIT = 16 * 1024 * 1024
"""The maximum number of characters that a driver's Python prints to each of its streams."""

Arguments = ParamSpec("Arguments")
Given = TypeVar("Given")


class BoundedOutput(io.TextIOBase):
    """A text stream that passes on a limited amount of output, and then notes once that the rest is left out."""

    def __init__(self, stream: TextIO, limit: int = OUTPUT_LIMIT) -> None:
        self._stream = stream
        self._left = limit

    def write(self, text: str) -> int:
        """Pass on text up to the limit."""
        if self._left > 0:
            self._stream.write(text[: self._left])
            self._left -= len(text)
            if self._left <= 0:
                self._stream.write("\ngraph_compiler: what else is printed is left out\n")
        return len(text)

    def flush(self) -> None:
        """Flush the wrapped stream."""
        self._stream.flush()

    def fileno(self) -> int:
        """Return the wrapped stream's descriptor; writes to it are not limited."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # of the stream
        """Return the wrapped stream's encoding."""
        return self._stream.encoding


def begin_process() -> None:
    """Let Python's garbage collector work again, which was off while modules were loaded, but not on these.

    Functions of users find its settings as they are. Other programs: `program_memory`.
    """
    gc.freeze()
    gc.enable()


def bound_output() -> None:
    """Limit what this process's Python prints from now on."""
    if not isinstance(sys.stdout, BoundedOutput):
        sys.stdout = BoundedOutput(sys.stdout)
        sys.stderr = BoundedOutput(sys.stderr)


def call_function(function: Callable[Arguments, Given], *arguments: Arguments.args, **named: Arguments.kwargs) -> Given:
    """Call a user's function; if a forked child process returns from it, end the child here."""
    process = os.getpid()
    try:
        return function(*arguments, **named)
    finally:
        if os.getpid() != process:
            os._exit(0)  # it would repeat everything that the driver does, with the same connections and targets


def end_process(code: int) -> NoReturn:
    """End this process with an exit code, without waiting for threads and processes that a function has left."""
    sys.stdout.flush()
    sys.stderr.flush()
    if left := _still_running():
        LOG.warning("%s still run: not waited for", listing(left))
        os._exit(code)
    sys.exit(code)


def _still_running() -> list[str]:
    """Return the names of threads and processes that the interpreter would wait for."""
    threads = [
        f"thread '{each.name}'"
        for each in threading.enumerate()
        if each is not threading.main_thread() and not each.daemon
    ]
    multiprocessing = sys.modules.get("multiprocessing")
    children = multiprocessing.active_children() if multiprocessing is not None else []
    return [*threads, *(f"process '{each.name}'" for each in children if not each.daemon)]
