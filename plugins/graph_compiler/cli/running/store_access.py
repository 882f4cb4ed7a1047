"""How the command line reaches the staging root's store: with the connection that Airflow has for it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache, partial
from typing import Any

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.errors import StagingError
from graph_compiler.staging.store.store_access import RootAccess, StoreConnection

_PROGRAM = "graph_compiler.airflow_backend.connection_access"


def access_of_airflow(airflow: EmbeddedAirflow) -> RootAccess:
    """Return the access to stores; Airflow is only asked if one that is not on a disk is needed.

    What it is asked may raise ConfigurationError and StagingError.
    """
    return RootAccess(root=lambda: airflow.staging_root, connection=partial(_connection, airflow))


@cache
def _connection(airflow: EmbeddedAirflow) -> StoreConnection | None:
    if airflow.setting("staging_conn_id") is None:
        return None
    done = subprocess.run(
        [sys.executable, "-m", _PROGRAM], env=airflow.asking_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise StagingError(f"Airflow does not say how to reach the staging root's store: {last}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if "problem" in answer:
        raise StagingError(answer["problem"])
    return StoreConnection(**answer) if answer else None
