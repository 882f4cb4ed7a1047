"""What Airflow answers about runs: Dags, runs and tasks as values, and why a request was not carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import TaskId


class RunClientError(GraphCompilerError):
    """A request about a run was not carried out."""


class AirflowUnreachableError(RunClientError):
    """Airflow has not answered, so it is unknown whether it has carried out the request."""


class AirflowRefusedError(RunClientError):
    """Airflow refuses a request; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message

    def __str__(self) -> str:
        """Return the message."""
        return self.message


class RunNotFoundError(RunClientError):
    """Airflow has no such Dag or run."""


class RunStateError(RunClientError):
    """The run, or its Dag, is in a state in which the request makes no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagFacts:
    """A Dag as Airflow knows it."""

    is_paused: bool
    has_import_errors: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A run to start, with an id that the client chooses; `logical_date` is in ISO form."""

    dag_id: str
    run_id: str
    logical_date: str
    conf: Mapping[str, object]


EXECUTION_STATES: Mapping[str | None, ExecutionState] = {
    None: ExecutionState.CREATED,
    "scheduled": ExecutionState.SCHEDULED,
    "queued": ExecutionState.DEPLOYING,
    "running": ExecutionState.RUNNING,
    "deferred": ExecutionState.RUNNING,
    "awaiting_input": ExecutionState.RUNNING,
    "up_for_reschedule": ExecutionState.RUNNING,
    "restarting": ExecutionState.CANCELING,
    "success": ExecutionState.FINISHED,
    "failed": ExecutionState.FAILED,
    "up_for_retry": ExecutionState.FAILED,
    "upstream_failed": ExecutionState.CANCELED,
    "skipped": ExecutionState.CANCELED,
    "removed": ExecutionState.CANCELED,
}
"""Airflow's states of tasks as Flink's states of an Execution.

A retry is a new Execution: if a task waits for a retry, its last attempt has failed.
"""


class RunState(StrEnum):
    """The state of a run, in the words of Flink's JobStatus.

    Airflow has no state for CANCELED: such a run is FAILED.
    """

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"

    @property
    def is_terminal(self) -> bool:
        """Whether the run is over."""
        return self in (RunState.FINISHED, RunState.FAILED)


RUN_STATES: Mapping[str, RunState] = {
    "queued": RunState.CREATED,
    "running": RunState.RUNNING,
    "success": RunState.FINISHED,
    "failed": RunState.FAILED,
}
"""Airflow's states of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """A task of a run; `map_index` is -1 if it is not mapped.

    `tries` is Airflow's number of its current try, 0 before the first. Times are seconds since the epoch, None for what
    has not happened.
    """

    task_id: TaskId
    map_index: int
    state: ExecutionState
    airflow_state: str | None
    tries: int
    started: float | None
    ended: float | None

    @property
    def name(self) -> str:
        """Return its id, with the map index if it is mapped: `each.scan[3]`."""
        return self.task_id if self.map_index == NOT_MAPPED else f"{self.task_id}[{self.map_index}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """A run with its tasks; `page` is its page in Airflow's UI, None if the address is not known.

    `logical_date` is in the form of Airflow, None for a run without one. Times are seconds since the epoch.
    """

    dag_id: str
    run_id: str
    state: RunState
    airflow_state: str
    logical_date: str | None
    started: float | None
    ended: float | None
    tasks: tuple[TaskStatus, ...]
    page: str | None

    def only(self, identity: RunIdentity) -> RunStatus:
        """Return the run with only the tasks of one pipeline in it: those of its group, and of its map index."""
        if identity.is_whole_dag:
            return self
        indexes = (identity.map_index, NOT_MAPPED)
        kept = (
            task for task in self.tasks if identity.task_name(task.task_id) is not None and task.map_index in indexes
        )
        return replace(self, tasks=tuple(kept))


def run_status(run: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]], page: str | None) -> RunStatus:
    """Return a run from documents of Airflow's API; raises KeyError, TypeError or ValueError for others."""
    found = (
        TaskStatus(
            task_id=TaskId(str(task["task_id"])),
            map_index=int(task["map_index"]),
            state=EXECUTION_STATES[task["state"]],
            airflow_state=task["state"],
            tries=int(task["try_number"]),
            started=_seconds(task["start_date"]),
            ended=_seconds(task["end_date"]),
        )
        for task in tasks
    )
    begun = sorted(found, key=lambda task: (task.started or float("inf"), task.task_id, task.map_index))
    return RunStatus(
        dag_id=str(run["dag_id"]),
        run_id=str(run["dag_run_id"]),
        state=RUN_STATES[run["state"]],
        airflow_state=str(run["state"]),
        logical_date=run["logical_date"],
        started=_seconds(run["start_date"]),
        ended=_seconds(run["end_date"]),
        tasks=tuple(begun),
        page=page,
    )


def _seconds(moment: str | None) -> float | None:
    return None if moment is None else datetime.fromisoformat(moment).timestamp()
