"""Write an execution's progress beside its descriptor, about a second later, or ten in an object store.

A separate thread writes it: a slow or full staging root delays nothing, and causes no failure.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field

from graph_compiler import program_log
from graph_compiler.deployment.documents.progress import ExecutionProgress
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments

LOG = program_log.logger(__name__)

EVERY = 1.0
"""Seconds between two looks at whether there is anything to write."""
EVERY_REQUEST = 10.0
"""The same in an object store, where each write is a request that is paid for."""
RARITY = 20
"""Writes become rarer if one takes long: a thousand vertices, a slow disk."""


@contextmanager
def writing_progress(
    documents: AttemptDocuments, *, every: float | None = None
) -> Iterator[Callable[[ExecutionProgress], None]]:
    """Yield a function that records an execution's progress; of frequent updates only the last is written."""
    every = every or (EVERY if documents.store.promises.atomic_move else EVERY_REQUEST)
    file = _ProgressFile(documents)
    with_fields = copy_context().run  # those of the log
    writer = threading.Thread(target=with_fields, args=(file.write_on, every), name="progress", daemon=True)
    writer.start()
    try:
        yield file.put
    finally:
        file.ended.set()
        writer.join(min(every, EVERY))  # it may hang, and the execution must not wait for it


@dataclass(slots=True)
class _ProgressFile:
    documents: AttemptDocuments
    ended: threading.Event = field(default_factory=threading.Event)
    _latest: ExecutionProgress | None = None

    def put(self, progress: ExecutionProgress) -> None:
        self._latest = progress

    def write_on(self, every: float) -> None:
        """Write new progress until the execution has ended, or a write fails."""
        written, pause = None, every
        while not self.ended.wait(pause):
            if (latest := self._latest) is not written and latest is not None:
                started = time.monotonic()
                try:
                    self.documents.put_progress(latest)
                except OSError as error:
                    LOG.warning("progress is no longer reported: %s", error)
                    return
                written, pause = latest, max(every, RARITY * (time.monotonic() - started))
