"""What the command line finds of Airflow's settings without Airflow."""

from pathlib import Path

import pytest

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.errors import ConfigurationError

SPARK_CONF = "AIRFLOW__GRAPH_COMPILER__SPARK_CONF"


@pytest.fixture
def airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedAirflow:
    for name in ("AIRFLOW_HOME", "AIRFLOW_CONFIG", SPARK_CONF):
        monkeypatch.delenv(name, raising=False)
    return EmbeddedAirflow(tmp_path)


def test_spark_gets_single_machine_settings_unless_overridden(
    airflow: EmbeddedAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert airflow.spark_conf["spark.ui.enabled"] == "false"
    airflow.home.mkdir()
    file = airflow.home / "airflow.cfg"
    file.write_text('[graph_compiler]\nspark_conf = {"spark.cores.max": 2}\n')
    assert airflow.spark_conf == {"spark.cores.max": "2"}
    assert SPARK_CONF not in airflow.environment(), "Airflow reads its file itself"
    monkeypatch.setenv(SPARK_CONF, "{}")
    assert airflow.spark_conf == {}


def test_airflows_home_and_logs_are_private(airflow: EmbeddedAirflow) -> None:
    log = airflow.log_of("sales")
    for folder in (airflow.home, log.parent):
        assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["[1]", "local", "1"])
def test_spark_conf_that_is_no_json_object_is_reported_with_its_place(
    text: str, airflow: EmbeddedAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SPARK_CONF, text)
    with pytest.raises(ConfigurationError) as refused:
        _ = airflow.spark_conf
    assert SPARK_CONF in str(refused.value)
    assert f"spark_conf is '{text}'" in str(refused.value)
