"""`explain --submit` shows the command that the operator runs, without secrets, and writes nothing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from graph_compiler import Jdbc, Parquet, Secret, SlotSharingGroup, StreamExecutionEnvironment
from pipelines.flights import env as flights

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
OPTIONS = {"spark.a": "1", "spark.acme.passwords": "canary-option"}


@pytest.fixture(autouse=True)
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    for conn_id, master in {"spark_default": "spark://host:7077", "other": "yarn"}.items():
        connection = {"conn_type": "spark", "host": master}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(connection))
    database = {"conn_type": "jdbc", "password": "canary-pw"}
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps(database))


def pipeline_of(group: str | SlotSharingGroup = "g") -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p", config=OPTIONS)
    source = Jdbc("jdbc:x://db/x", table="t", options={"password": Secret("db")})
    env.from_source(source, "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    return env


def executed(env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the command of an execution whose process is replaced."""
    import subprocess

    from airflow.sdk.exceptions import AirflowException

    from graph_compiler.airflow_backend import build_dag

    commands: list[list[str]] = []
    start = subprocess.Popen

    def popen(command: list[str], **named: Any) -> Any:
        if command[0] == "/bin/sh":  # waits for the end of this process
            return start(command, **named)
        commands.append(command)
        return SimpleNamespace(pid=2**30, stdout=[], wait=lambda: 1, returncode=1)

    task: Any = build_dag(env, schedule=None).tasks[0]
    task.parameters = {"run_date": "2013-01-01"}
    named = {"dag_id": "p", "task_id": task.task_id, "map_index": -1, "run_id": "RUN_ID"}
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", popen)
        with pytest.raises(AirflowException):
            task.execute({"ti": SimpleNamespace(**named, id="EXECUTION_ID", try_number=1)})
    return commands[0]


def test_it_is_the_command_of_the_execution_with_passwords_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.installation.submit_commands import submit_commands

    (found,) = submit_commands(pipeline_of().pipeline()).tasks
    assert not (tmp_path / "staging").exists()
    assert "canary" not in repr(found)
    assert found.secrets == ("Secret(db.password)",)
    words = [word.replace("******", "canary-option") for word in found.command]
    assert words == executed(pipeline_of(), monkeypatch)
    assert "--py-files" in words  # a standalone cluster's executors do not see this host's files


def test_code_is_shipped_beside_files_that_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.installation.submit_commands import submit_commands

    monkeypatch.setitem(OPTIONS, "spark.submit.pyFiles", "/own.zip")
    (found,) = submit_commands(pipeline_of().pipeline()).tasks
    files = found.command[found.command.index("--py-files") + 1].split(",")
    assert (len(files), files[0]) == (2, "/own.zip")


def test_a_task_that_would_be_refused_has_the_problem() -> None:
    from graph_compiler.airflow_backend.installation.submit_commands import submit_commands

    group = SlotSharingGroup("g", conn_id="other", deploy_mode="cluster")
    (found,) = submit_commands(pipeline_of(group).pipeline()).tasks
    assert (found.conn_id, found.command) == ("other", ())
    assert "a driver on another host cannot be followed" in str(found.problem)


def test_the_command_line_prints_all_tasks_as_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.cli.app import app

    monkeypatch.chdir(Path(__file__).parents[2])
    done = CliRunner().invoke(app, ["explain", "flights", "--submit", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    assert [task["task"] for task in document["tasks"]] == ["with_weather", "late_routes"]
    assert document["pipeline"] == flights.pipeline().name
    assert all("spark://host:7077" in task["command"] for task in document["tasks"])


@pytest.mark.parametrize("other", [["--spark"], ["--graph", "job"], ["--format", "dot"]])
def test_it_is_not_combined_with_other_outputs(other: list[str]) -> None:
    from graph_compiler.cli.app import app

    done = CliRunner().invoke(app, ["explain", "flights", "--submit", *other])
    assert done.exit_code == 2
    assert "--submit prints text or JSON" in done.output.replace("\n", " ").replace("│ ", "")
