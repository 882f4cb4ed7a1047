"""An Airflow in memory, whose answers can be lost: before a request is carried out, or after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, cast

from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import TaskId
from graph_compiler.run_client import (
    AirflowRefusedError,
    AirflowUnreachableError,
    RunClient,
    RunState,
    RunStatus,
    TaskStatus,
)
from graph_compiler.run_client.run_status import EXECUTION_STATES, RUN_STATES, DagFacts, Trigger

if TYPE_CHECKING:
    from graph_compiler.run_client.rest_end import RestEnd

BEFORE, AFTER = "before", "after"
"""When an answer is lost: the request was not carried out, or it was."""


def task(task_id: str, state: str | None, *, map_index: int = -1, tries: int = 1) -> TaskStatus:
    return TaskStatus(
        task_id=TaskId(task_id),
        map_index=map_index,
        state=EXECUTION_STATES[state],
        airflow_state=state,
        tries=tries,
        started=None,
        ended=None,
    )


@dataclass
class FakeAirflow:
    """`lost` says for each coming answer of a request that changes something whether it is lost, and when."""

    dags: dict[str, DagFacts] = field(
        default_factory=lambda: {"sales": DagFacts(is_paused=False, has_import_errors=False)}
    )
    runs: dict[str, RunStatus] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    confs: list[Mapping[str, object]] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    lost: list[str | None] = field(default_factory=list)
    silent_looks: int = 0
    requests: int = 0
    name: str = "a fake Airflow"

    def client(self, root: Path, pause: Callable[[float], None] = lambda _: None) -> RunClient:
        """Return a client that asks this instead of an API, with a staging root."""
        return RunClient(cast("RestEnd", self), staging_root=str(root), pause=pause)

    def run(self, run_id: str, state: str, *tasks: TaskStatus, dag_id: str = "sales") -> RunStatus:
        self.runs[run_id] = RunStatus(
            dag_id=dag_id,
            run_id=run_id,
            state=RUN_STATES[state],
            airflow_state=state,
            logical_date=None,
            started=None,
            ended=None,
            tasks=tasks,
            page=None,
        )
        return self.runs[run_id]

    def find_dag(self, dag_id: str) -> DagFacts | None:
        return self.dags.get(dag_id)

    def find_run(self, dag_id: str, run_id: str | None) -> RunStatus | None:
        if self.silent_looks:
            self.silent_looks -= 1
            raise AirflowUnreachableError("no answer")
        of_dag = [run for run in self.runs.values() if run.dag_id == dag_id]
        if run_id is None:
            return of_dag[-1] if of_dag else None
        return next((run for run in of_dag if run.run_id == run_id), None)

    def run_of_date(self, dag_id: str, logical_date: str) -> str | None:
        assert dag_id in self.dags
        return self.dates.get(logical_date)

    def trigger(self, wanted: Trigger) -> None:
        when = self._begin()
        if wanted.run_id in self.runs or wanted.logical_date in self.dates:
            raise AirflowRefusedError(HTTPStatus.CONFLICT, "there is one")
        self.dates[wanted.logical_date] = wanted.run_id
        self.confs.append(wanted.conf)
        self.run(wanted.run_id, "queued", task("first", None, tries=0), dag_id=wanted.dag_id)
        self._end(when)

    def fail(self, dag_id: str, run_id: str) -> None:
        when = self._begin()
        found = self.runs[run_id]
        assert found.dag_id == dag_id
        self.runs[run_id] = replace(found, state=RunState.FAILED, airflow_state="failed")
        self._end(when)

    def clear(self, dag_id: str, run_id: str, tasks: Sequence[TaskStatus]) -> None:
        when = self._begin()
        found = self.runs[run_id]
        assert found.dag_id == dag_id
        assert all(one.state is not ExecutionState.RUNNING for one in tasks)
        self.cleared += [one.name for one in tasks]
        self.runs[run_id] = replace(found, state=RunState.CREATED, airflow_state="queued")
        self._end(when)

    def has_scheduler(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def _begin(self) -> str | None:
        self.requests += 1
        when = self.lost.pop(0) if self.lost else None
        if when == BEFORE:
            raise AirflowUnreachableError("no answer")
        return when

    def _end(self, when: str | None) -> None:
        if when == AFTER:
            raise AirflowUnreachableError("no answer")
