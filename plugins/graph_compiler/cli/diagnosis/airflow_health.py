"""Airflow's health: its facts come from one separate process, since importing Airflow takes seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from graph_compiler.cli.diagnosis.check import Answer, Check, Finding, carry_out_checks, failed, ok, warning
from graph_compiler.deployment.targets.known_targets import target_of
from graph_compiler.identifiers import counted, listing
from graph_compiler.projects.airflow_configuration import variable_of

_PROGRAM = "graph_compiler.airflow_backend.installation.health_report"
_PLUGIN = "graph_compiler"
_PROVIDER = "apache-airflow-providers-apache-spark"
_SECONDS = 60
_SHOWN = 3
_ADD = "airflow connections add {} --conn-type spark --conn-host 'local[2]'"
TESTED_AIRFLOW = (3, 3)
_INSTALL = 'pip install "apache-airflow>=3.3,<3.4" "apache-airflow-providers-apache-spark>=6.3"'


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowHealth:
    """The facts of `airflow_backend/installation/health_report.py`, and the staging root the command line uses.

    `silence` says why Airflow did not answer, None where it did.
    """

    facts: Mapping[str, Mapping[str, Any]]
    staging_root: str
    silence: str | None = None

    def value(self, name: str) -> Any:
        """Return a fact; raises LookupError with Airflow's reason if it is missing."""
        fact = self.facts[name]
        if "error" in fact:
            raise LookupError(str(fact["error"]))
        return fact["value"]


class AskingAirflow(AbstractContextManager["AskingAirflow"]):
    """A question to Airflow that starts at once, while other checks run; leaving the context ends its process."""

    def __init__(self, home: Path, environment: Mapping[str, str], staging_root: str | None) -> None:
        self._staging_root = str(staging_root)
        self._home = TemporaryDirectory(prefix="doctor-")
        given = dict(environment)
        if not home.is_dir():  # the question would create it
            given["AIRFLOW_HOME"] = self._home.name
            given[variable_of("staging_root")] = self._staging_root
        self._process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def health(self) -> AirflowHealth:
        """Wait for the answer."""
        try:
            said, errors = self._process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return self._silent(f"it did not answer within {_SECONDS} s")
        if self._process.returncode:
            return self._silent((errors.strip().splitlines() or ["it printed nothing"])[-1])
        facts = json.loads(said.strip().splitlines()[-1])
        return AirflowHealth(facts=facts, staging_root=self._staging_root)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process if it still runs, and remove its home."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        self._home.cleanup()

    def _silent(self, reason: str) -> AirflowHealth:
        return AirflowHealth(facts={}, staging_root=self._staging_root, silence=reason)


def airflow_version(health: AirflowHealth) -> Finding:
    """Check that Airflow starts, and its version."""
    if health.silence is not None:
        return failed(f"it did not answer: {health.silence}", f"{_INSTALL}; airflow version")
    found = str(health.value("airflow"))
    major, minor = (int(number) for number in found.split(".")[:2])
    if (major, minor) == TESTED_AIRFLOW:
        return ok(found)
    return failed(f"{found}; {'.'.join(map(str, TESTED_AIRFLOW))} is supported", _INSTALL)


def spark_provider(_: AirflowHealth) -> Finding:
    """Check that the package of SparkSubmitOperator is installed."""
    try:
        found = version(_PROVIDER)
    except PackageNotFoundError:
        return failed("it is not installed", f'pip install "{_PROVIDER}>=6.3"')
    return ok(found)


def plugin(health: AirflowHealth) -> Finding:
    """Check that Airflow loads our plugin, and that the plugin folder holds no files that cannot be loaded."""
    try:
        found = health.value("plugin")
    except LookupError as error:
        return failed(str(error), "airflow plugins")
    if found["errors"]:
        words = "; ".join(f"{Path(file).name}: {reason}" for file, reason in found["errors"].items())
        return failed(words, "airflow plugins; plugins/.airflowignore belongs to the package")
    if _PLUGIN not in found["loaded"]:
        return warning(
            "Airflow does not load it: Dags work, but its pages in Airflow do not",
            "put plugins/ into Airflow's plugins_folder, or pip install this repository where Airflow runs",
        )
    return ok("Airflow loads it")


def settings(health: AirflowHealth) -> Finding:
    """Check that Airflow can read our section, and finds the same values there as the command line."""
    try:
        theirs = health.value("settings")["staging_root"]
    except LookupError as error:
        return failed(str(error), "fix section [graph_compiler] in airflow.cfg, or its variable: docs/options.md")
    if theirs != health.staging_root:
        return warning(
            f"Airflow stages in {theirs}, but the command line looks in {health.staging_root}",
            f"export {variable_of('staging_root')}={theirs}",
        )
    return ok("Airflow and the command line read section [graph_compiler] alike")


def spark_connection(health: AirflowHealth) -> Finding:
    """Check that the Spark connection exists, and names the cluster's master."""
    try:
        found = health.value("spark_connection")
    except LookupError as error:
        return failed(str(error), _ADD.format("spark_default"))
    conn_id = found["conn_id"]
    add = _ADD.format(conn_id)
    if found["problem"]:
        return failed(found["problem"], add)
    if not found["host"]:
        return failed(f"{conn_id} names no master", f"airflow connections delete {conn_id}; {add}")
    master = f"{found['host']}:{found['port']}" if found["port"] else str(found["host"])
    words = f"{conn_id}: {master}, deploy mode {found['deploy_mode'] or 'client'}"
    if found["type"] != "spark":
        return warning(f"{words}; its type is {found['type']}", f"airflow connections delete {conn_id}; {add}")
    if (package := _missing_provider(str(found["host"]))) is not None:
        return failed(f"{words}; {package} is not installed", f"pip install {package}")
    return ok(words)


def _missing_provider(master: str) -> str | None:
    """Return the package that Airflow's Spark provider needs for a master, if it is missing."""
    target = target_of(master)
    if target is None or target.provider is None:
        return None
    try:
        version(target.provider)
    except PackageNotFoundError:
        return target.provider
    return None


def api_connection(health: AirflowHealth) -> Finding:
    """Check that tasks can reach Airflow's API, where a connection for it is set."""
    try:
        found = health.value("api_connection")
    except LookupError as error:
        return failed(str(error), f"airflow connections add, or unset {variable_of('api_conn_id')}")
    conn_id, problem = found["conn_id"], found["problem"]
    if conn_id is None:
        return ok("none is set; a task that needs others to run again logs the command for it")
    if problem is None:
        return ok(f"{conn_id}: one can log in")
    return failed(f"{conn_id}: {problem}", f"airflow connections get {conn_id}, and see that the API server runs")


def pools(health: AirflowHealth) -> Finding:
    """Check that every pool that a task names exists: otherwise, the task is never scheduled."""
    try:
        found = health.value("pools")
    except LookupError as error:
        return failed(str(error), "airflow pools list")
    if missing := found["missing"]:
        words = "; ".join(
            f"there is no pool '{pool}', so {_some(tasks)} will never be scheduled" for pool, tasks in missing.items()
        )
        return failed(words, f"airflow pools set {next(iter(missing))} SLOTS 'what it is for'")
    if not found["dags"]:
        return ok("Airflow has parsed no pipeline yet, so those that tasks name are unknown")
    named = [pool for pool in found["named"] if pool != "default_pool"]
    return ok(f"{listing(named)}: {'it exists' if len(named) == 1 else 'they exist'}" if named else "no task names one")


def triggerer(health: AirflowHealth) -> Finding:
    """Check that a triggerer runs if tasks wait for one: without it, none of them continues."""
    try:
        found = health.value("triggerer")
    except LookupError as error:
        return failed(str(error), "airflow jobs check --job-type TriggererJob")
    if found["is_alive"]:
        return ok("one runs")
    if found["waiting"]:
        words = f"none runs, and {counted(found['waiting'], 'task waits', 'tasks wait')} for one"
        return failed(words, "airflow triggerer")
    if found["is_default"]:
        return warning(
            "none runs, and tasks on YARN and Kubernetes will wait for one: [operators] default_deferrable is on",
            "airflow triggerer",
        )
    return ok("none runs, and no task waits for one")


def _some(tasks: Sequence[str]) -> str:
    others = len(tasks) - _SHOWN
    return listing([*tasks[:_SHOWN], *([counted(others, "other")] if others > 0 else [])])


INSTALLATION_CHECKS: tuple[Check[AirflowHealth], ...] = (
    Check("Airflow", airflow_version),
    Check("Spark provider", spark_provider),
)
WORD_CHECKS: tuple[Check[AirflowHealth], ...] = (
    Check("plugin", plugin),
    Check("settings", settings),
    Check("Spark connection", spark_connection),
    Check("API connection", api_connection),
    Check("pools", pools),
    Check("triggerer", triggerer),
)


def judge_airflow(health: AirflowHealth) -> tuple[Answer, ...]:
    """Carry out the checks; those that need Airflow's facts only if it answered."""
    installed = carry_out_checks(INSTALLATION_CHECKS, health)
    return installed if health.silence else (*installed, *carry_out_checks(WORD_CHECKS, health))
