"""The access to the staging root's store, from the Airflow connection that `staging_conn_id` names.

python -m graph_compiler.airflow_backend.connection_access   →   the access as JSON
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Any

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.declaration.connectors.file_uris import is_in_hdfs, local_path
from graph_compiler.errors import StagingError
from graph_compiler.object_stores.opening import open_stores_with
from graph_compiler.object_stores.s3_access import S3Access, access_of
from graph_compiler.webhdfs.opening import open_hdfs_with
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess, WebHdfsConnection

RootAccess = S3Access | HdfsAccess


def staging_access(conn_id: str | None) -> S3Access:
    """Return what a connection says, the process's own identity for None; its secrets are masked in logs from now on.

    Raises StagingError if there is no such connection, or if it has what we do not support.
    """
    if conn_id is None:
        return S3Access()
    connection = _connection(conn_id)
    for secret in (connection.password, connection.extra_dejson.get("aws_session_token")):
        if secret:
            mask_secret(secret)
    return access_of(conn_id, connection.login, connection.password, connection.extra_dejson)


def hdfs_access(conn_id: str | None) -> HdfsAccess:
    """Return what a connection says of HDFS; for None, the URI's host and the process's own user count.

    Raises StagingError as `staging_access` does.
    """
    if conn_id is None:
        return HdfsAccess()
    found = _connection(conn_id)
    if found.password:
        mask_secret(found.password)
    return WebHdfsConnection(
        conn_id=conn_id,
        type=found.conn_type or "",
        host=found.host,
        port=found.port,
        login=found.login,
        password=found.password,
        extra=found.extra_dejson,
    ).access()


def root_access(root: str, conn_id: str | None) -> RootAccess:
    """Return what Spark needs to reach a staging root: nothing for one on a disk."""
    if local_path(root) is not None:
        return S3Access()
    return hdfs_access(conn_id) if is_in_hdfs(root) else staging_access(conn_id)


def open_stores(root: str, conn_id: str | None) -> None:
    """Open the stores of places that are not on a disk in this process; the connection is that of the root."""
    open_stores_with(partial(staging_access, None if is_in_hdfs(root) else conn_id))
    open_hdfs_with(partial(hdfs_access, conn_id if is_in_hdfs(root) else None))


def _connection(conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowException:
        raise StagingError(
            f"there is no Airflow connection '{conn_id}', which [graph_compiler] staging_conn_id names"
        ) from None


def main() -> dict[str, Any]:
    """Return the access of this deployment, or why there is none."""
    try:
        settings = read_settings()
        conn_id = settings.staging_conn_id
        is_hdfs = is_in_hdfs(settings.staging_root)
        return asdict(hdfs_access(conn_id) if is_hdfs else staging_access(conn_id))
    except StagingError as error:
        return {"problem": str(error)}


if __name__ == "__main__":
    print(json.dumps(main()))
