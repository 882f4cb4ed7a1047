"""Listeners of regions: what another package is told while a region runs, commits and publishes.

    [project.entry-points."graph_compiler.listeners"]
    acme = "acme_audit.listener:LISTENER"

The entry point names a RegionListener. The driver calls it (`spark_runtime/region/region_listeners.py`), so the module
imports the standard library and `graph_compiler.declaration` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ENTRY_POINTS = "graph_compiler.listeners"


class RegionEventKind(StrEnum):
    """What has happened to an attempt at a region, or happens next."""

    STARTED = "STARTED"
    """Its inputs are not read yet."""
    COMMITTED = "COMMITTED"
    """A staged result is committed: other tasks may read it, whatever becomes of this attempt."""
    PUBLISHING = "PUBLISHING"
    """The rows of all sinks are prepared, and no reader sees them yet."""
    PUBLISHED = "PUBLISHED"
    """Readers of all targets see the rows."""
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    """`reason` has the message of its report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutput:
    """A sink or a staged result, by the operator's name; place and rows are None if they are not known yet."""

    name: str
    location: str | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionEvent:
    """An event of one attempt at a region. `attempt` counts from 1; `outputs` are those that the event is about."""

    kind: RegionEventKind
    pipeline: str
    run_id: str
    task: str
    region: str
    attempt: int
    execution_id: str
    outputs: tuple[EventOutput, ...] = ()
    reason: str | None = None


class RegionListener:
    """The base class of listeners. It is called from one thread at a time, in the order of events."""

    def on_event(self, event: RegionEvent) -> None:
        """Receive an event.

        An exception is written to the task's log, and changes nothing else. The region waits for it up to a limit.
        """
        raise NotImplementedError
