"""How the command line reaches the staging root's store: with the access that Airflow's connection has."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache, partial
from typing import Any

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.connectors.file_uris import is_in_hdfs, local_path
from graph_compiler.errors import StagingError
from graph_compiler.object_stores.opening import open_stores_with
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.webhdfs.opening import open_hdfs_with
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess

_PROGRAM = "graph_compiler.airflow_backend.connection_access"


def open_stores_of_airflow(airflow: EmbeddedAirflow) -> None:
    """Open the stores of places that are not on a disk in this process; Airflow is only asked if one is needed."""
    open_stores_with(partial(_s3_access, airflow))
    open_hdfs_with(partial(_hdfs_access, airflow))


def root_access_of_airflow(airflow: EmbeddedAirflow) -> S3Access | HdfsAccess:
    """Return what Spark needs to reach the staging root from here; nothing for one on a disk.

    Raises ConfigurationError and StagingError.
    """
    root = airflow.staging_root
    if local_path(root) is not None:
        return S3Access()
    return _hdfs_access(airflow) if is_in_hdfs(root) else _s3_access(airflow)


def _s3_access(airflow: EmbeddedAirflow) -> S3Access:
    return S3Access() if is_in_hdfs(airflow.staging_root) else S3Access(**_answer(airflow))


def _hdfs_access(airflow: EmbeddedAirflow) -> HdfsAccess:
    if not is_in_hdfs(airflow.staging_root):
        return HdfsAccess()
    found = _answer(airflow)
    return HdfsAccess(**found | {"hosts": tuple(found.get("hosts", ()))})


@cache
def _answer(airflow: EmbeddedAirflow) -> dict[str, Any]:
    """Return the fields of what Airflow's connection says."""
    if airflow.setting("staging_conn_id") is None:
        return {}
    done = subprocess.run(
        [sys.executable, "-m", _PROGRAM], env=airflow.asking_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise StagingError(f"Airflow does not say how to reach the staging root's store: {last}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if "problem" in answer:
        raise StagingError(answer["problem"])
    return answer
