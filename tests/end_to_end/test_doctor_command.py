"""`graph-compiler doctor` on this machine, and on machines where something is missing."""

import json
import os
import resource
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Home

pytestmark = [pytest.mark.e2e, pytest.mark.ci]
CPU_SECONDS = 15
"""What one look may cost, with the Airflow that it starts."""


def ask(home: Home, exit_code: int, **more: str) -> Mapping[str, Mapping[str, str]]:
    done = home.cli("doctor", "--json", environment=home.environment(**more))
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def cpu_of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def ill(found: Mapping[str, Mapping[str, str]]) -> set[str]:
    return {name for name, check in found.items() if check["state"] == "failed"}


def test_a_good_installation_passes_and_leaves_no_files(home: Home) -> None:
    before = cpu_of_children()
    found = ask(home, 0)
    assert cpu_of_children() - before < CPU_SECONDS
    assert ill(found) == set()
    assert "SPARK_SUBMIT_OPTS may name a collector" in found["Driver's start"]["found"]
    assert found["plugin"]["state"] == found["Spark connection"]["state"] == "ok"
    assert not home.folder.exists()
    words = home.cli("doctor").stdout
    assert "✓ Java" in words
    assert "27 checks, 0 failed" in words
    assert "Airflow 3.3 were tested together" in words or "Airflow 3.2 were tested together" in words


def test_all_missing_parts_are_reported_with_their_fixes(home: Home, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = ask(
        home,
        1,
        PATH="/nowhere",
        JAVA_HOME=str(tmp_path),
        AIRFLOW__GRAPH_COMPILER__STAGING_ROOT=str(tmp_path / "file" / "staging"),
        AIRFLOW__GRAPH_COMPILER__CONN_ID="nobody",
        AIRFLOW__GRAPH_COMPILER__OPTIONS='{"parallelism.default": 0}',
    )
    assert ill(found) == {"Java", "staging root", "Spark connection", "options", "settings"}
    assert all(found[name]["cure"] for name in ill(found))
    assert "nobody" in found["Spark connection"]["found"]
    assert "airflow connections add nobody" in found["Spark connection"]["cure"]


def test_a_class_path_that_takes_no_archive_is_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").touch()
    found = ask(home, 0, SPARK_CONF_DIR=str(tmp_path), SPARK_SUBMIT_OPTS="")
    said = f"without class archive: {tmp_path}, which is on the class path, has files"
    assert said in found["Driver's start"]["found"]


def test_a_plugins_folder_that_cannot_be_loaded_is_named(home: Home, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "broken_plugin.py").write_text("import nothing_of_the_kind\n")
    path = os.pathsep.join(dict.fromkeys(home.environment()["PYTHONPATH"].split(os.pathsep)))
    found = ask(home, 1, AIRFLOW__CORE__PLUGINS_FOLDER=str(plugins), PYTHONPATH=path)
    assert ill(found) == {"plugin"}
    assert "broken_plugin.py: No module named 'nothing_of_the_kind'" in found["plugin"]["found"]


@pytest.mark.usefixtures("migrated_home")
def test_a_connection_in_airflows_database_is_found(home: Home) -> None:
    connection = json.dumps({"conn_type": "spark", "host": "local[2]"})
    added = home.command("-m", "airflow", "connections", "add", "ours", "--conn-json", connection)
    assert added.returncode == 0, added.stderr
    found = ask(home, 0, AIRFLOW__GRAPH_COMPILER__CONN_ID="ours")
    assert found["Spark connection"]["found"].startswith("ours: local[2]")
