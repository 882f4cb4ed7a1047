"""The states of Airflow's runs, read in a separate process; that Airflow does not answer is also a result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.staging.gc.liveness import AirflowRunState

_DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
_PROGRAM = "graph_compiler.airflow_backend.installation.run_states"


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
    done = subprocess.run(
        [sys.executable, "-m", _PROGRAM],
        input=json.dumps(to_wire(asked)),
        env=airflow.asking_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        return AirflowWord(states={}, silence=last)
    found = zip(asked, json.loads(done.stdout.strip().splitlines()[-1]), strict=True)
    return AirflowWord(states={run: AirflowRunState(state) for run, state in found if state is not None}, silence=None)
