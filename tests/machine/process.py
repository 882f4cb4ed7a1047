"""A thread that can be stopped at a request, and continued later; only one runs at a time, so nothing is random."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Process:
    """Work that runs until it ends, or until it is stopped."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self.has_ended = False
        self._thread.start()

    def run(self) -> bool:
        """Let it run until it is stopped or ends; return whether it has ended."""
        self._go.release()
        self._back.acquire()
        return self.has_ended

    def stop(self) -> None:
        """Wait until the machine lets it continue; called by the work."""
        self._back.release()
        self._go.acquire()

    def _run(self, work: Callable[[], None]) -> None:
        self._go.acquire()
        try:
            work()
        finally:
            self.has_ended = True
            self._back.release()
