"""The API server's reads of the staging root: few at once, and no request waits forever.

    request ─▶ one of RUNNING threads reads ─▶ answer
            └▶ WAITING others may wait for a turn; more of them, and those that wait too long, get 503

A disk that hangs blocks only the threads that read it: each read has a separate thread, which a request abandons after
PATIENCE. While all these threads hang, requests do not wait, so that Airflow's own routes keep their threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Thread
from typing import TypeVar

from fastapi import HTTPException

Found = TypeVar("Found")

RUNNING = 4
"""The number of simultaneous reads in one process."""
WAITING = 12
"""The number of requests that may wait for a read; Airflow serves 40 at once in each process."""
PATIENCE = 10.0
"""The seconds that a request waits in total, for its turn and for its read."""


@dataclass(slots=True)
class StagingReads:
    """The reads of one process."""

    running: int = RUNNING
    waiting: int = WAITING
    patience: float = PATIENCE
    _turns: BoundedSemaphore = field(init=False)
    _places: BoundedSemaphore = field(init=False)
    _begun: dict[int, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Create the semaphores."""
        self._turns = BoundedSemaphore(self.running)
        self._places = BoundedSemaphore(self.running + self.waiting)

    def __call__(self, read: Callable[[], Found]) -> Found:
        """Return the result of the read, or raise its error; HTTPException 503 if the root does not respond."""
        if not self._places.acquire(blocking=False):
            raise _no_answer("too many requests read it")
        try:
            return self._read(read, time.monotonic() + self.patience)
        finally:
            self._places.release()

    def _read(self, read: Callable[[], Found], until: float) -> Found:
        is_hanging = len(self._hanging()) >= self.running
        if is_hanging or not self._turns.acquire(timeout=max(0.0, until - time.monotonic())):
            raise _no_answer("reads of it do not return")
        answer: Future[Found] = Future()
        Thread(target=self._run, args=(read, answer), name="staging-read", daemon=True).start()
        try:
            return answer.result(timeout=max(0.0, until - time.monotonic()))
        except StillRunningError:
            if answer.done():  # the read itself raised the error
                raise
            raise _no_answer("a read of it does not return") from None

    def _run(self, read: Callable[[], Found], answer: Future[Found]) -> None:
        self._begun[id(answer)] = time.monotonic()
        try:
            answer.set_result(read())
        except BaseException as error:
            answer.set_exception(error)
        finally:
            del self._begun[id(answer)]
            self._turns.release()

    def _hanging(self) -> list[float]:
        """Return the start times of the reads that a request has given up on."""
        now = time.monotonic()
        return [begun for begun in list(self._begun.values()) if now - begun > self.patience]


def _no_answer(why: str) -> HTTPException:
    return HTTPException(503, f"the staging root does not answer: {why}")
