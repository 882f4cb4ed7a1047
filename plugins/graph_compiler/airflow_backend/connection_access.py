"""The access to the staging root's store, from the Airflow connection that `staging_conn_id` names.

python -m graph_compiler.airflow_backend.connection_access   →   the connection as JSON
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
from graph_compiler.errors import StagingError
from graph_compiler.staging.store.store_access import RootAccess, StoreAccess, StoreConnection

_SECRET = "token"
"""Part of the names of fields in a connection's extra that are masked in logs, as its password is."""


def root_access(root: str, conn_id: str | None) -> StoreAccess:
    """Return what Spark needs to reach a staging root: nothing for one on a disk. Raises StagingError."""
    return _access(root, conn_id).to_root()


def open_stores(root: str, conn_id: str | None) -> None:
    """Open the stores of places that are not on a disk in this process; the connection is that of the root."""
    _access(root, conn_id).open_stores()


def _access(root: str, conn_id: str | None) -> RootAccess:
    return RootAccess(root=lambda: root, connection=partial(store_connection, conn_id))


def store_connection(conn_id: str | None) -> StoreConnection | None:
    """Return a connection, None for None; its secrets are masked in logs from now on.

    Raises StagingError if there is no such connection.
    """
    if conn_id is None:
        return None
    try:
        found = BaseHook.get_connection(conn_id)
    except AirflowException:
        raise StagingError(
            f"there is no Airflow connection '{conn_id}', which [graph_compiler] staging_conn_id names"
        ) from None
    extra = found.extra_dejson
    for secret in (found.password, *(value for name, value in extra.items() if _SECRET in name)):
        if secret:
            mask_secret(secret)
    return StoreConnection(
        conn_id=conn_id,
        type=found.conn_type or "",
        host=found.host,
        port=found.port,
        login=found.login,
        password=found.password,
        extra=extra,
    )


def main() -> dict[str, Any]:
    """Return the connection of this deployment, nothing if it has none, or why it cannot be read."""
    try:
        found = store_connection(read_settings().staging_conn_id)
    except StagingError as error:
        return {"problem": str(error)}
    return {} if found is None else asdict(found)


if __name__ == "__main__":
    print(json.dumps(main()))
