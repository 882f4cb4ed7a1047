"""`submit`, `status`, `cancel`, `resume` and `result`: what they print, and their exit codes."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.cli.arguments import airflows
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.run_client import RunClient
from graph_compiler.run_client.login import PASSWORD, TOKEN, URL, USER
from tests.harness.fake_airflow import BEFORE, FakeAirflow, task
from tests.harness.staging_trees import FIRST, OUT, Run


@pytest.fixture
def airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeAirflow:
    """Return the Airflow that commands find, whose runs are over when they are waited for."""
    found = FakeAirflow()
    monkeypatch.chdir(tmp_path)
    for name in (URL, TOKEN, USER, PASSWORD, "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT"):
        monkeypatch.delenv(name, raising=False)

    def pause(_: float) -> None:
        for run_id in list(found.runs):
            found.run(run_id, "success", task("first", "success"))

    def client_of(_: str | None) -> RunClient:
        return found.client(tmp_path, pause)

    monkeypatch.setattr(airflows, "client_of", client_of)
    return found


def called(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_a_detached_run_prints_its_id_and_the_next_commands(airflow: FakeAirflow) -> None:
    done = called("submit", "sales", "-d", "--param", "least=3", "--param", "who=ann", "--api-url", "http://h")
    assert done.exit_code == 0, done.stderr
    (run_id,) = airflow.runs
    assert done.stdout == f"{run_id}\n"
    assert f"cancel sales {run_id} --api-url http://h" in done.stderr
    assert airflow.confs == [{"least": 3, "who": "ann"}]


def test_an_attached_run_is_followed_to_its_end(airflow: FakeAirflow) -> None:
    done = called("submit", "sales")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "first: FINISHED" in done.stdout
    document = json.loads(called("submit", "sales", "--json").stdout)
    assert (document["state"], document["sinks"]) == ("FINISHED", [])
    assert len(airflow.runs) == 2


def test_ctrl_c_stops_following_and_the_run_continues(airflow: FakeAirflow, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunClient, "wait", interrupted)
    done = called("submit", "sales")
    (run,) = airflow.runs.values()
    assert (done.exit_code, run.airflow_state) == (1, "queued")
    assert "the run continues" in done.stderr
    assert f"status sales {run.run_id}" in done.stderr
    assert f"cancel sales {run.run_id}" in done.stderr


def test_an_airflow_that_does_not_answer_is_code_1_and_a_refusal_code_2(airflow: FakeAirflow) -> None:
    airflow.lost = [BEFORE] * 4
    silent = called("submit", "sales", "-d", "--run-id", "mine")
    assert (silent.exit_code, silent.stdout) == (1, "")
    assert "'mine' of 'sales' was started" in silent.stderr
    for words in (
        ("submit", "sale"),
        ("status", "sale"),
        ("cancel", "sales", "x"),
        ("result", "sales", "x"),
        ("resume", "a@b:c:x", "y"),
        ("submit", "sales", "--param", "least"),
        ("submit", "sales", "--date", "soon"),
    ):
        done = called(*words)
        assert (done.exit_code, done.stdout) == (2, ""), words
        assert done.stderr


def test_a_failed_run_is_code_1_and_shows_why(airflow: FakeAirflow, tmp_path: Path) -> None:
    staged = Run(tmp_path, "a")
    staged.end(FIRST, "e0")
    staged.end(OUT, "e1", ExecutionState.FAILED)
    airflow.dags["p"] = airflow.dags["sales"]
    airflow.run("a", "failed", task(FIRST, "success"), task(OUT, "failed"), dag_id="p")
    shown = called("status", "p")
    assert shown.exit_code == 1
    assert "p · a · FAILED" in shown.stdout
    result = called("result", "p", "a")
    assert result.exit_code == 1
    assert f"pipeline 'p', region '{OUT}': broken" in result.stdout
    resumed = called("resume", "p", "a")
    assert (resumed.exit_code, airflow.cleared) == (0, [OUT])
    assert f"runs again: {OUT}\n" in resumed.stdout
    document = json.loads(called("status", "p", "a", "--json").stdout)
    assert [(one["task"], one["state"]) for one in document["tasks"]] == [(FIRST, "FINISHED"), (OUT, "FAILED")]
    canceled = called("cancel", "p", "a")
    assert canceled.exit_code == 0
    assert "resume p a" in canceled.stdout


def test_without_a_login_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that follows its hint then finds no server, which it says."""
    monkeypatch.chdir(tmp_path)
    for name in [*filter(_is_of_airflow, os.environ)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://localhost:1/airflow")
    done = called("status", "sales")
    assert done.exit_code == 2
    assert f"allowed: {TOKEN}" in done.stderr
    file = tmp_path / ".airflow" / "simple_auth_manager_passwords.json.generated"
    assert f"passwords to {file} when it starts" in done.stderr
    file.parent.mkdir()
    file.write_text('{"admin": "s3cret"}')
    done = called("status", "sales")
    assert done.exit_code == 1
    assert "no server listens at http://localhost:1/airflow" in done.stderr
    assert "s3cret" not in done.output


def _is_of_airflow(variable: str) -> bool:
    return variable.startswith(("AIRFLOW", "GRAPH_COMPILER_API"))
