"""Reports attempts that have ended to what watches Airflow: its metrics, and OpenLineage.

The documents of a try are read once, and only if one of them is on. What is sent over a network is sent in a thread
which holds the task for a few seconds at most.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from graph_compiler.airflow_backend.lineage import emission
from graph_compiler.airflow_backend.task import metrics
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.attempt_metrics import EndedRegion, timed_attempts

LOG = logging.getLogger(__name__)
_MOST_SECONDS = 5.0
"""How long a task may be held, if a collector does not answer; exporters themselves wait for 10 s and more."""
_SENDING: list[threading.Thread] = []
"""What this process is sending."""


def report_ended(descriptors: Sequence[str]) -> None:
    """Report executions of a task that have just ended; nothing that goes wrong here affects the task."""
    try:
        to_metrics, to_lineage = metrics.are_wanted(), emission.are_wanted()
        if not descriptors or not (to_metrics or to_lineage):
            return
        ended = [region for key in descriptors if (region := _ended(key))]
        if ended and to_metrics:
            metrics.send(ended)
        if ended and to_lineage and (events := emission.events_of(ended)):
            _begin("lineage", lambda: emission.send(events))
    except Exception:
        LOG.warning("graph_compiler: the end of this try is not reported", exc_info=True)


def flush() -> None:
    """Wait until everything is sent, since this process may be killed; for a few seconds at most."""
    until = time.monotonic() + _MOST_SECONDS
    if metrics.are_kept():
        _begin("metrics", metrics.flush)
    for thread in [*_SENDING]:  # in the triggerer, several tasks may end at once
        thread.join(max(0.0, until - time.monotonic()))
        with suppress(ValueError):
            _SENDING.remove(thread)


def _ended(key: str) -> EndedRegion | None:
    documents = AttemptDocuments.beside(key)
    task = documents.read_descriptor()
    if task is None:
        return None
    attempts = timed_attempts(task.layout, task.region.region_id, documents)
    return EndedRegion(execution=task, attempts=attempts)


def _begin(name: str, send: Callable[[], None]) -> None:
    def sending() -> None:
        try:
            send()
        except Exception:
            LOG.warning("graph_compiler: %s of this try are not sent", name, exc_info=True)

    thread = threading.Thread(target=sending, name=name, daemon=True)
    thread.start()
    _SENDING.append(thread)
