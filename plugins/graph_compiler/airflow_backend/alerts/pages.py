"""Links to the pages about a failure: Airflow's log, the plan in our view, Spark's history server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from graph_compiler.airflow_backend.web.runs.links import Links, run_page, task_page
from graph_compiler.explain.alerts.alert import Link

LOCAL = "http://localhost:8080"
"""Where Airflow is if `[api] base_url` is not set, as in its own mails."""
_PLAN = "Plan and attempts"


class TaskOfRun(Protocol):
    """What identifies a task in a run; `map_index` is -1 if it is not mapped."""

    @property
    def dag_id(self) -> str:
        """The Dag."""

    @property
    def run_id(self) -> str:
        """The run."""

    @property
    def task_id(self) -> str:
        """The task."""

    @property
    def map_index(self) -> int:
        """The instance of a mapped task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Where browsers reach Airflow, and Spark's history server if there is one."""

    base_url: str | None
    history_server: str | None

    def log(self, task: TaskOfRun, number: int) -> Link:
        """Return the log of a try."""
        return Link(label="Log of this try", url=f"{self._task(task)}?try_number={number}")

    def task(self, task: TaskOfRun) -> Link:
        """Return the page of a task in the run."""
        return Link(label="Task", url=self._task(task))

    def plan_of_task(self, task: TaskOfRun) -> Link:
        """Return the plan of a task's pipeline, with the attempts of this run."""
        return Link(label=_PLAN, url=f"{self._task(task)}/plugin/graph-compiler-region-plan")

    def run(self, dag_id: str, run_id: str) -> Link:
        """Return Airflow's page of a run."""
        return Link(label="Run", url=self._base + run_page(dag_id, run_id))

    def plan_of_run(self, dag_id: str, run_id: str) -> Link:
        """Return the plan of a Dag's pipeline in a run."""
        page = run_page(dag_id, run_id)
        return Link(label=_PLAN, url=f"{self._base}{page}/plugin/graph-compiler-run-plan")

    def spark(self, application_id: str | None) -> Iterator[Link]:
        """Yield the page of an application in the history server, if both are known."""
        links = Links(history_server=self.history_server)
        if (url := links.spark(application_id, None)) is not None:
            yield Link(label="Spark's history server", url=url)

    def _task(self, task: TaskOfRun) -> str:
        return self._base + task_page(task.dag_id, task.run_id, task.task_id, task.map_index)

    @property
    def _base(self) -> str:
        return (self.base_url or LOCAL).rstrip("/")
