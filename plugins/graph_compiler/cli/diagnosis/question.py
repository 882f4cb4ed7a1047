"""A question of `graph-compiler doctor`, the host that answers, and how a table of questions is asked.

Questions are independent of each other. A probe that crashes is itself a finding, and the others still run. Some ask
Airflow: one separate process reports its facts, since importing Airflow takes seconds (decision 71).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graph_compiler.cli.running.airflow_answers import NoAnswerError, last_line
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import ConfigurationError, StagingError
from graph_compiler.projects.airflow_configuration import variable_of

_PROGRAM = "graph_compiler.airflow_backend.installation.health_report"
_SECONDS = 300
"""Airflow starts in ten seconds of CPU time; the rest is for machines that are busy with a dozen other things."""


class State(StrEnum):
    """The result of a probe: a warning may cause a failure, `failed` will."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, and how to fix it in one sentence, None where there is nothing to fix."""

    state: State
    found: str
    cure: str | None = None


def ok(found: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(state=State.OK, found=found)


def warning(found: str, cure: str | None = None) -> Finding:
    """Return a finding that may cause a failure; without a cure, that of the question."""
    return Finding(state=State.WARNING, found=found, cure=cure)


def failed(found: str, cure: str | None = None) -> Finding:
    """Return a finding that will cause a failure; without a cure, that of the question."""
    return Finding(state=State.FAILED, found=found, cure=cure)


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowReport:
    """The facts of `airflow_backend/installation/health_report.py`, under the names of the questions.

    `silence` says why Airflow did not answer, None where it did.
    """

    facts: Mapping[str, Mapping[str, Any]]
    silence: str | None = None


class Need(Enum):
    """What a question needs; it is left out on a host without it."""

    NOTHING = auto()
    FOLDER = auto()
    """A staging root on a disk."""
    STORE = auto()
    """A staging root in an object store, or in HDFS."""
    AIRFLOW = auto()
    """An Airflow that answers."""
    EXECUTORS = auto()
    """Spark's executors, if a driver of this host has them and they share less than everything with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What probes look at: the environment of a task's process, the staging root if it is valid, what Airflow reports.

    The first look at the report waits for it. If there is no Airflow home, the environment names an empty one.
    """

    airflow: EmbeddedAirflow
    environment: Mapping[str, str]
    root: str | None
    report: Callable[[], AirflowReport]

    @property
    def folder(self) -> Path:
        """Return the staging root on a disk; only for questions that need one."""
        return Path(str(local_path(str(self.root))))

    def fact(self, name: str) -> Any:
        """Return what Airflow reports for a question; raises NoAnswerError."""
        fact = self.report().facts[name]
        if "error" in fact:
            raise NoAnswerError(str(fact["error"]))
        return fact["value"]

    def has(self, need: Need) -> bool:
        """Whether this host has what a question needs."""
        match need:
            case Need.NOTHING:
                return True
            case Need.FOLDER:
                return self.root is not None and local_path(self.root) is not None
            case Need.STORE:
                return self.root is not None and local_path(self.root) is None
            case Need.AIRFLOW:
                return self.report().silence is None
            case Need.EXECUTORS:
                return self.root is not None and self.has(Need.AIRFLOW) and self._has_other_executors()

    def _has_other_executors(self) -> bool:
        try:
            found = self.fact("Spark connection")
        except NoAnswerError:
            return False
        host = str(found.get("host") or "")
        is_client = found.get("deploy_mode") in (None, "", "client")
        is_cluster = bool(host) and not host.startswith("local")
        return is_client and (is_cluster or self.has(Need.STORE))


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table: what is asked, the probe that finds the answer, and what helps unless the probe knows better.

    If the question `after` which it is asked has failed, it is left out.
    """

    name: str
    probe: Callable[[Host], Finding]
    cure: str | None = None
    needs: Need = Need.NOTHING
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question's name and its finding."""

    name: str
    finding: Finding

    @property
    def is_failed(self) -> bool:
        """Whether it will cause a failure."""
        return self.finding.state is State.FAILED


def ask(questions: Iterable[Question], host: Host) -> Iterator[Answer]:
    """Ask each question of which the host has what it needs, in order; yield an answer when it is there."""
    answers: dict[str, Answer] = {}
    for question in questions:
        before = answers.get(question.after or "")
        if host.has(question.needs) and not (before and before.is_failed):
            answers[question.name] = Answer(name=question.name, finding=_finding(question, host))
            yield answers[question.name]


def _finding(question: Question, host: Host) -> Finding:
    try:
        found = question.probe(host)
        return replace(found, cure=question.cure) if found.state is not State.OK and found.cure is None else found
    except Exception as error:  # one crash must not hide the other answers
        if question.cure and isinstance(error, OSError | StagingError | NoAnswerError):
            return failed(str(error.strerror if isinstance(error, OSError) else error), question.cure)
        return failed(
            f"the check itself failed: {type(error).__name__}: {error}",
            "please report this line: it is a bug in graph_compiler",
        )


@contextmanager
def host_of(airflow: EmbeddedAirflow) -> Iterator[Host]:
    """Yield this host, and let Airflow start while it is looked at; leaving the context ends Airflow's process.

    What cannot be read of the configuration is left out: a question reports it.
    """
    try:
        environment = airflow.asking_environment()
    except ConfigurationError:
        environment = dict(os.environ)
    try:
        root = airflow.staging_root
    except (ConfigurationError, StagingError):
        root = None
    with TemporaryDirectory(prefix="doctor-") as home:
        if not airflow.home.is_dir():  # Airflow would create it
            environment["AIRFLOW_HOME"] = home
            if root is not None:
                environment[variable_of("staging_root")] = root
        process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            yield Host(airflow=airflow, environment=environment, root=root, report=cache(lambda: _report(process)))
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _report(process: subprocess.Popen[str]) -> AirflowReport:
    try:
        output, errors = process.communicate(timeout=_SECONDS)
        return AirflowReport(facts=json.loads(last_line(process.returncode, output, errors)))
    except subprocess.TimeoutExpired:
        return AirflowReport(facts={}, silence=f"it did not answer within {_SECONDS} s")
    except NoAnswerError as error:
        return AirflowReport(facts={}, silence=str(error))
