"""A run of the pipeline that waits until a file is there, under `airflow standalone`, whose processes are killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.harness.reference import rows
from tests.harness.standalone import Api, processes_of, standalone, until

REPOSITORY = Path(__file__).parents[1] / "cluster" / "repository"
PRICES = [(n % 5, float(n), n * 2.5) for n in range(400)]
"""The rows of the pipeline's first sink, unordered."""
DEAD_WITHIN_SECONDS = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
}


class WaitingHome(Protocol):
    """An Airflow home that finds the pipeline's repository."""

    @property
    def folder(self) -> Path: ...
    @property
    def staging(self) -> Path: ...
    @property
    def output(self) -> Path: ...
    def environment(self, **more: str) -> dict[str, str]: ...


@dataclass(frozen=True)
class Waiting:
    """A run whose functions wait until `may_go` is there."""

    home: WaitingHome
    api: Api
    path: str
    may_go: Path

    def executions(self) -> list[Path]:
        """Return the folders of all executions."""
        found = self.home.staging.glob("waiting/*/tasks/*/*/descriptor.json")
        return [descriptor.parent for descriptor in found]

    def execution(self) -> Path:
        """Return the folder of the only execution."""
        (found,) = self.executions()
        return found

    def kill(self, *names: str) -> None:
        """Kill processes of Airflow: the `task`'s, whose id is that of the try, or its `supervisor`."""
        wanted = f"airflow worker -- {self.execution().name}"
        (task,) = until(lambda: processes_of(wanted), "the task's process")
        pids = {"task": task, "supervisor": _parent(task)}
        for name in names:
            os.kill(pids[name], signal.SIGKILL)

    def task(self) -> dict[str, Any]:
        (task,) = self.api.call("GET", f"{self.path}/taskInstances")["task_instances"]
        return dict(task)

    def wait_for_try(self, number: int) -> None:
        until(lambda: self.task()["try_number"] == number, f"try {number}")

    def lose(self, *killed: str) -> None:
        """Kill processes of Airflow while a driver of client mode runs; check that another one has taken its place."""
        first = self.execution()
        assert len(processes_of(str(first))) >= 2, "Spark and its driver"
        self.kill(*killed)
        if "task" in killed:
            until(lambda: not processes_of(str(first)), "the application to end", seconds=30)
        until(lambda: len(self.executions()) == 2, "the second try to deploy")
        self.may_go.touch()
        assert self.end() == "success"
        assert self.task()["try_number"] == 2
        (second,) = (it for it in self.executions() if it != first)
        assert succeeded(second)
        until(lambda: not processes_of(str(first)), "the application to end", seconds=60)
        assert not succeeded(first)
        assert rows(self.home.output / "waited") == sorted(PRICES)

    def end(self) -> str:
        """Return the state in which the run ends."""

        def state() -> str | None:
            found = str(self.api.call("GET", self.path)["state"])
            return found if found in ("success", "failed") else None

        return until(state, "the run to end", seconds=400)


@contextmanager
def waiting(home: WaitingHome, folder: Path, shared: Path, *, stored: bool = False) -> Iterator[Waiting]:
    """Trigger a run, and wait until its functions wait; `stored`: and until Airflow knows the application's id.

    All hosts see `shared`.
    """
    sales = shared / f"{folder.name}.csv"
    sales.write_text("key,quantity\n" + "".join(f"{n % 5},{n}.0\n" for n in range(400)))
    may_go = shared / f"{folder.name}.may_go"
    source = (REPOSITORY / "dags" / "waiting_dag.py").read_text()

    def environment(**more: str) -> dict[str, str]:
        return home.environment(**(DEAD_WITHIN_SECONDS | more))

    with standalone(environment, folder, {"waiting": source}) as api:
        conf = {"input": str(sales), "output": str(home.output), "may_go": str(may_go)}
        body = {"logical_date": None, "conf": conf}
        run = api.call("POST", "/api/v2/dags/waiting/dagRuns", body)
        until(lambda: list(shared.glob(f"{may_go.name}.waits.*")), "a function to wait")
        if stored:
            until(lambda: _is_stored(home.folder / "airflow.db"), "the id to be stored")
        yield Waiting(home, api, f"/api/v2/dags/waiting/dagRuns/{run['dag_run_id']}", may_go)


def succeeded(execution: Path) -> bool:
    report = execution / "report.json"
    return report.exists() and json.loads(report.read_text())["failure"] is None


def _is_stored(database: Path) -> bool:
    query = "SELECT count(*) FROM task_state_store WHERE key = 'spark_job_id'"
    with closing(sqlite3.connect(database)) as connection:
        return bool(connection.execute(query).fetchone()[0])


def _parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])
