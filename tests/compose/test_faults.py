"""Each service fails in mid-run: rows are right, none is doubled, and the history shows what happened."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.compose.deployment import Deployment

pytestmark = pytest.mark.compose

DAG, FIRST, SECOND = "slow_numbers", "first", "appended"
_PAUSE_SECONDS = 60


def killed(service: str) -> Callable[[Deployment], None]:
    """Return the fault of a service that is killed and started again."""
    return lambda deployment: deployment.kill_and_start(service)


def paused_worker(deployment: Deployment) -> None:
    """Stop a worker's processes for a minute, as a host that hangs does."""
    worker = deployment.container("spark-worker")
    deployment.docker("pause", worker)
    time.sleep(_PAUSE_SECONDS)
    deployment.docker("unpause", worker)


def cut_off_worker(deployment: Deployment) -> None:
    """Take a worker off the network for a minute."""
    worker = deployment.container("spark-worker")
    network = f"{deployment.variables['COMPOSE_PROJECT_NAME']}_spark"
    deployment.docker("network", "disconnect", network, worker)
    time.sleep(_PAUSE_SECONDS)
    deployment.docker("network", "connect", "--alias", "spark-worker", network, worker)


FAULTS: dict[str, Callable[[Deployment], None]] = {
    "scheduler killed": killed("airflow-scheduler"),
    "api-server killed": killed("airflow-api-server"),
    "dag-processor killed": killed("airflow-dag-processor"),
    "PostgreSQL killed": killed("postgres"),
    "worker killed": killed("spark-worker"),
    "master killed": killed("spark-master"),
    "worker paused": paused_worker,
    "worker cut off": cut_off_worker,
}
ENDS_TASKS = ("scheduler killed",)
"""Faults that end the attempts that run; all others cost them time only."""


@pytest.mark.parametrize(
    ("fault", "task"), [*((fault, SECOND) for fault in FAULTS), ("scheduler killed", FIRST), ("worker killed", FIRST)]
)
def test_a_service_that_fails_in_mid_run_costs_no_row(deployment: Deployment, fault: str, task: str) -> None:
    label = f"{fault}, {task}"
    run_id = deployment.trigger(DAG, label=label, seconds=20.0)
    deployment.wait_for_state(DAG, run_id, task, "running")
    time.sleep(15)  # Spark has started, and functions sleep
    begin = time.monotonic()
    FAULTS[fault](deployment)
    assert deployment.end_of(DAG, run_id, seconds=900) == "success"
    attempts = _attempts(deployment, run_id)
    print(f"\n{label}: {time.monotonic() - begin:.0f} s to the end of the run; {attempts}")
    assert deployment.numbers(DAG, label) == [*range(1000)]
    assert bool(attempts[task]) == (fault in ENDS_TASKS)
    deployment.wait_until_healthy()


def test_containers_that_go_down_and_come_up_lose_no_run(deployment: Deployment) -> None:
    label = "down and up"
    before = {*deployment.docker("volume", "ls", "--quiet", "--filter", "dangling=true").split()}
    run_id = deployment.trigger(DAG, label=label, seconds=20.0)
    deployment.wait_for_state(DAG, run_id, FIRST, "running")
    time.sleep(15)
    deployment.script("down")
    project = deployment.variables["COMPOSE_PROJECT_NAME"]
    unused = deployment.docker("volume", "ls", "--quiet", "--filter", "dangling=true").split()
    assert {each for each in unused if not each.startswith(project)} <= before
    deployment.script("up")
    assert deployment.end_of(DAG, run_id, seconds=900) == "success"
    assert deployment.numbers(DAG, label) == [*range(1000)]
    print(f"\n{label}: {_attempts(deployment, run_id)}")


def _attempts(deployment: Deployment, run_id: str) -> dict[str, list[str]]:
    """Return why each attempt of each task has ended, as the view shows it; the history shows as many attempts."""
    history = deployment.history(DAG, run_id)
    found = {}
    for region in deployment.view(DAG, run_id)["regions"]:
        *failed, last = region["attempts"]
        assert last["state"] == "FINISHED"
        assert all(attempt["state"] != "FINISHED" and attempt["reason"] for attempt in failed)
        assert f"{region['id']} · {len(failed) + 1} attempt" in history
        found[region["id"]] = [attempt["reason"].splitlines()[0] for attempt in failed]
    assert len(found) == 2
    return found
