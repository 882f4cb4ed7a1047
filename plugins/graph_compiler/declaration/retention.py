"""How long staged results and the record of attempts are kept, and who removes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_TTL = 7 * 24 * 3600.0
"""Seconds: long enough to come back to a run that failed before a weekend."""

HISTORY_SIZE = 16
"""How many attempts before the current one are shown; Flink's `jobmanager.execution.attempts-history-size`."""


class StagingRelease(StrEnum):
    """`staging.release`: who releases a staged result.

    GC, the default: `graph-compiler staging gc`, when the whole run is old enough. Until then a cleared task can read
    them. LAST_CONSUMER: the last task that reads it, as soon as it and all other readers have finished; a task that is
    cleared afterwards recomputes it.
    """

    GC = "GC"
    LAST_CONSUMER = "LAST_CONSUMER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long a pipeline keeps what its runs leave; `ttl` is in seconds from a run's last change."""

    release: StagingRelease = StagingRelease.GC
    ttl: float = DEFAULT_TTL
    attempts_history_size: int = HISTORY_SIZE
