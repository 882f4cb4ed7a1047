"""The driver's work on behalf of an operator, as values (in Flink, the master does it).

MasterHook        once, before any data moves: a condition that must hold
CoordinatorKind   during the whole execution: who coordinates the operator
InputSplit        a part of a source that one subtask reads, if the connector knows its parts in advance
RegionListener    a package that is notified while a region runs, commits and publishes
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class MasterHook(StrEnum):
    """A check or preparation before any data moves (Flink's `JobVertex.initializeOnMaster`).

    To add one: a name here, its function in `spark_runtime/region/coordination.py`, and the operator that has it.
    """

    INPUT_EXISTS = "INPUT_EXISTS"
    TARGET_CAN_BE_MADE = "TARGET_CAN_BE_MADE"


class CoordinatorKind(StrEnum):
    """The coordinator of an operator on the driver (Flink's OperatorCoordinator)."""

    SPLIT_ENUMERATOR = "SPLIT_ENUMERATOR"
    COMMITTER = "COMMITTER"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSplit:
    """One part of a source. `number` counts from 0; `description` is for people: `id >= 0 AND id < 100`.

    A connector that needs more information to read its part defines a subclass.
    """

    number: int
    description: str


class InputSplitSource(Protocol):
    """A connector that knows its splits (Flink's noun)."""

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...] | None:
        """Return at least `parallelism` parts if there are enough values; None if Spark determines them.

        Pure: it is called at compile time, when paths and options may contain Jinja, and again on the driver.
        """


# Listeners of regions, of other packages.
#
#     [project.entry-points."graph_compiler.listeners"]
#     acme = "acme_audit.listener:LISTENER"
#
# The entry point names a RegionListener. The driver calls it (`spark_runtime/region/region_listeners.py`), so its
# module imports the standard library and `graph_compiler.declaration` only.

LISTENERS = "graph_compiler.listeners"


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
    """The base class of listeners. Events come one after the other, in their order."""

    def on_event(self, event: RegionEvent) -> None:
        """Receive an event.

        An exception is written to the task's log, and changes nothing else. The region waits for it up to a limit.
        """
        raise NotImplementedError
