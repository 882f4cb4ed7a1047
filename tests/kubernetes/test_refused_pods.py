"""What is refused before anything is sent to Kubernetes."""

import json
from pathlib import Path

import pytest

from tests.harness.executed_regions import Store, execute
from tests.kubernetes.conftest import connect, operator_of, plain, settings_of_users
from tests.kubernetes.recording_api import RecordingApi

pytestmark = [pytest.mark.kubernetes, pytest.mark.filterwarnings("default")]
IMAGE = "spark.kubernetes.container.image"


def refusal(cluster: RecordingApi, **config: str) -> str:
    """Execute; return the error, which no retry would mend. Nothing was sent."""
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException) as raised:
        execute(operator_of(plain(**config)), Store(), "01a1")
    assert cluster.requests == []
    return str(raised.value)


def without_image(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = {key: value for key, value in settings_of_users(root).items() if key != IMAGE}
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__SPARK_CONF", json.dumps(conf))


def defaults(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "spark-defaults.conf").write_text(text)
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder))


def test_all_that_is_missing_is_named_at_once(
    cluster: RecordingApi, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(cluster, monkeypatch, namespace="")
    without_image(root, monkeypatch)
    assert refusal(cluster) == (
        "pipeline 'sales': task 'out': Airflow connection 'spark_default' has master "
        f"'k8s://{cluster.address}', and an application on Kubernetes needs more settings\n"
        "  missing:\n"
        f"    {IMAGE}    an image with Spark, and a Python of the driver's minor version\n"
        "    spark.kubernetes.namespace    or namespace in the connection's extra: where Airflow looks for the pod\n"
        "  hint: set them in the pipeline's options, in conf= of the slot sharing group, or in spark_conf of section "
        "[graph_compiler]"
    )


def test_client_mode_needs_an_image_of_executors(
    cluster: RecordingApi, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(cluster, monkeypatch, mode="client", namespace="")
    without_image(root, monkeypatch)
    said = refusal(cluster)
    assert (IMAGE in said, "spark.kubernetes.namespace" in said) == (True, False)


@pytest.mark.parametrize("where", ["SPARK_CONF_DIR", "SPARK_HOME", "PATH"])
def test_an_image_of_this_hosts_defaults_is_found(
    where: str, cluster: RecordingApi, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without SPARK_HOME, it is where spark-submit is."""
    without_image(root, monkeypatch)
    home = tmp_path / "spark"
    (home / "conf").mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "spark-submit").write_text("#!/bin/sh\nexit 0\n")
    (home / "bin" / "spark-submit").chmod(0o755)
    (home / "conf" / "spark-defaults.conf").write_text(f"# ours\n\n{IMAGE}   image\n")
    places = {"SPARK_CONF_DIR": home / "conf", "SPARK_HOME": home, "PATH": home / "bin"}
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(where, str(places[where]), prepend=":" if where == "PATH" else None)
    execute_without_report(cluster)


def execute_without_report(cluster: RecordingApi) -> None:
    """Execute with a spark-submit that sends nothing, or with the real one."""
    from airflow.sdk.exceptions import AirflowException

    cluster.on_pod = lambda pod: cluster.set_phase(pod["metadata"]["name"], "Failed")
    with pytest.raises(AirflowException) as raised:
        execute(operator_of(plain()), Store(), "01a1")
    assert "needs more settings" not in str(raised.value)


def test_a_password_among_this_hosts_defaults_is_not_sent(
    cluster: RecordingApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """spark-submit copies all defaults to a ConfigMap."""
    key = "spark.hadoop.fs.s3a.secret.key"
    defaults(tmp_path, f"spark.ui.enabled false\n{key}=hunter2\n", monkeypatch)
    said = refusal(cluster)
    assert f"would copy {key} from {tmp_path}/spark-defaults.conf to a ConfigMap" in said
    assert "hunter2" not in said


def test_a_name_for_all_pods_is_refused(cluster: RecordingApi) -> None:
    key = "spark.kubernetes.driver.pod.name"
    assert f"hint: remove the setting {key}" in refusal(cluster, **{key: "mine"})


def test_a_setting_by_which_spark_submit_would_wait_is_refused(cluster: RecordingApi) -> None:
    key = "spark.kubernetes.submission.waitAppCompletion"
    assert f"hint: remove the setting {key}" in refusal(cluster, **{key: "true"})


def test_a_cluster_that_airflow_could_not_ask_is_refused(
    cluster: RecordingApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER", "True")  # the default
    said = refusal(cluster)
    assert "Airflow cannot ask the cluster for the driver's pod" in said
    assert "in_cluster is True by default" in said
