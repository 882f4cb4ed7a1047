"""What a task may ask Airflow's public API for; tasks themselves have no way to Airflow's database.

The connection is an HTTP one: host (with `http://` or `https://`, or the schema apart), port, login and password of a
user who may clear the Dag's tasks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException

_SECONDS = 30.0
_SECONDS_TO_LOG_IN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowApi:
    """One run of a Dag, as the API shows it."""

    conn_id: str
    dag_id: str
    run_id: str

    def clear(self, task_ids: Collection[str]) -> None:
        """Have tasks that have succeeded run again; the others will run anyway.

        Raises AirflowException where the API refuses or does not answer.
        """
        try:
            connection: Connection = BaseHook.get_connection(self.conn_id)
            with httpx.Client(base_url=_address(connection), timeout=_SECONDS) as client:
                _log_in(client, connection)
                done = self._succeeded(client)
                if wanted := [task_id for task_id in task_ids if task_id in done]:
                    path = f"/api/v2/dags/{quote(self.dag_id, safe='')}/clearTaskInstances"
                    body = {
                        "dry_run": False,
                        "dag_run_id": self.run_id,
                        "task_ids": wanted,
                        "only_failed": False,
                        "reset_dag_runs": True,
                    }
                    client.post(path, json=body).raise_for_status()
        except httpx.HTTPError as error:
            raise AirflowException(f"Airflow's API ({self.conn_id}): {error}") from None

    def _succeeded(self, client: httpx.Client) -> frozenset[str]:
        dag_id, run_id = quote(self.dag_id, safe=""), quote(self.run_id, safe="")
        found: set[str] = set()
        path, offset = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances", 0
        while True:
            answer = client.get(path, params={"state": "success", "limit": 100, "offset": offset})
            page: dict[str, Any] = answer.raise_for_status().json()
            found |= {instance["task_id"] for instance in page["task_instances"]}
            offset += len(page["task_instances"])
            if not page["task_instances"] or offset >= page["total_entries"]:
                return frozenset(found)


def why_no_login(conn_id: str) -> str | None:
    """Say why nobody can log in by a connection, None where one can; raises AirflowException where there is none."""
    connection: Connection = BaseHook.get_connection(conn_id)
    address = _address(connection)
    try:
        with httpx.Client(base_url=address, timeout=_SECONDS_TO_LOG_IN) as client:
            _log_in(client, connection)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{address}: {error}"
    return None


def _log_in(client: httpx.Client, connection: Connection) -> None:
    credentials = {"username": connection.login, "password": connection.password}
    answer = client.post("/auth/token", json=credentials).raise_for_status()
    client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"


def _address(connection: Connection) -> str:
    host = connection.host or "localhost"
    address = host if "://" in host else f"{connection.schema or 'http'}://{host}"
    return f"{address}:{connection.port}" if connection.port else address
