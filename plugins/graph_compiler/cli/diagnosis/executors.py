"""Spark as a task would start it: a short application asks executors for the staging root and for Python.

Its driver also tries a staging root in an object store, with the connector and the identity that Spark has.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from graph_compiler.cli.diagnosis.airflow_health import AirflowHealth
from graph_compiler.cli.diagnosis.check import Answer, Check, Finding, carry_out_checks, failed, ok
from graph_compiler.declaration.connectors.file_uris import local_path

_PROGRAM = "graph_compiler.airflow_backend.installation.executor_health"
_SECONDS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The environment in which a task would submit."""

    environment: Mapping[str, str]


def executors(cluster: Cluster) -> Finding:
    """Check that executors start, see the staging root, and have a Python."""
    process = subprocess.Popen(
        [sys.executable, "-m", _PROGRAM],
        env=dict(cluster.environment),
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


def judge_executors(health: AirflowHealth, environment: Mapping[str, str]) -> tuple[Answer, ...]:
    """Ask an application whose driver runs here, unless executors share everything with this process."""
    if health.silence is not None or not _is_worth_asking(health):
        return ()
    return carry_out_checks((Check("executors", executors),), Cluster(environment=environment))


def _is_worth_asking(health: AirflowHealth) -> bool:
    try:
        found = health.value("spark_connection")
    except LookupError:
        return False
    host = str(found.get("host") or "")
    is_client = found.get("deploy_mode") in (None, "", "client")
    is_cluster = bool(host) and not host.startswith("local")
    is_in_store = bool(health.staging_root) and local_path(health.staging_root) is None
    return is_client and (is_cluster or is_in_store)
