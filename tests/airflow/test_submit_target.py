"""What a task's connection, options and slot sharing group make of spark-submit's command, and what is refused."""

import json
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

if TYPE_CHECKING:
    from airflow.sdk import DAG

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
PLACED = SlotSharingGroup("big", conn_id="other", deploy_mode="cluster", conf={"spark.a": "group"})


@pytest.fixture(autouse=True)
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path))
    masters = {"spark_default": "local[2]", "alone": "spark://host:7077", "other": "yarn"}
    for conn_id, master in masters.items():
        connection = {"conn_type": "spark", "host": master}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(connection))


def dag_of(group: str | SlotSharingGroup = "big", **options: str) -> "DAG":
    from graph_compiler.airflow_backend import build_dag

    keys = {"target": "execution.target", "mode": "execution.deploy-mode", "conn": "airflow.conn-id"}
    config = {keys.get(name, name): value for name, value in options.items()}
    env = StreamExecutionEnvironment("p", config=config)
    rows = env.from_source(Csv("/in"), "in").slot_sharing_group(group)
    rows.filter("x").name("f").slot_sharing_group("rest").sink_to(Parquet("/out")).name("out")
    return build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))


def command(dag: "DAG", task_id: str) -> str:
    task: Any = dag.get_task(task_id)
    return " ".join(task._get_hook()._build_spark_submit_command("app.py"))


def refusal(dag: "DAG", task_id: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Execute a task; return its error, which no retry would mend. Nothing is submitted."""
    import subprocess

    from airflow.sdk.exceptions import AirflowFailException

    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("it was submitted"))
    task: Any = dag.get_task(task_id)
    task.parameters, task.others = {"run_date": "2013-01-01"}, ()  # nothing is rendered
    named = {"dag_id": "p", "task_id": task_id, "map_index": -1, "run_id": "r"}
    with pytest.raises(AirflowFailException) as raised:
        task.execute({"ti": SimpleNamespace(**named, id="01a1", try_number=1)})
    return str(raised.value)


def test_the_options_of_a_pipeline_reach_every_task() -> None:
    dag = dag_of(conn="other", mode="cluster", **{"spark.a": "1", "spark.ui.enabled": "true"})
    for task_id in ("in", "out"):
        words = command(dag, task_id)
        assert "--master yarn " in words
        assert "--deploy-mode cluster" in words
        assert "--conf spark.a=1" in words
        assert "--conf spark.ui.enabled=true" in words  # the installation says false


def test_a_group_is_submitted_elsewhere_with_its_own_settings() -> None:
    dag = dag_of(PLACED, **{"spark.a": "pipeline"})
    big, rest = command(dag, "in"), command(dag, "out")
    assert ("--master yarn " in big, "--deploy-mode cluster" in big) == (True, True)
    assert ("--master local[2] " in rest, "--deploy-mode" in rest) == (True, False)
    assert ("--conf spark.a=group" in big, "--conf spark.a=pipeline" in rest) == (True, True)


def test_a_connection_with_the_master_of_another_target_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(dag_of(target="yarn"), "in", monkeypatch) == (
        "pipeline 'p': task 'in' is declared for execution target 'yarn', but Airflow connection "
        "'spark_default' has master 'local[2]'\n"
        "  allowed: yarn\n"
        "  hint: name a connection of such a master, with option airflow.conn-id or conn_id= of the slot sharing "
        "group, or set execution.target to local"
    )


def test_a_deploy_mode_that_the_target_does_not_have_is_refused_before_spark_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = refusal(dag_of(conn="alone", mode="cluster"), "in", monkeypatch)
    assert said.startswith(
        "pipeline 'p': task 'in' has deploy mode 'cluster', but execution target 'standalone' of "
        "Airflow connection 'alone' does not have it: Spark refuses Python applications there\n"
        "  allowed: client\n"
    )


def test_an_unknown_master_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {"conn_type": "spark", "host": "mesos://host"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    said = refusal(dag_of(), "in", monkeypatch)
    assert said.startswith(
        "pipeline 'p': task 'in': no execution target has master 'mesos://host' of Airflow connection "
        "'spark_default'\n  allowed: local, local[N]; spark://HOST:PORT; yarn; k8s://https://HOST:PORT\n"
    )


def test_a_master_on_kubernetes_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.apache.spark.hooks import spark_submit

    monkeypatch.setattr(spark_submit, "kube_client", None, raising=False)
    connection = {"conn_type": "spark", "host": "k8s://https://host:6443"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    package = "apache-airflow-providers-cncf-kubernetes"
    assert refusal(dag_of(), "in", monkeypatch) == (
        f"pipeline 'p': the Airflow connection has a master on Kubernetes, and {package} is not installed\n"
        f"  hint: install it where tasks run: pip install {package}"
    )
