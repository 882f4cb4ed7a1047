"""What happens to the requests of one process to a store: `Trouble("delayed", "intent")`.

dropped             not carried out, and not answered
lost                carried out, and not answered
delayed             not answered; carried out when the machine says so, even if the process is dead by then
answered twice      carried out, and again: the second answer counts
repeated            carried out and answered; carried out again when the machine says so
503, 503 after      refused as "slow down", before or after it is carried out
throttled           refused as "slow down", as are the next ones: `times` in all
denied, unreachable refused (expired credentials), or dropped, as are the next ones
lost, unreachable   lost, and the next ones are dropped; also "delayed, unreachable"
death, death after  the process is dead, before or after the request is carried out
death, delayed      the same, and the request is carried out when the machine says so
stopped             the process waits before the request, until the machine lets it continue
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.machine.faults import Died
from tests.machine.process import Process

TRANSIENT = ("dropped", "lost", "delayed", "503", "503 after")
"""A conditional write that meets one of these once must succeed (docs/stores.md, "If answers are lost")."""
HARMLESS = ("repeated", "answered twice", "stopped")
LASTING = ("throttled", "denied", "unreachable", "lost, unreachable", "delayed, unreachable")
DEADLY = ("death", "death after", "death, delayed")
KINDS = (*TRANSIENT, *HARMLESS, *LASTING, *DEADLY)
_CALLS = ("any", "put once", "intent", "done", "get", "head", "list", "delete")
BUCKET_CALLS = (*_CALLS, "put", "complete", "abort")
HDFS_CALLS = (*_CALLS, "create", "write", "rename", "rename", "mkdirs")


@dataclass(frozen=True)
class Trouble:
    """One trouble, at the n-th request of a kind that a process sends, counted from 0; `times`: how many it hits."""

    kind: str
    call: str
    nth: int = 0
    times: int = 1


@dataclass
class Late:
    """A request that is still on its way."""

    words: str
    do: Callable[[], Any]

    def arrive(self) -> None:
        """Carry it out; nobody waits for the answer."""
        try:
            self.do()
        except OSError:
            return


@dataclass
class Line:
    """The requests of one process."""

    troubles: tuple[Trouble, ...]
    late: list[Late]
    process: Process
    is_dead: bool = False
    struck: list[Trouble] = field(default_factory=list)
    """Those that have happened; the call is the request's."""
    trace: list[str] = field(default_factory=list)
    _calls: dict[str, int] = field(default_factory=dict)
    _lasting: tuple[str, int] = ("", 0)

    @property
    def has_struck(self) -> bool:
        """Whether something has happened that the process may fail for."""
        once = [one for one in self.struck if one.kind in TRANSIENT and one.call == "put once"]
        harmless = [one for one in self.struck if one.kind in HARMLESS]
        return len(once) > 1 or len(once) + len(harmless) < len(self.struck)

    def send(self, call: str, key: str, do: Callable[[], Any], *more: str) -> Any:
        """Send a request of a kind, and of some more specific kinds."""
        if self.is_dead:
            raise Died
        trouble = self._trouble(call, more)
        words = f"{call} {'/'.join(key.split('/')[-2:])}"
        self.trace.append(words if trouble is None else f"{words}   <- {trouble.kind}")
        if trouble is None:
            return do()
        self.struck.append(Trouble(trouble.kind, call))
        return self._strike(trouble.kind, words, do)

    def _trouble(self, call: str, more: tuple[str, ...]) -> Trouble | None:
        found = None
        for trouble in self.troubles:
            if trouble.call in ("any", call, *more) and trouble.nth == self._count(trouble.call):
                found = found or trouble
        for name in ("any", call, *more):
            self._calls[name] = self._count(name) + 1
        kind, left = self._lasting
        if left:
            self._lasting = kind, left - 1
            return Trouble(kind, call)
        if found is not None and found.kind in LASTING:
            self._lasting = found.kind.rpartition(", ")[2], found.times
        return found

    def _count(self, call: str) -> int:
        return self._calls.get(call, 0)

    def _strike(self, kind: str, words: str, do: Callable[[], Any]) -> Any:
        if kind in ("delayed", "death, delayed", "delayed, unreachable"):
            self.late.append(Late(words, do))
        if kind in ("lost", "503 after", "death after", "lost, unreachable"):
            Late(words, do).arrive()
        if kind in DEADLY:
            self.is_dead = True
            raise Died
        if kind == "stopped":
            self.process.stop()
        if kind == "repeated":
            self.late.append(Late(words, do))
        if kind == "answered twice":
            Late(words, do).arrive()
        if kind in HARMLESS:
            return do()
        raise _error(kind, words)


def _error(kind: str, words: str) -> OSError:
    if kind == "denied":
        return PermissionError(errno.EACCES, "ExpiredToken (injected)", words)
    if kind == "throttled" or kind.startswith("503"):
        return OSError(errno.EBUSY, "SlowDown (injected)", words)
    return TimeoutError(errno.ETIMEDOUT, f"{os.strerror(errno.ETIMEDOUT)} (injected)", words)
