"""Whether a run may still read or write its staged results. These rules hold everywhere.

    Airflow has it queued or running                          LIVE, whatever its age
    Airflow says it ended, and an attempt has no end          LIVE until silent for an hour: its driver may still write
    Airflow says it ended                                     FINISHED or FAILED
    Airflow's state is unknown, and
        an attempt has no end, or documents cannot be read    LIVE until silent for its ttl, then FAILED
        the last attempt at a task failed                     FAILED
        a task that reads from others has not begun           LIVE until silent for its ttl, then FAILED
        all that began has finished                           FINISHED

Silent is the time since anything in the run's folder last changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.identifiers import RegionId, listing

MINIMUM_SILENCE = 3600.0
"""Seconds. A run whose state cannot be found out is kept at least this long, whatever limit is requested."""


class RunOfAirflow(StrEnum):
    """The state of a run."""

    LIVE = "LIVE"
    FINISHED = "FINISHED"
    FAILED = "FAILED"


class AirflowRunState(StrEnum):
    """The state of a run in Airflow (its DagRunState)."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"

    @property
    def is_live(self) -> bool:
        """Whether the run may continue."""
        return self in (AirflowRunState.QUEUED, AirflowRunState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts from a run's documents: attempts without an end, last attempts that failed, readers that have not started.

    `unreadable` says why its documents cannot be read, as after an update of this program.
    """

    open: tuple[RegionId, ...] = ()
    failed: tuple[RegionId, ...] = ()
    awaited: tuple[RegionId, ...] = ()
    unreadable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A run's state, and why."""

    state: RunOfAirflow
    reason: str


def judge(facts: RunFacts, airflow: AirflowRunState | None, *, silent: float, ttl: float) -> Verdict:
    """Apply the rules; `airflow` None means that Airflow did not answer, or does not know the run."""
    if airflow is not None and airflow.is_live:
        return Verdict(state=RunOfAirflow.LIVE, reason=f"Airflow has it {airflow}")
    if airflow is not None:
        ended = RunOfAirflow.FINISHED if airflow is AirflowRunState.SUCCESS else RunOfAirflow.FAILED
        waits = [*_without_an_end(facts)]
        return _until(MINIMUM_SILENCE, silent, waits, Verdict(state=ended, reason=f"Airflow: {airflow}"))
    if waits := [*_without_an_end(facts)]:
        gone = Verdict(state=RunOfAirflow.FAILED, reason=f"{waits[0]}, and nothing has changed since")
        return _until(ttl, silent, waits, gone)
    if facts.failed:
        return Verdict(state=RunOfAirflow.FAILED, reason=f"{listing(facts.failed)} failed")
    if facts.awaited:
        waits = [f"{listing(facts.awaited)} has not begun"]
        gone = Verdict(state=RunOfAirflow.FAILED, reason=f"{waits[0]}, and nothing has changed since")
        return _until(ttl, silent, waits, gone)
    return Verdict(state=RunOfAirflow.FINISHED, reason="all that began has finished")


def _without_an_end(facts: RunFacts) -> Iterator[str]:
    if facts.unreadable is not None:
        yield facts.unreadable
    if facts.open:
        yield f"an attempt at {listing(facts.open)} has no end"


def _until(limit: float, silent: float, waits: list[str], otherwise: Verdict) -> Verdict:
    return Verdict(state=RunOfAirflow.LIVE, reason=waits[0]) if waits and silent < limit else otherwise
