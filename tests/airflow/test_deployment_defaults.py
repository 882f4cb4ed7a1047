"""The deployment's options apply in `build_dag` and on the command line, wherever Airflow finds them."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.errors import ConfigurationError
from graph_compiler.projects.airflow_configuration import find_setting
from pipelines.flights import env as flights
from tests.airflow.conftest import ROOT

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
OPTIONS = "AIRFLOW__GRAPH_COMPILER__OPTIONS"
BLOCKING = {"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"}


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def tasks_of_dag() -> int:
    from graph_compiler.airflow_backend import build_dag

    return len(build_dag(flights, schedule=None, start_date=datetime(2013, 1, 1)).tasks)


def tasks_of_cli() -> int:
    done = CliRunner().invoke(app, ["explain", "flights", "--json"])
    return len(json.loads(done.stdout)["tasks"])


def test_the_variable_changes_tasks_of_dags_and_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (tasks_of_dag(), tasks_of_cli()) == (2, 2)
    monkeypatch.setenv(OPTIONS, json.dumps(BLOCKING))
    assert (tasks_of_dag(), tasks_of_cli()) == (13, 13)


def test_the_file_changes_tasks_of_dags_and_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.configuration import conf

    file = tmp_path / "airflow.cfg"
    file.write_text(f"[graph_compiler]\noptions = {json.dumps(BLOCKING)}\n")
    monkeypatch.setenv("AIRFLOW_CONFIG", str(file))
    conf.read(file)  # Airflow reads its file once, when it is imported
    try:
        assert (tasks_of_dag(), tasks_of_cli()) == (13, 13)
    finally:
        conf.remove_option("graph_compiler", "options")


def test_wrong_defaults_are_named_by_where_they_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, '{"parallelism.default": 0, "nothing": 1}')
    with pytest.raises(ConfigurationError, match=f"{OPTIONS} has 2 problems"):
        tasks_of_dag()
    for command in ("explain", "validate", "options"):
        done = CliRunner().invoke(app, [command, *(["flights"] if command == "explain" else [])])
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"{OPTIONS} has 2 problems" in done.stderr


def test_airflow_resolves_the_same_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.configuration import AirflowConfigParser

    file = tmp_path / "airflow.cfg"
    file.write_text(
        '[graph_compiler]\nbase = /mnt\noptions = {"a": "100%%"}\nstaging_root = %(base)s/$WHERE\nconn_id = ~\n'
    )
    monkeypatch.setenv("WHERE", "here")
    parser = AirflowConfigParser()
    parser.read(file)
    for key in ("options", "staging_root", "base", "conn_id"):
        found = find_setting(key, file, {})
        assert found is not None
        assert parser.get("graph_compiler", key) == found.value
    monkeypatch.setenv(OPTIONS, "$WHERE")
    assert parser.get("graph_compiler", "options") == "here"
