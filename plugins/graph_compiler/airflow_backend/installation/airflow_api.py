"""Requests of a task to Airflow's public API; tasks have no access to Airflow's database.

The connection is an HTTP one: host (with `http://` or `https://`, or a separate schema), port, and the login and
password of a user who may clear the Dag's tasks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.identifiers import TaskId

_SECONDS = 30.0
_SECONDS_TO_LOG_IN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearedTask:
    """A task to be cleared: the instance with a map index, or all instances if that is None."""

    task_id: TaskId
    map_index: int | None

    def is_among(self, instances: Collection[tuple[TaskId, int]]) -> bool:
        """Whether it includes one of these task instances, each with its map index."""
        return any(task_id == self.task_id and self.map_index in (None, index) for task_id, index in instances)

    @property
    def in_request(self) -> str | list[str | int]:
        """Return it in the form of the API."""
        if self.map_index is None or self.map_index == NOT_MAPPED:
            return self.task_id
        return [self.task_id, self.map_index]


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowApi:
    """Airflow's API for one run."""

    conn_id: str
    run: RunIdentity

    def clear(self, tasks: Collection[ClearedTask]) -> None:
        """Clear tasks that have succeeded; the others will run anyway.

        Raises AirflowException if the API refuses or does not answer.
        """
        try:
            connection: Connection = BaseHook.get_connection(self.conn_id)
            with httpx.Client(base_url=_address(connection), timeout=_SECONDS) as client:
                _log_in(client, connection)
                done = self._succeeded(client)
                if wanted := [task.in_request for task in tasks if task.is_among(done)]:
                    path = f"/api/v2/dags/{quote(self.run.dag_id, safe='')}/clearTaskInstances"
                    body = {
                        "dry_run": False,
                        "dag_run_id": self.run.run_id,
                        "task_ids": wanted,
                        "only_failed": False,
                        "reset_dag_runs": True,
                    }
                    client.post(path, json=body).raise_for_status()
        except httpx.HTTPError as error:
            raise AirflowException(f"Airflow's API ({self.conn_id}): {error}") from None

    def _succeeded(self, client: httpx.Client) -> frozenset[tuple[TaskId, int]]:
        dag_id, run_id = quote(self.run.dag_id, safe=""), quote(self.run.run_id, safe="")
        found: set[tuple[TaskId, int]] = set()
        path, offset = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances", 0
        while True:
            answer = client.get(path, params={"state": "success", "limit": 100, "offset": offset})
            page: dict[str, Any] = answer.raise_for_status().json()
            found |= {(TaskId(one["task_id"]), one["map_index"]) for one in page["task_instances"]}
            offset += len(page["task_instances"])
            if not page["task_instances"] or offset >= page["total_entries"]:
                return frozenset(found)


def why_no_login(conn_id: str) -> str | None:
    """Return why a login by a connection fails, None if it works; raises AirflowException if there is no connection."""
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
