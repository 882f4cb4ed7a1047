"""The access to the staging root's store, from the Airflow connection that `staging_conn_id` names.

python -m graph_compiler.airflow_backend.stores.connection_access   →   the access as JSON
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import StagingError
from graph_compiler.object_stores.opening import open_stores_with
from graph_compiler.object_stores.s3_access import S3Access, access_of


def staging_access(conn_id: str | None) -> S3Access:
    """Return what a connection says, the process's own identity for None; its secrets are masked in logs from now on.

    Raises StagingError if there is no such connection, or if it has what we do not support.
    """
    if conn_id is None:
        return S3Access()
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowException:
        raise StagingError(
            f"there is no Airflow connection '{conn_id}', which [graph_compiler] staging_conn_id names"
        ) from None
    for secret in (connection.password, connection.extra_dejson.get("aws_session_token")):
        if secret:
            mask_secret(secret)
    return access_of(conn_id, connection.login, connection.password, connection.extra_dejson)


def root_access(root: str, conn_id: str | None) -> S3Access:
    """Return what Spark needs to reach a staging root: nothing for one on a disk."""
    return S3Access() if local_path(root) is not None else staging_access(conn_id)


def open_stores(conn_id: str | None) -> None:
    """Open object stores in this process as the connection says."""
    open_stores_with(partial(staging_access, conn_id))


def main() -> dict[str, Any]:
    """Return the access of this deployment, or why there is none."""
    try:
        return asdict(staging_access(read_settings().staging_conn_id))
    except StagingError as error:
        return {"problem": str(error)}


if __name__ == "__main__":
    print(json.dumps(main()))
