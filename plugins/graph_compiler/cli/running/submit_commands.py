"""The commands that would submit a pipeline's tasks: a process of their own computes them, since it imports Airflow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_compiler.cli.running.embedded_airflow import AirflowFailedError, EmbeddedAirflow
from graph_compiler.deployment.documents.submission import PipelineSubmission
from graph_compiler.deployment.documents.wire import from_json
from graph_compiler.projects.airflow_configuration import variable_of

_PROGRAM = "graph_compiler.airflow_backend.installation.submit_commands"


def read_submit_commands(name: str) -> PipelineSubmission:
    """Return how each task of a valid pipeline would be submitted; raises AirflowFailedError, ConfigurationError."""
    airflow = EmbeddedAirflow(Path.cwd())
    environment = airflow.asking_environment()
    with TemporaryDirectory(prefix="submit-") as home:
        if not airflow.home.is_dir():  # the process would create it
            environment["AIRFLOW_HOME"] = home
            environment[variable_of("staging_root")] = str(airflow.staging_root)
        done = subprocess.run(
            [sys.executable, "-m", _PROGRAM, name], env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise AirflowFailedError(f"Airflow could not prepare the tasks: {reason}")
    return from_json(PipelineSubmission, done.stdout.strip().splitlines()[-1])
