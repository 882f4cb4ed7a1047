"""What Airflow and Spark's executors are asked: versions, the plugin, settings, connections, pools, the triggerer.

Airflow's process finds the facts (`airflow_backend/installation/health_report.py`), under the names of the questions;
these probes judge them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from graph_compiler.cli.diagnosis.host_questions import judge_version
from graph_compiler.cli.diagnosis.question import Finding, Host, Need, Question, failed, ok, warning
from graph_compiler.deployment.targets.known_targets import target_of
from graph_compiler.identifiers import counted, listing
from graph_compiler.projects.airflow_configuration import variable_of
from graph_compiler.tested_versions import AIRFLOW, Row, installed_version, minor_of, numbers

_EXECUTORS = "graph_compiler.airflow_backend.installation.executor_health"
_SECONDS = 180
_PLUGIN = "graph_compiler"
_PROVIDER = "apache-airflow-providers-apache-spark"
_SHOWN = 3
_NEEDS_OLD_SVCS, _NEW_SVCS = "3.2", 26
_ADD = "airflow connections add {} --conn-type spark --conn-host 'local[2]'"
_INSTALL = f'pip install "{AIRFLOW.requirement}" "{_PROVIDER}>=6.3"'


def airflow_version(host: Host) -> Finding:
    """Check that Airflow starts, and its version."""
    if (silence := host.report().silence) is not None:
        return failed(f"it did not answer: {silence}", f"{_INSTALL}; airflow version")
    return judge_airflow(str(host.fact("Airflow")), installed_version("svcs"))


def judge_airflow(found: str, svcs: str | None) -> Finding:
    """Check a version of Airflow, and of a package with which only newer ones work."""
    if minor_of(found) == _NEEDS_OLD_SVCS and numbers(svcs or "") >= (_NEW_SVCS,):
        return failed(
            f"{found} with svcs {svcs}: `airflow dags test` ends before the first task of any Dag",
            f'pip install "svcs<{_NEW_SVCS}"',
        )
    return judge_version(AIRFLOW, found)


def tested_together(host: Host) -> Finding:
    """Find the row of docs/versions.md with this host's versions."""
    pyspark = installed_version("pyspark")
    if pyspark is None:
        return ok("there is no pyspark")
    return judge_row(Row.of("{}.{}".format(*sys.version_info), pyspark, str(host.fact("Airflow"))))


def judge_row(row: Row) -> Finding:
    """Check three versions; each version has a finding of its own if it is older or newer."""
    if row.is_tested:
        return ok(f"{row} were tested together")
    return ok(f"{row} were not tested together: docs/versions.md has what was")


def spark_provider(_: Host) -> Finding:
    """Check that the package of SparkSubmitOperator is installed."""
    found = installed_version(_PROVIDER)
    return failed("it is not installed") if found is None else ok(found)


def plugin(host: Host) -> Finding:
    """Check that Airflow loads our plugin, and that the plugin folder holds no files that cannot be loaded."""
    found = host.fact("plugin")
    if found["errors"]:
        words = "; ".join(f"{Path(file).name}: {reason}" for file, reason in found["errors"].items())
        return failed(words, "airflow plugins; plugins/.airflowignore belongs to the package")
    if _PLUGIN not in found["loaded"]:
        return warning(
            "Airflow does not load it: Dags work, but its pages in Airflow do not",
            "put plugins/ into Airflow's plugins_folder, or pip install this repository where Airflow runs",
        )
    return ok("Airflow loads it")


def settings(host: Host) -> Finding:
    """Check that Airflow can read our section, and finds the same values there as the command line."""
    theirs = host.fact("settings")["staging_root"]
    if theirs != str(host.root):
        return warning(
            f"Airflow stages in {theirs}, but the command line looks in {host.root}",
            f"export {variable_of('staging_root')}={theirs}",
        )
    return ok("Airflow and the command line read section [graph_compiler] alike")


def spark_connection(host: Host) -> Finding:
    """Check that the Spark connection exists, and names the cluster's master."""
    found = host.fact("Spark connection")
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
    target = target_of(str(found["host"]))
    package = None if target is None else target.provider
    if package is not None and installed_version(package) is None:
        return failed(f"{words}; {package} is not installed", f"pip install {package}")
    return ok(words)


def api_connection(host: Host) -> Finding:
    """Check that tasks can reach Airflow's API, where a connection for it is set."""
    found = host.fact("API connection")
    conn_id, problem = found["conn_id"], found["problem"]
    if conn_id is None:
        return ok("none is set; a task that needs others to run again logs the command for it")
    if problem is None:
        return ok(f"{conn_id}: one can log in")
    return failed(f"{conn_id}: {problem}", f"airflow connections get {conn_id}, and see that the API server runs")


def pools(host: Host) -> Finding:
    """Check that every pool that a task names exists: otherwise, the task is never scheduled."""
    found = host.fact("pools")
    if missing := found["missing"]:
        words = "; ".join(
            f"there is no pool '{pool}', so {_some(tasks)} will never be scheduled" for pool, tasks in missing.items()
        )
        return failed(words, f"airflow pools set {next(iter(missing))} SLOTS 'what it is for'")
    if not found["dags"]:
        return ok("Airflow has parsed no pipeline yet, so those that tasks name are unknown")
    named = [pool for pool in found["named"] if pool != "default_pool"]
    return ok(f"{listing(named)}: {'it exists' if len(named) == 1 else 'they exist'}" if named else "no task names one")


def _some(tasks: Sequence[str]) -> str:
    others = len(tasks) - _SHOWN
    return listing([*tasks[:_SHOWN], *([counted(others, "other")] if others > 0 else [])])


def triggerer(host: Host) -> Finding:
    """Check that a triggerer runs if tasks wait for one: without it, none of them continues."""
    found = host.fact("triggerer")
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


def executors(host: Host) -> Finding:
    """Check that executors start, see the staging root, and have a Python: by a short application, as a task would.

    Its driver also tries a staging root in an object store, with the connector and the identity that Spark has.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", _EXECUTORS],
        env=dict(host.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return failed(
            f"no answer within {_SECONDS} s: perhaps no host of the cluster has free cores or memory",
            "look at the page of Spark's master, and set less in [graph_compiler] spark_conf",
        )
    *_, last = said.strip().splitlines() or [""]
    if process.returncode:
        return failed(last, "run spark-submit with this master by hand: its log has the reason")
    found = json.loads(last)
    if found["problem"]:
        problem, _, hint = str(found["problem"]).partition("\n  hint: ")
        return failed("; ".join(problem.split("\n  ")), hint)
    return ok(f"they see the staging root, and have Python {found['python']}")


_ASKED = Need.AIRFLOW
AIRFLOW_QUESTIONS = (
    Question("Airflow", airflow_version, _INSTALL),
    Question("versions", tested_together, needs=Need.AIRFLOW),
    Question("Spark provider", spark_provider, f'pip install "{_PROVIDER}>=6.3"'),
    Question("plugin", plugin, "airflow plugins", _ASKED),
    Question(
        "settings", settings, "fix section [graph_compiler] in airflow.cfg, or its variable: docs/options.md", _ASKED
    ),
    Question("Spark connection", spark_connection, _ADD.format("spark_default"), _ASKED),
    Question(
        "API connection", api_connection, f"airflow connections add, or unset {variable_of('api_conn_id')}", _ASKED
    ),
    Question("pools", pools, "airflow pools list", _ASKED),
    Question("triggerer", triggerer, "airflow jobs check --job-type TriggererJob", _ASKED),
    Question("executors", executors, needs=Need.EXECUTORS),
)
