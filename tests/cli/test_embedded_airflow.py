"""Which of Airflow's settings the command line finds without Airflow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow, starting_this_airflow
from graph_compiler.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
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


def test_airflow_loads_the_plugin_in_a_project_without_a_plugins_folder(
    airflow: EmbeddedAirflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "AIRFLOW__CORE__PLUGINS_FOLDER"
    monkeypatch.delenv(name, raising=False)
    assert airflow.environment()[name] == str(ROOT / "plugins")
    (tmp_path / "plugins").mkdir()
    assert airflow.environment()[name] == str(tmp_path / "plugins")


def test_airflows_home_and_logs_are_private(airflow: EmbeddedAirflow) -> None:
    log = airflow.log_of("sales")
    for folder in (airflow.home, log.parent):
        assert folder.stat().st_mode & 0o077 == 0


def test_programs_are_found_beside_the_running_python_first(
    airflow: EmbeddedAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a task starts the `spark-submit` of its own environment, whatever shell it was started from."""
    monkeypatch.setenv("PATH", "/other/.venv/bin")
    found = airflow.environment()["PATH"].split(os.pathsep)
    assert found == [str(Path(sys.executable).parent), "/other/.venv/bin"]


def test_the_parts_of_an_airflow_run_under_this_python_whatever_is_on_the_path(tmp_path: Path) -> None:
    """Airflow starts them as `airflow`; the one of a copied project names the Python it was copied from."""
    others, home, packages = tmp_path / "others", tmp_path / "a home", tmp_path / "packages"
    for folder in (others, packages / "airflow"):
        folder.mkdir(parents=True)
    program = others / "airflow"
    program.write_text("#!/bin/sh\necho another\n")
    program.chmod(0o700)
    (packages / "airflow" / "__init__.py").touch()
    (packages / "airflow" / "__main__.py").write_text("import sys\nprint(sys.executable, *sys.argv[1:])\n")
    path = os.pathsep.join([str(others), os.environ["PATH"]])
    found = starting_this_airflow({"PATH": path, "PYTHONPATH": str(packages)}, home)
    done = subprocess.run(["airflow", "scheduler", "a b"], env=found, cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode() == f"{sys.executable} scheduler a b\n"


@pytest.mark.parametrize("text", ["[1]", "local", "1"])
def test_spark_conf_that_is_not_a_json_object_is_reported_with_its_place(
    text: str, airflow: EmbeddedAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SPARK_CONF, text)
    with pytest.raises(ConfigurationError) as refused:
        _ = airflow.spark_conf
    assert SPARK_CONF in str(refused.value)
    assert f"spark_conf is '{text}'" in str(refused.value)
