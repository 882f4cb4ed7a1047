"""Sends what became of attempts, each once: by the process that has written its outcome.

An attempt that died has no outcome: the next one sends it, too. Documents are read once for all senders, and only if
one of them is wanted. What is sent over a network is sent in a thread, which holds the task for a few seconds at most.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from graph_compiler.airflow_backend.notify.lineage import Lineage
from graph_compiler.airflow_backend.notify.metrics import Metrics
from graph_compiler.staging.attempts.task_attempt import EndedRegion, read_ended

LOG = logging.getLogger(__name__)
_MOST_SECONDS = 5.0
"""How long a task may be held, if a collector does not answer; exporters themselves wait for 10 s and more."""
_SENDING: list[threading.Thread] = []
"""What this process is sending."""
Contents_contra = TypeVar("Contents_contra", contravariant=True)


class Sender(Protocol[Contents_contra]):
    """A way to others: of an alert's `Message` to people, of regions that have ended to programs."""

    def send(self, contents: Contents_contra) -> None:
        """Send it; raises whatever goes wrong."""


Sent = list[tuple[Sender[Contents_contra], Exception | None]]


def deliver(senders: Iterable[Sender[Contents_contra]], contents: Contents_contra) -> Sent[Contents_contra]:
    """Send by each; return them, with the error of one that failed, which stops no other."""
    found: Sent[Contents_contra] = []
    for sender in senders:
        try:
            sender.send(contents)
        except Exception as error:
            found.append((sender, error))
        else:
            found.append((sender, None))
    return found


def in_background(name: str, send: Callable[[], None]) -> None:
    """Send in a thread, for which `flush` waits."""

    def sending() -> None:
        try:
            send()
        except Exception:
            LOG.warning("graph_compiler: %s of this try are not sent", name, exc_info=True)

    thread = threading.Thread(target=sending, name=name, daemon=True)
    thread.start()
    _SENDING.append(thread)


_METRICS, _LINEAGE = Metrics(), Lineage(in_background)


def send_ended(descriptors: Sequence[str]) -> None:
    """Send what became of executions whose outcomes were just written; nothing that goes wrong affects the task."""
    try:
        wanted: list[Sender[Sequence[EndedRegion]]] = [one for one in (_METRICS, _LINEAGE) if one.is_wanted()]
        ended = [region for key in descriptors if wanted and (region := read_ended(key))]
        errors = [error for _, error in deliver(wanted if ended else (), ended)]
    except Exception as error:
        errors = [error]
    for failed in filter(None, errors):
        LOG.warning("graph_compiler: the end of this try is not reported", exc_info=failed)


def flush() -> None:
    """Wait until everything is sent, since this process may be killed; for a few seconds at most."""
    until = time.monotonic() + _MOST_SECONDS
    if _METRICS.are_kept():
        in_background("metrics", _METRICS.flush)
    for thread in [*_SENDING]:  # in the triggerer, several tasks may end at once
        thread.join(max(0.0, until - time.monotonic()))
        with suppress(ValueError):
            _SENDING.remove(thread)
