"""Airflow's worker dies while the driver runs on YARN: the next try waits for the same application."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import rows
from tests.harness.standalone import Api, processes_of, standalone, until
from tests.yarn.conftest import YarnHome

pytestmark = pytest.mark.yarn

PRICES = [(n % 5, float(n), n * 2.5) for n in range(400)]
DEAD_WITHIN_SECONDS = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
}


@dataclass(frozen=True)
class Waiting:
    """A run whose functions wait on the cluster until `may_go` is there."""

    home: YarnHome
    api: Api
    path: str
    may_go: Path

    def execution(self) -> Path:
        """Return the folder of the only execution."""
        (found,) = self.home.staging.glob("waiting/*/tasks/*/*/descriptor.json")
        return found.parent

    def runner(self) -> int:
        """Return the process of the task: Airflow gives it the id of the try, which is the execution's."""
        (found,) = until(
            lambda: processes_of(f"airflow worker -- {self.execution().name}"), "the task's process"
        )
        return found

    def task(self) -> dict[str, Any]:
        (task,) = self.api.call("GET", f"{self.path}/taskInstances")["task_instances"]
        return dict(task)

    def end(self) -> str:
        def state() -> str | None:
            found = str(self.api.call("GET", self.path)["state"])
            return found if found in ("success", "failed") else None

        return until(state, "the run to end", seconds=400)


@contextmanager
def waiting(home: YarnHome, folder: Path) -> Iterator[Waiting]:
    """Trigger a run, and wait until its functions wait on the cluster, and Airflow knows the application's id."""
    sales = home.yarn.shared / f"{folder.name}.csv"
    sales.write_text("key,quantity\n" + "".join(f"{n % 5},{n}.0\n" for n in range(400)))
    may_go = home.yarn.shared / f"{folder.name}.may_go"
    source = (home.repository / "dags" / "waiting_dag.py").read_text()

    def environment(**more: str) -> dict[str, str]:
        return home.environment(**(DEAD_WITHIN_SECONDS | more))

    with standalone(environment, folder, {"waiting": source}) as api:
        conf = {"input": str(sales), "output": str(home.output), "may_go": str(may_go)}
        body = {"logical_date": None, "conf": conf}
        run = api.call("POST", "/api/v2/dags/waiting/dagRuns", body)
        until(lambda: list(may_go.parent.glob(f"{may_go.name}.waits.*")), "a function to wait")
        until(lambda: is_stored(home.folder / "airflow.db"), "the id to be stored")
        path = f"/api/v2/dags/waiting/dagRuns/{run['dag_run_id']}"
        yield Waiting(home, api, path, may_go)


def is_stored(database: Path) -> bool:
    query = "SELECT count(*) FROM task_state_store WHERE key = 'spark_job_id'"
    with closing(sqlite3.connect(database)) as connection:
        return bool(connection.execute(query).fetchone()[0])


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


@pytest.mark.parametrize("dies", ["task's process", "worker"])
def test_the_next_try_waits_for_the_same_application(
    dies: str, yarn_home: YarnHome, tmp_path: Path
) -> None:
    before = yarn_home.yarn.applications()
    with waiting(yarn_home, tmp_path) as run:
        runner = run.runner()
        if dies == "worker":
            os.kill(parent(runner), signal.SIGKILL)
        os.kill(runner, signal.SIGKILL)
        until(lambda: run.task()["try_number"] == 2, "the second try")
        run.may_go.touch()
        assert run.end() == "success"
        assert run.task()["try_number"] == 2
        run.execution()  # there is one
    assert rows(yarn_home.output / "waited") == sorted(PRICES)
    new = {id: found for id, found in yarn_home.yarn.applications().items() if id not in before}
    assert [*new.values()] == [("FINISHED", "SUCCEEDED")]


def test_a_job_that_ended_meanwhile_has_succeeded(yarn_home: YarnHome, tmp_path: Path) -> None:
    before = yarn_home.yarn.applications()
    with waiting(yarn_home, tmp_path) as run:
        runner = run.runner()
        for pid in (parent(runner), runner):
            os.kill(pid, signal.SIGKILL)
        run.may_go.touch()
        until((run.execution() / "report.json").exists, "the driver's report")
        assert run.end() == "success"
        assert run.task()["try_number"] == 2
        run.execution()
        # a cleared task computes its rows again: its execution has ended
        body = {"dry_run": False, "task_ids": [run.task()["task_id"]], "reset_dag_runs": True}
        body["dag_run_id"] = run.path.rpartition("/")[2]
        run.api.call("POST", "/api/v2/dags/waiting/clearTaskInstances", body)
        until(lambda: run.task()["try_number"] == 3, "the cleared task to begin")
        assert run.end() == "success"
        assert len([*yarn_home.staging.glob("waiting/*/tasks/*/*/report.json")]) == 2
    assert rows(yarn_home.output / "waited") == sorted(PRICES)
    assert len(yarn_home.yarn.applications()) - len(before) == 2


def test_a_task_marked_failed_ends_its_application(yarn_home: YarnHome, tmp_path: Path) -> None:
    before = yarn_home.yarn.applications()
    with waiting(yarn_home, tmp_path) as run:
        name = run.task()["task_id"]
        run.api.call("PATCH", f"{run.path}/taskInstances/{name}", {"new_state": "failed"})
        until((run.execution() / "outcome.json").exists, "the outcome")

        def ended() -> list[tuple[str, str]]:
            found = yarn_home.yarn.applications()
            new = [state for id, state in found.items() if id not in before]
            return new if all(state == "KILLED" for state, _ in new) else []

        assert until(ended, "the application to end") == [("KILLED", "KILLED")]
        outcome = json.loads((run.execution() / "outcome.json").read_text())
    assert outcome["state"] == "CANCELED"
    assert not (yarn_home.output / "waited").exists()


def test_an_address_that_is_missing_is_asked_for(yarn_home: YarnHome) -> None:
    home = replace(yarn_home)
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    environment = home.environment(AIRFLOW_CONN_SPARK_DEFAULT=json.dumps(connection))
    command = ("-m", "airflow", "dags", "test", "flights", "2013-01-01")
    done = home.command(*command, "--conf", json.dumps(home.params), environment=environment)
    assert done.returncode == 1
    assert "yarn_resourcemanager_webapp_address for YARN" in done.stdout + done.stderr
    assert not [*home.staging.rglob("submission.json")]
