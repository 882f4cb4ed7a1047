"""Secrets go from Airflow's connections to the driver's environment, and are refused if that is not safe."""

import json
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
CONNECTION = {
    "conn_type": "postgres",
    "login": "etl",
    "password": "canary-pw",
    "extra": {"app": "canary-app"},
}


def operator(tmp_path: Path, *secrets: Secret) -> Any:
    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.task.region_operator import RegionOperator

    env = StreamExecutionEnvironment("p")
    options = {f"o{number}": secret for number, secret in enumerate(secrets)}
    env.from_source(Jdbc("jdbc:x://db/x", table="t", options=options), "in").sink_to(
        Parquet("/out")
    )
    described = describe_pipeline(compile_pipeline(env.pipeline()))
    (region,) = described.regions
    found = RegionOperator(
        plan=described.plan,
        region=region,
        pipeline=env.pipeline(),
        settings=Settings(staging_root=str(tmp_path / "s")),
    )
    found.parameters = {"run_date": "2013-01-01"}
    return found


def submitted(
    found: Any, monkeypatch: pytest.MonkeyPatch, *, master: str, mode: str = "client"
) -> Any:
    """Execute with a replaced spark-submit; return the environment and arguments of its process."""
    import subprocess

    from airflow.sdk.exceptions import AirflowException

    spark = {"conn_type": "spark", "host": master, "extra": {"deploy-mode": mode}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps(CONNECTION))
    calls: list[Any] = []

    def popen(command: list[str], **kwargs: Any) -> Any:
        calls.append((command, kwargs.get("env")))
        return SimpleNamespace(stdout=[], wait=lambda: 1, returncode=1)

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(AirflowException) as raised:
        found.execute(
            {
                "ti": SimpleNamespace(
                    dag_id=found._pipeline.name,
                    task_id=found.task_id,
                    map_index=-1,
                    run_id="r",
                    id="01a1",
                    try_number=1,
                )
            }
        )
    return calls, raised.value


def test_secrets_are_only_in_the_environment_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = [Secret("db"), Secret("db", "login"), Secret("db", "app")]
    found = operator(tmp_path, *secrets)
    ((command, environment),), _ = submitted(found, monkeypatch, master="local[2]")
    values = [environment[secret.variable] for secret in secrets]
    assert values == ["canary-pw", "etl", "canary-app"]
    rendered = {name: getattr(found, name) for name in found.template_fields}
    documents = [path.read_text() for path in tmp_path.rglob("*.json")]
    assert documents
    assert "canary" not in json.dumps([command, documents, rendered], default=str)


@pytest.mark.parametrize(
    ("master", "mode", "words"),
    [
        ("yarn", "client", "master 'yarn' and deploy mode 'client'"),
        ("yarn", "cluster", "master 'yarn' and deploy mode 'cluster'"),
    ],
)
def test_a_master_that_would_show_secrets_as_arguments_is_refused_before_submission(
    master: str, mode: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    calls, error = submitted(
        operator(tmp_path, Secret("db")), monkeypatch, master=master, mode=mode
    )
    assert calls == []
    assert isinstance(error, AirflowFailException)
    assert words in str(error)
    assert "allowed: local, local[N] with deploy mode client; spark://HOST:PORT with" in str(error)
    assert "canary" not in str(error)


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        (Secret("nowhere"), "there is no Airflow connection 'nowhere' (Secret(nowhere.password))"),
        (Secret("db", "host"), "the Airflow connection 'db' has no host"),
        (Secret("db", "ap"), "the Airflow connection 'db' has no ap"),
    ],
)
def test_a_missing_secret_is_named(
    secret: Secret, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, error = submitted(operator(tmp_path, secret), monkeypatch, master="local[2]")
    assert calls == []
    assert str(error).startswith(f"pipeline 'p': {words}")
    assert "canary" not in str(error)


def test_a_pipeline_without_secrets_runs_on_any_master(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, _ = submitted(operator(tmp_path), monkeypatch, master="yarn")
    assert len(calls) == 1
