"""Operators of a small pipeline whose Spark connection is a recording API server."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from tests.airflow.conftest import airflow_home
from tests.kubernetes.recording_api import RecordingApi, recording_api

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

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


def provider_packages() -> Path:
    """Return the folder that `make test-kubernetes` adds to the import path."""
    spec = find_spec("kubernetes")
    assert spec, "make test-kubernetes adds Airflow's provider for Kubernetes"
    return Path(str(spec.origin)).parents[1]


@pytest.fixture
def api() -> Iterator[RecordingApi]:
    assert provider_packages()
    with recording_api() as found:
        yield found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "staging"
    found.mkdir(mode=0o700)
    return found


@pytest.fixture
def cluster(api: RecordingApi, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingApi]:
    """Yield the server, to which Airflow's connection and its provider for Kubernetes point."""
    from airflow.providers.apache.spark.hooks import spark_submit

    connect(api, monkeypatch)
    for name, value in access(api, tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(root))
    conf = json.dumps(settings_of_users(root))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__SPARK_CONF", conf)
    # The provider waits for 20 seconds at least before it asks again.
    soon = SimpleNamespace(sleep=lambda _: time.sleep(0.2))
    monkeypatch.setattr(spark_submit, "time", soon)
    with closing_output(monkeypatch):
        yield api


@contextmanager
def closing_output(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what the provider reads from spark-submit, and leaves open."""
    from airflow.providers.apache.spark.hooks import spark_submit

    started = []

    def popen(*arguments: Any, **named: Any) -> Any:
        started.append(subprocess.Popen(*arguments, **named))
        return started[-1]

    pipes = {"PIPE": subprocess.PIPE, "STDOUT": subprocess.STDOUT}
    monkeypatch.setattr(spark_submit, "subprocess", SimpleNamespace(Popen=popen, **pipes))
    yield
    for process in started:
        process.communicate()


def connect(api: RecordingApi, monkeypatch: pytest.MonkeyPatch, mode: str = "cluster", **extra: str) -> None:
    """Point Airflow's Spark connection to the server."""
    extra = {"deploy-mode": mode, "namespace": NAMESPACE} | extra
    connection = {"conn_type": "spark", "host": f"k8s://{api.address}", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))


def access(api: RecordingApi, folder: Path) -> dict[str, str]:
    """Return the environment in which spark-submit and Airflow's provider may speak to the server."""
    file = folder / "kubeconfig.json"
    file.write_text(json.dumps(_kubeconfig(api.address)))
    return {
        "AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER": "False",
        "AIRFLOW__KUBERNETES_EXECUTOR__CONFIG_FILE": str(file),
        "KUBECONFIG": str(file),
    }


def _kubeconfig(address: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "users": [{"name": "test", "user": {}}],
        "current-context": "test",
    }


def plain(group: str | SlotSharingGroup = "default", **config: str) -> StreamExecutionEnvironment:
    """Return a pipeline of one task, without functions."""
    env = StreamExecutionEnvironment("sales", config=config)
    rows = env.from_source(Csv("/data/orders", schema="x INT"), "orders")
    rows.slot_sharing_group(group).sink_to(Parquet("/data/out")).name("out")
    return env


def operator_of(env: StreamExecutionEnvironment) -> "DeploymentTaskOperator":
    """Return the only task of a pipeline, as in a run."""
    from graph_compiler.airflow_backend import build_dag

    dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1, tzinfo=UTC))
    (task,) = dag.tasks
    operator: Any = task
    operator.parameters = {"run_date": "2013-01-01"}
    found: DeploymentTaskOperator = operator
    return found
