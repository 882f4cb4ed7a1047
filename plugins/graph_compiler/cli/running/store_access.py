"""How the command line reaches the staging root's store: with the access that Airflow's connection has."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache, partial

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import StagingError
from graph_compiler.object_stores.opening import open_stores_with
from graph_compiler.object_stores.s3_access import S3Access

_PROGRAM = "graph_compiler.airflow_backend.stores.connection_access"


def open_stores(airflow: EmbeddedAirflow) -> None:
    """Open object stores in this process; Airflow is only asked if one is needed."""
    open_stores_with(partial(_access, airflow))


def root_access(airflow: EmbeddedAirflow) -> S3Access:
    """Return what Spark needs to reach the staging root from here; nothing for one on a disk.

    Raises ConfigurationError and StagingError.
    """
    return S3Access() if local_path(airflow.staging_root) is not None else _access(airflow)


@cache
def _access(airflow: EmbeddedAirflow) -> S3Access:
    if airflow.setting("staging_conn_id") is None:
        return S3Access()
    done = subprocess.run(
        [sys.executable, "-m", _PROGRAM],
        env=airflow.asking_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise StagingError(f"Airflow does not say how to reach the staging root's store: {last}")
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    if "problem" in answer:
        raise StagingError(answer["problem"])
    return S3Access(**answer)
