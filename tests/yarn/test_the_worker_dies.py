"""Airflow's worker dies while the driver runs on YARN: the next try waits for the same application."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.harness.reference import rows
from tests.harness.standalone import until
from tests.harness.waiting_run import PRICES, Waiting, waiting
from tests.yarn.conftest import YarnHome

pytestmark = pytest.mark.yarn


@contextmanager
def waiting_on_yarn(home: YarnHome, folder: Path) -> Iterator[Waiting]:
    stored = home.deploy_mode == "cluster"
    with waiting(home, folder, home.yarn.shared, stored=stored) as run:
        yield run


@pytest.mark.parametrize("killed", [["task"], ["supervisor", "task"]])
def test_the_next_try_waits_for_the_same_application(killed: list[str], yarn_home: YarnHome, tmp_path: Path) -> None:
    before = yarn_home.yarn.applications()
    with waiting_on_yarn(yarn_home, tmp_path) as run:
        run.kill(*killed)
        run.wait_for_try(2)
        run.may_go.touch()
        assert run.end() == "success"
        assert run.task()["try_number"] == 2
        run.execution()  # there is one
    assert rows(yarn_home.output / "waited") == sorted(PRICES)
    new = {id: found for id, found in yarn_home.yarn.applications().items() if id not in before}
    assert [*new.values()] == [("FINISHED", "SUCCEEDED")]


def test_a_job_that_ended_meanwhile_has_succeeded(yarn_home: YarnHome, tmp_path: Path) -> None:
    before = yarn_home.yarn.applications()
    with waiting_on_yarn(yarn_home, tmp_path) as run:
        run.kill("supervisor", "task")
        run.may_go.touch()
        until((run.execution() / "report.json").exists, "the driver's report")
        assert run.end() == "success"
        assert run.task()["try_number"] == 2
        run.execution()
        # a cleared task computes its rows again: its execution has ended
        body = {"dry_run": False, "only_failed": False, "task_ids": [run.task()["task_id"]]}
        body["dag_run_id"] = run.path.rpartition("/")[2]
        run.api.call("POST", "/api/v2/dags/waiting/clearTaskInstances", body)
        run.wait_for_try(3)
        assert run.end() == "success"
        assert len([*yarn_home.staging.glob("waiting/*/tasks/*/*/report.json")]) == 2
    assert rows(yarn_home.output / "waited") == sorted(PRICES)
    assert len(yarn_home.yarn.applications()) - len(before) == 2


def test_a_task_marked_failed_ends_its_application(yarn_home: YarnHome, tmp_path: Path) -> None:
    before = yarn_home.yarn.applications()
    with waiting_on_yarn(yarn_home, tmp_path) as run:
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


@pytest.mark.parametrize("killed", [["task"], ["supervisor"]])
def test_a_driver_beside_its_worker_ends_or_cannot_commit(
    killed: list[str], yarn_home: YarnHome, tmp_path: Path
) -> None:
    before = yarn_home.yarn.applications()
    with waiting_on_yarn(replace(yarn_home, deploy_mode="client"), tmp_path) as run:
        run.lose(*killed)
    assert len(yarn_home.yarn.applications()) - len(before) == 2


def test_an_address_that_is_missing_is_asked_for(yarn_home: YarnHome) -> None:
    home = yarn_home
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    environment = home.environment(AIRFLOW_CONN_SPARK_DEFAULT=json.dumps(connection))
    command = ("-m", "airflow", "dags", "test", "flights", "2013-01-01")
    done = home.command(*command, "--conf", json.dumps(home.params), environment=environment)
    assert done.returncode == 1
    assert "yarn_resourcemanager_webapp_address for YARN" in done.stdout + done.stderr
    assert not [*home.staging.rglob("submission.json")]
