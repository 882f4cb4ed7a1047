"""Secrets go from Airflow's connections to the driver, by the way of its target, and are refused if there is none."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler import Jdbc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
CONNECTION = {"conn_type": "postgres", "login": "etl", "password": "canary-pw", "extra": {"app": "canary-app"}}


def operator(tmp_path: Path, *secrets: Secret) -> Any:
    from graph_compiler.airflow_backend.dag.arguments import Arguments
    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

    env = StreamExecutionEnvironment("p")
    options = {f"o{number}": secret for number, secret in enumerate(secrets)}
    env.from_source(Jdbc("jdbc:x://db/x", table="t", options=options), "in").sink_to(Parquet("/out"))
    described = describe_pipeline(compile_pipeline(env.pipeline()))
    found = DeploymentTaskOperator(
        plan=described.plan,
        regions=described.regions,
        arguments=Arguments.own(env.pipeline()),
        settings=Settings(staging_root=str(tmp_path / "s")),
    )
    found.parameters = {"run_date": "2013-01-01"}
    return found


def submitted(
    found: Any, monkeypatch: pytest.MonkeyPatch, *, master: str, mode: str = "client", seen: Path | None = None
) -> Any:
    """Execute with a replaced spark-submit; return the environment and arguments of its process.

    `seen` gets the file with their values, its mode and its content.
    """
    import subprocess

    from airflow.providers.apache.spark.hooks import spark_submit
    from airflow.sdk.exceptions import AirflowException

    from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator

    extra = {"deploy-mode": mode, "namespace": "spark", "yarn_resourcemanager_webapp_address": "127.0.0.1:9"}
    spark = {"conn_type": "spark", "host": master, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps(CONNECTION))
    calls: list[Any] = []

    start = subprocess.Popen

    def popen(command: list[str], **kwargs: Any) -> Any:
        if command[0] == "/bin/sh":  # waits for the end of this process
            return start(command, **kwargs)
        calls.append((command, kwargs.get("env")))
        if seen is not None:
            (file,) = (Path(found._settings.staging_root)).rglob("secrets.json")
            mode = file.stat().st_mode & 0o777
            seen.write_text(json.dumps([str(file), mode, json.loads(file.read_text())]))
        return SimpleNamespace(pid=2**30, stdout=[], wait=lambda: 1, returncode=1)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(spark_submit, "kube_client", SimpleNamespace(), raising=False)
    monkeypatch.setattr(SubmitOperator, "check_client", lambda *_: None)
    found.conf = {**found.conf, "spark.kubernetes.container.image": "image"}
    with pytest.raises(AirflowException) as raised:
        found.execute(
            {
                "ti": SimpleNamespace(
                    dag_id=found.arguments.pipeline.name,
                    task_id=found.task_id,
                    map_index=-1,
                    run_id="r",
                    id="01a1",
                    try_number=1,
                    stats_tags={},
                )
            }
        )
    return calls, raised.value


def test_secrets_are_only_in_the_environment_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = [Secret("db"), Secret("db", "login"), Secret("db", "app")]
    found = operator(tmp_path, *secrets)
    ((command, environment),), _ = submitted(found, monkeypatch, master="local[2]")
    values = [environment[secret.variable] for secret in secrets]
    assert values == ["canary-pw", "etl", "canary-app"]
    rendered = {name: getattr(found, name) for name in found.template_fields}
    documents = [path.read_text() for path in tmp_path.rglob("*.json")]
    assert documents
    assert "canary" not in json.dumps([command, documents, rendered], default=str)


def test_the_log_of_a_task_masks_passwords_and_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.task import secret_values

    masked: list[str] = []
    monkeypatch.setattr(secret_values, "mask_secret", masked.append)
    secrets = [Secret("db"), Secret("db", "login"), Secret("db", "app"), Secret("db", "port")]
    monkeypatch.setitem(CONNECTION, "port", 5432)
    submitted(operator(tmp_path, *secrets), monkeypatch, master="local[2]")
    assert masked == ["canary-pw", "canary-app"]


@pytest.mark.parametrize("master", ["local[2]", "spark://h:7077", "yarn", "k8s://https://h:443"])
def test_in_client_mode_no_argument_names_a_variable(
    master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider would write `--conf spark.yarn.appMasterEnv.<variable>=<value>`."""
    secret = Secret("db")
    ((command, environment),), _ = submitted(operator(tmp_path, secret), monkeypatch, master=master)
    assert environment[secret.variable] == "canary-pw"
    assert secret.variable not in " ".join(command)
    assert "canary" not in " ".join(command)


def test_in_cluster_mode_on_yarn_a_file_of_its_owner_has_them_until_the_execution_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = [Secret("db"), Secret("db", "login")]
    ((command, environment),), _ = submitted(
        operator(tmp_path, *secrets), monkeypatch, master="yarn", mode="cluster", seen=tmp_path / "seen"
    )
    file, mode, values = json.loads((tmp_path / "seen").read_text())
    assert mode == 0o600
    assert values == {secrets[0].variable: "canary-pw", secrets[1].variable: "etl"}
    assert not Path(file).exists(), "spark-submit has failed, so the execution has ended"
    documents = [path.read_text() for path in (tmp_path / "s").rglob("*.json")]
    assert "canary" not in json.dumps([command, documents])
    assert not {each.variable for each in secrets} & set(environment)


def test_a_driver_takes_the_values_and_removes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.spark_runtime.secret_values import reveal, take_secrets

    secret, file = Secret("db"), tmp_path / "secrets.json"
    monkeypatch.delenv(secret.variable, raising=False)
    file.write_text(json.dumps({secret.variable: "canary-pw", "PATH": "/of/an/attacker"}))
    before = dict(os.environ)
    try:
        take_secrets(f"{tmp_path}/descriptor.json")
        assert reveal(secret) == "canary-pw"
        assert dict(os.environ) == before | {secret.variable: "canary-pw"}
    finally:
        os.environ.pop(secret.variable, None)
    assert not file.exists()
    take_secrets(f"{tmp_path}/descriptor.json")  # a pipeline without secrets has no file


def test_a_staging_root_of_a_group_is_no_place_for_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s").chmod(0o2770)
    calls, error = submitted(operator(tmp_path, Secret("db")), monkeypatch, master="yarn", mode="cluster")
    assert calls == []
    assert "below the staging root, which is open to a group" in str(error)


def test_in_cluster_mode_on_kubernetes_the_settings_to_add_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    secrets = [Secret("db"), Secret("db", "login")]
    prefix = "spark.kubernetes.driver.secretKeyRef"
    found = operator(tmp_path, *secrets)
    found.conf = {f"{prefix}.{secrets[0].variable}": "database:password"}
    calls, error = submitted(found, monkeypatch, master="k8s://https://h:443", mode="cluster")
    assert calls == []
    assert isinstance(error, AirflowFailException)
    assert str(error).endswith(
        f"{prefix}.{secrets[1].variable}=<name of the Kubernetes secret>:<key>    for Secret(db.login)"
    )
    assert str(error).count(prefix) == 1, "only what is missing"

    found = operator(tmp_path / "again", *secrets)
    found.conf = {f"{prefix}.{each.variable}": "database:key" for each in secrets}
    ((command, environment),), _ = submitted(found, monkeypatch, master="k8s://https://h:443", mode="cluster")
    assert f"{prefix}.{secrets[0].variable}=database:key" in command
    assert "canary" not in " ".join(command)
    assert not {each.variable for each in secrets} & set(environment)


def test_nothing_of_this_host_reaches_a_driver_on_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's client for YARN hands PYTHONPATH and the Pythons of its own environment to the driver."""
    for name in ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, f"/this/host/{name}")
    ((command, environment),), _ = submitted(operator(tmp_path), monkeypatch, master="yarn", mode="cluster")
    assert "/this/host" not in json.dumps([command[1:], environment])
    application = command[-2]
    assert Path(application).is_relative_to(tmp_path / "s")
    assert Path(application).is_file()


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        (Secret("nowhere"), "there is no Airflow connection 'nowhere' (Secret(nowhere.password))"),
        (Secret("db", "host"), "the Airflow connection 'db' has no host"),
        (Secret("db", "ap"), "the Airflow connection 'db' has no ap"),
    ],
)
def test_a_missing_secret_is_named(secret: Secret, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, error = submitted(operator(tmp_path, secret), monkeypatch, master="local[2]")
    assert calls == []
    assert str(error).startswith(f"pipeline 'p': {words}")
    assert "canary" not in str(error)


def test_a_pipeline_without_secrets_runs_on_any_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, _ = submitted(operator(tmp_path), monkeypatch, master="yarn")
    assert len(calls) == 1


def test_the_command_line_gets_values_and_the_reasons_why_others_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.task.secret_values import known_secrets

    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps(CONNECTION))
    password, app, missing, nowhere = Secret("db"), Secret("db", "app"), Secret("db", "token"), Secret("nowhere")
    assert known_secrets([password, app, missing, nowhere]) == {
        "values": {password.variable: "canary-pw", app.variable: "canary-app"},
        "missing": {
            missing.variable: "the Airflow connection 'db' has no token",
            nowhere.variable: "there is no Airflow connection 'nowhere' (Secret(nowhere.password))",
        },
    }
