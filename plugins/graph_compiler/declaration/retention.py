"""How long staged results and the record of attempts are kept, and who removes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_TTL = 7 * 24 * 3600.0
"""Seconds: long enough to examine, after a weekend, a run that failed before it."""

HISTORY_SIZE = 16
"""The number of earlier attempts that are shown; Flink's `jobmanager.execution.attempts-history-size`."""


class StagingRelease(StrEnum):
    """`staging.release`: who releases a staged result.

    GC, the default: `graph-compiler staging gc` does, when the whole run is old enough. Until then, a cleared task can
    read the results. LAST_CONSUMER: the last task that reads it does, once it and all other readers have finished; a
    task that is cleared afterwards recomputes it.
    """

    GC = "GC"
    LAST_CONSUMER = "LAST_CONSUMER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long a pipeline keeps what its runs leave; `ttl` is in seconds from a run's last change."""

    release: StagingRelease = StagingRelease.GC
    ttl: float = DEFAULT_TTL
    attempts_history_size: int = HISTORY_SIZE
