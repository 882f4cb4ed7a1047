"""Operators of a small pipeline whose Spark connection is a recording API server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.airflow.conftest import airflow_home
from tests.kubernetes.recording_api import RecordingApi, recording_api

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.region_operator import RegionOperator

__all__ = ["airflow_home"]
NAMESPACE, IMAGE = "jobs", "registry.example/spark:4"
VOLUME = "spark.kubernetes.{}.volumes.persistentVolumeClaim.staging"


def settings_of_users(root: Path) -> dict[str, str]:
    """Return what docs/kubernetes.md says to set."""
    volumes = {
        f"{VOLUME.format(role)}.{key}": value
        for role in ("driver", "executor")
        for key, value in (("mount.path", str(root)), ("options.claimName", "staging"))
    }
    return volumes | {
        "spark.kubernetes.container.image": IMAGE,
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
    }


@pytest.fixture
def api() -> Iterator[RecordingApi]:
    with recording_api() as found:
        yield found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "staging"
    found.mkdir(mode=0o700)
    return found


@pytest.fixture
def cluster(
    api: RecordingApi, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> RecordingApi:
    """Return the server, to which Airflow's connection and its provider for Kubernetes point."""
    connect(api, root, monkeypatch, extra={"namespace": NAMESPACE})
    file = tmp_path / "kubeconfig.json"
    file.write_text(json.dumps(kubeconfig(api.address)))
    monkeypatch.setenv("AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER", "False")
    monkeypatch.setenv("AIRFLOW__KUBERNETES_EXECUTOR__CONFIG_FILE", str(file))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return api


def connect(
    api: RecordingApi,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    extra: dict[str, str],
    mode: str = "cluster",
    without: str = "",
) -> None:
    """Point Airflow's Spark connection to the server."""
    connection = {
        "conn_type": "spark",
        "host": f"k8s://{api.address}",
        "extra": {"deploy-mode": mode} | extra,
    }
    conf = {key: value for key, value in settings_of_users(root).items() if key != without}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(root))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__SPARK_CONF", json.dumps(conf))


def kubeconfig(address: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "users": [{"name": "test", "user": {}}],
        "current-context": "test",
    }


def submitted(operator: "RegionOperator", root: Path) -> str:
    """Submit as the operator does, without a run of Airflow's; return the id of the application."""
    from graph_compiler.airflow_backend.installation.submit_commands import _task
    from graph_compiler.airflow_backend.task.execution_files import deploy, leave_submission

    task = _task(operator.region, str(root))
    operator.application_args = [deploy(task)]
    prepared = operator.prepare(task)
    prepared.ship()
    leave_submission(task, prepared.submission)
    id = str(operator.submit_job({}))
    close_output(operator)
    return id


def close_output(operator: "RegionOperator") -> None:
    """Close what the provider reads from spark-submit, and leaves open."""
    if operator._hook._submit_sp is not None:
        operator._hook._submit_sp.stdout.close()
