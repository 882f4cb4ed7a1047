"""How answers of Airflow's programs are read, and what is said if one fails; a script takes Airflow's place."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.cli.running.airflow_answers import (
    access_of_airflow,
    ask_airflow,
    find_secrets,
    read_submit_commands,
)
from graph_compiler.cli.running.embedded_airflow import AirflowFailedError, EmbeddedAirflow
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.submission import PipelineSubmission
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import StagingError
from graph_compiler.projects.airflow_configuration import variable_of
from graph_compiler.staging.gc.liveness import AirflowRunState

Answering = Callable[[str], EmbeddedAirflow]
RUNS = [RunIdentity.own("flights", name) for name in ("first", "second")]
DIES = "echo noise; echo Traceback >&2; echo 'OSError: no database' >&2; exit 1"


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Return an Airflow in whose place a shell script answers."""

    def answer(script: str) -> EmbeddedAirflow:
        (tmp_path / ".airflow").mkdir()
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(program))
        monkeypatch.delenv("AIRFLOW_HOME", raising=False)
        monkeypatch.setenv(variable_of("staging_root"), "s3a://lake/staging")
        monkeypatch.setenv(variable_of("staging_conn_id"), "lake")
        monkeypatch.chdir(tmp_path)
        return EmbeddedAirflow(tmp_path)

    return answer


def test_the_last_line_is_the_answer(answering: Answering) -> None:
    airflow = answering("""echo "a warning"; cat > asked; echo "$@" > program; echo '["running", null]'""")
    assert ask_airflow(airflow, RUNS).states == {RUNS[0]: AirflowRunState.RUNNING}
    assert "second" in Path("asked").read_text()
    assert Path("program").read_text() == "-m graph_compiler.airflow_backend.installation.run_states\n"


def test_commands_are_read_in_an_empty_home_if_there_is_none(answering: Answering) -> None:
    found = PipelineSubmission(pipeline="flights", tasks=())
    document = to_json(found).replace("\n", "")
    airflow = answering(f"""echo "$AIRFLOW_HOME" "$@" > asked; echo '{document}'""")
    (airflow.project / ".airflow").rmdir()
    assert read_submit_commands("flights") == found
    home, *words = Path("asked").read_text().split()
    assert words == ["-m", "graph_compiler.airflow_backend.installation.submit_commands", "flights"]
    assert home != str(airflow.home)
    assert not airflow.home.exists()
    assert not Path(home).exists()


@pytest.mark.parametrize(("script", "reason"), [(DIES, "OSError: no database"), ("exit 3", "it printed nothing")])
def test_a_program_that_fails_is_reported_with_its_last_line(script: str, reason: str, answering: Answering) -> None:
    airflow = answering(script)
    assert ask_airflow(airflow, RUNS).silence == reason
    with pytest.raises(AirflowFailedError, match=f"Airflow could not prepare the tasks: {reason}"):
        read_submit_commands("flights")
    with pytest.raises(StagingError, match=f"Airflow does not say how to reach the staging root's store: {reason}"):
        access_of_airflow(airflow).connection()


def test_secrets_are_those_of_variables_else_of_airflow(answering: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is an argument, or is shown with the answer."""
    here, there, nowhere = Secret("here"), Secret("there"), Secret("nowhere", "token")
    monkeypatch.setenv(here.variable, "hidden-1")
    answer = {"values": {there.variable: "hidden-2"}, "missing": {nowhere.variable: "no such connection"}}
    airflow = answering(f"""cat > asked; echo "$@" > program; echo '{json.dumps(answer)}'""")
    found = find_secrets(airflow, [here, there, nowhere, there])
    assert found.values == {here.variable: "hidden-1", there.variable: "hidden-2"}
    assert found.missing == answer["missing"]
    assert "hidden" not in repr(found)
    assert [each["conn_id"] for each in json.loads(Path("asked").read_text())] == ["there", "nowhere"]
    assert Path("program").read_text() == "-m graph_compiler.airflow_backend.task.secret_values\n"
    Path("asked").unlink()
    assert find_secrets(airflow, [here, here]).values == {here.variable: "hidden-1"}
    assert not Path("asked").exists()


def test_an_airflow_that_does_not_answer_has_no_secrets(answering: Answering) -> None:
    secret = Secret("there")
    found = find_secrets(answering(DIES), [secret])
    assert found.missing == {secret.variable: "Airflow does not say what it is: OSError: no database"}
    assert found.values == {}


def test_a_problem_with_the_connection_is_reported(answering: Answering) -> None:
    airflow = answering("""echo '{"problem": "lake is not of type aws"}'""")
    with pytest.raises(StagingError, match="lake is not of type aws"):
        access_of_airflow(airflow).connection()
