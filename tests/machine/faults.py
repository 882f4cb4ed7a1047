"""What goes wrong in one call to a file system or a store, and when: `Fault("timed out", "rename", 2)`.

denied, reset, timed out, not found    the call is not made; the error says why
answer lost                            it is made, and the error comes nevertheless
answered twice                         it is made, and made again, as a client does that got no answer
death                                  it is not made, and nothing after it: the driver is dead
death after                            it is made, and nothing after it
slow                                   it is made, after another execution has had its turn
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

KINDS = (
    *("denied", "reset", "timed out", "not found", "answer lost", "answered twice"),
    *("death", "death after", "slow"),
)
CALLS = (
    *("rename", "exchange", "link", "unlink", "mkdir", "rmdir", "open", "list", "stat", "fsync"),
    *("put", "get", "keys"),
)
"""Calls to a file system, and to the commit store above it."""

DATABASE_KINDS = ("reset", "answer lost", "death", "death after", "slow")
DATABASE_CALLS = ("query", "query", "query", "connect", "put", "get", "keys")
"""What may go wrong in the conversation with a database, and with the store beside it."""

_ERRORS: dict[str, tuple[type[OSError], int]] = {
    "denied": (PermissionError, errno.EACCES),
    "reset": (ConnectionResetError, errno.ECONNRESET),
    "timed out": (TimeoutError, errno.ETIMEDOUT),
    "not found": (FileNotFoundError, errno.ENOENT),
    "answer lost": (TimeoutError, errno.ETIMEDOUT),
}


class Died(BaseException):
    """The driver is dead, and cleans up nothing."""


@dataclass(frozen=True)
class Fault:
    """One fault, at the n-th call of a kind that an execution makes, counted from 0."""

    kind: str
    call: str
    nth: int = 0


@dataclass
class Fate:
    """What happens to one execution: at most one fault. After a death, every call raises the same death."""

    fault: Fault | None = None
    meanwhile: Callable[[], None] = field(default=lambda: None)  # what others do while a call is slow
    has_struck: bool = False
    is_dead: bool = False
    calls: dict[str, int] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    thread: int = field(default_factory=threading.get_ident)

    def call(self, name: str, what: str, do: Callable[[], Any]) -> Any:
        """Make a call, unless a fault is planned for it."""
        if self.is_dead:
            raise Died
        kind = self.strikes(name)
        self.calls[name] = self.calls.get(name, 0) + 1
        self.trace.append(f"{name} {what}")
        if kind is None:
            return do()
        self.has_struck = True
        self.trace[-1] += f"   <- {kind}"
        return self._strike(kind, what, do)

    def strikes(self, name: str) -> str | None:
        """Return the fault of the next call of a kind, None if there is none."""
        fault = self.fault
        is_now = fault is not None and (fault.call, fault.nth) == (name, self.calls.get(name, 0))
        return fault.kind if fault is not None and is_now else None

    def _strike(self, kind: str, what: str, do: Callable[[], Any]) -> Any:
        if kind in ("death", "death after"):
            if kind == "death after":
                _lose(do())
            self.is_dead = True
            raise Died
        if kind == "slow":
            if threading.get_ident() == self.thread:  # others' turn is the driver's to give
                self.meanwhile()
            return do()
        if kind in ("answer lost", "answered twice"):
            _lose(do())
            if kind == "answered twice":
                return do()
        error, code = _ERRORS[kind]
        raise error(code, f"{os.strerror(code)} (injected)", what)


def _lose(answer: Any) -> None:
    """Let nobody have an answer; a listing that nobody closes is a warning."""
    if isinstance(answer, Iterator) and hasattr(answer, "close"):
        answer.close()
