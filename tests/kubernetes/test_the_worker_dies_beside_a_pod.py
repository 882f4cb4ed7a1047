"""Airflow's processes die while a driver's pod runs: the next try follows it. A process of this host plays the pod."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Home, migrated, shared_classes
from tests.harness.reference import rows
from tests.harness.standalone import until
from tests.harness.waiting_run import PRICES, REPOSITORY, waiting
from tests.kubernetes.conftest import NAMESPACE, access, provider_packages, settings_of_users
from tests.kubernetes.local_drivers import ALONE, LocalDrivers
from tests.kubernetes.recording_api import RecordingApi

__all__ = ["migrated", "shared_classes"]
pytestmark = pytest.mark.kubernetes


@dataclass(frozen=True)
class KubernetesHome(Home):
    """An Airflow home whose tasks are submitted to the server."""

    api: RecordingApi = field(kw_only=True)

    def environment(self, **more: str) -> dict[str, str]:
        extra = {"deploy-mode": "cluster", "namespace": NAMESPACE}
        connection = {"conn_type": "spark", "host": f"k8s://{self.api.address}", "extra": extra}
        settings = access(self.api, self.folder) | {
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
            "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": str(self.staging),
            "AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps(settings_of_users(self.staging) | ALONE),
        }
        environment = super().environment(**(settings | more))
        environment["PYTHONPATH"] += f"{os.pathsep}{REPOSITORY}{os.pathsep}{provider_packages()}"
        return environment


@pytest.fixture
def home(api: RecordingApi, tmp_path: Path) -> Iterator[KubernetesHome]:
    drivers = LocalDrivers(api, tmp_path)
    api.on_pod, api.on_end = drivers.run, drivers.end
    found = KubernetesHome(tmp_path / "airflow", api=api)
    found.output.mkdir(parents=True)
    yield found
    for name in drivers.processes:
        drivers.end(name)


@pytest.mark.parametrize("killed", [["task"], ["supervisor", "task"]])
def test_the_next_try_waits_for_the_same_pod(killed: list[str], home: KubernetesHome, tmp_path: Path) -> None:
    with waiting(home, tmp_path, tmp_path, stored=True) as run:
        run.kill(*killed)
        run.wait_for_try(2)
        run.may_go.touch()
        assert run.end() == "success"
        assert run.task()["try_number"] == 2
        run.execution()  # there is one
    assert rows(home.output / "waited") == sorted(PRICES)
    assert len(home.api.pods()) == 1


def test_a_pod_that_ended_and_was_removed_meanwhile_has_succeeded(home: KubernetesHome, tmp_path: Path) -> None:
    with waiting(home, tmp_path, tmp_path, stored=True) as run:
        run.kill("supervisor", "task")
        run.may_go.touch()
        until((run.execution() / "report.json").exists, "the driver's report")
        (name,) = home.api.pods()
        home.api.remove(name)
        assert run.end() == "success"
        assert run.task()["try_number"] == 2
        run.execution()
    assert rows(home.output / "waited") == sorted(PRICES)
    assert len(home.api.pods()) == 1


def test_a_task_marked_failed_deletes_its_pod(home: KubernetesHome, tmp_path: Path) -> None:
    with waiting(home, tmp_path, tmp_path, stored=True) as run:
        name = run.task()["task_id"]
        run.api.call("PATCH", f"{run.path}/taskInstances/{name}", {"new_state": "failed"})
        until(lambda: not home.api.has_pods(), "the pod to be deleted")
        until((run.execution() / "outcome.json").exists, "the outcome")
        outcome = json.loads((run.execution() / "outcome.json").read_text())
    assert outcome["state"] == "CANCELED"
    assert not (home.output / "waited").exists()
