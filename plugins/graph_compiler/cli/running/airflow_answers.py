"""What Airflow answers to the command line: states of runs, commands of tasks, the connection of the staging root.

A program of `airflow_backend` answers each question, in a process of its own, since importing Airflow takes seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graph_compiler.cli.running.embedded_airflow import AirflowFailedError, EmbeddedAirflow
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.submission import PipelineSubmission
from graph_compiler.deployment.documents.wire import from_json, to_wire
from graph_compiler.errors import GraphCompilerError, StagingError
from graph_compiler.projects.airflow_configuration import variable_of
from graph_compiler.staging.gc.liveness import AirflowRunState
from graph_compiler.staging.store.store_access import RootAccess, StoreConnection

_DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


class NoAnswerError(GraphCompilerError):
    """Airflow's process has no answer; the message is the reason, or the last line of its errors."""


def _answer(program: str, *arguments: str, environment: Mapping[str, str], said: str = "") -> str:
    """Return the last line that a program of `airflow_backend` prints; raises NoAnswerError."""
    done = subprocess.run(
        [sys.executable, "-m", f"graph_compiler.airflow_backend.{program}", *arguments],
        input=said,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return last_line(done.returncode, done.stdout, done.stderr)


def last_line(status: int, output: str, errors: str) -> str:
    """Return the last line that a program has printed; raises NoAnswerError if it failed."""
    if status:
        raise NoAnswerError((errors.strip().splitlines() or ["it printed nothing"])[-1])
    return output.strip().splitlines()[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowWord:
    """The states of the runs Airflow knows; `silence` says why it did not answer, None where it did."""

    states: Mapping[RunIdentity, AirflowRunState]
    silence: str | None


def ask_airflow(airflow: EmbeddedAirflow, runs: Iterable[RunIdentity]) -> AirflowWord:
    """Query the metadata database of the Airflow that this project, or the environment, names."""
    asked = list(runs)
    if not asked:
        return AirflowWord(states={}, silence=None)
    if not airflow.home.is_dir() and _DATABASE not in os.environ:  # the query would create it
        return AirflowWord(states={}, silence=f"there is no {airflow.home}")
    environment, said = airflow.asking_environment(), json.dumps(to_wire(asked))
    try:
        states = json.loads(_answer("installation.run_states", environment=environment, said=said))
    except NoAnswerError as error:
        return AirflowWord(states={}, silence=str(error))
    found = zip(asked, states, strict=True)
    return AirflowWord(states={run: AirflowRunState(state) for run, state in found if state is not None}, silence=None)


def read_submit_commands(name: str) -> PipelineSubmission:
    """Return how each task of a valid pipeline would be submitted; raises AirflowFailedError, ConfigurationError."""
    airflow = EmbeddedAirflow(Path.cwd())
    with _asking(airflow) as environment:
        try:
            answer = _answer("installation.submit_commands", name, environment=environment)
        except NoAnswerError as error:
            raise AirflowFailedError(f"Airflow could not prepare the tasks: {error}") from None
    return from_json(PipelineSubmission, answer)


@contextmanager
def _asking(airflow: EmbeddedAirflow) -> Iterator[dict[str, str]]:
    """Yield the environment of a process that asks Airflow, which makes no Airflow home; raises ConfigurationError."""
    environment = airflow.asking_environment()
    with TemporaryDirectory(prefix="asking-") as home:
        if not airflow.home.is_dir():  # the process would create it
            environment["AIRFLOW_HOME"] = home
            environment[variable_of("staging_root")] = str(airflow.staging_root)
        yield environment


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsFound:
    """The values of secrets by the names of their variables, which are never shown; and why others have none."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    missing: Mapping[str, str] = field(default_factory=dict)


def find_secrets(airflow: EmbeddedAirflow, secrets: Iterable[Secret]) -> SecretsFound:
    """Return the values of secrets: of their variables in this environment, else of Airflow's connections.

    Raises ConfigurationError.
    """
    wanted = list(dict.fromkeys(secrets))
    here = {each.variable: os.environ[each.variable] for each in wanted if os.environ.get(each.variable)}
    asked = [each for each in wanted if each.variable not in here]
    if not asked:
        return SecretsFound(values=here)
    with _asking(airflow) as environment:
        try:
            said = json.dumps(to_wire(asked))
            answer = json.loads(_answer("task.secret_values", environment=environment, said=said))
        except NoAnswerError as error:
            why = f"Airflow does not say what it is: {error}"
            return SecretsFound(values=here, missing={each.variable: why for each in asked})
    return SecretsFound(values=here | answer["values"], missing=answer["missing"])


def access_of_airflow(airflow: EmbeddedAirflow) -> RootAccess:
    """Return the access to stores; Airflow is only asked if one that is not on a disk is needed.

    What it is asked may raise ConfigurationError and StagingError.
    """
    return RootAccess(root=lambda: airflow.staging_root, connection=partial(_connection, airflow))


@cache
def _connection(airflow: EmbeddedAirflow) -> StoreConnection | None:
    if airflow.setting("staging_conn_id") is None:
        return None
    try:
        answer: dict[str, Any] = json.loads(_answer("connection_access", environment=airflow.asking_environment()))
    except NoAnswerError as error:
        raise StagingError(f"Airflow does not say how to reach the staging root's store: {error}") from None
    if "problem" in answer:
        raise StagingError(answer["problem"])
    return StoreConnection(**answer) if answer else None
