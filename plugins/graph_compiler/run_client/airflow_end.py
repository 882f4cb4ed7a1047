"""What a client needs of an Airflow: its API, or the Airflow of this host, offers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph_compiler.run_client.run_status import RunStatus, TaskStatus


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


class AirflowEnd(Protocol):
    """An Airflow. All methods raise AirflowUnreachableError without an answer, AirflowRefusedError if refused.

    `find_dag` and `find_run` return None for what does not exist; a `run_id` of None is the newest run.
    """

    @property
    def name(self) -> str:
        """Return the name of this Airflow for messages; it holds no secret."""
        ...

    def find_dag(self, dag_id: str) -> DagFacts | None:
        """Return a Dag."""
        ...

    def find_run(self, dag_id: str, run_id: str | None) -> RunStatus | None:
        """Return a run with its tasks."""
        ...

    def run_of_date(self, dag_id: str, logical_date: str) -> str | None:
        """Return the id of the run with a logical date; there is at most one."""
        ...

    def trigger(self, wanted: Trigger) -> None:
        """Start a run; refused with 409 if the Dag has one with this id, or this logical date."""
        ...

    def fail(self, dag_id: str, run_id: str) -> None:
        """Mark a run as failed: its tasks that run are ended, and the others are skipped."""
        ...

    def clear(self, dag_id: str, run_id: str, tasks: Sequence[TaskStatus]) -> None:
        """Let exactly these tasks of a run run again, and the run continue; refused with 409 if one of them runs."""
        ...

    def has_scheduler(self) -> bool:
        """Whether a scheduler is alive."""
        ...

    def close(self) -> None:
        """Release what it holds; it can be called twice."""
        ...
