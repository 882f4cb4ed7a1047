"""Airflow's facts about an installation: a separate program, so that its caller does not import Airflow.

python -m graph_compiler.airflow_backend.installation.health_report   →   {"Airflow": {"value": "3.3.2"}, …}

They have the names of `graph-compiler doctor`'s questions. Facts are independent: if one fails, the others are still
reported. The report has no password.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import airflow
from airflow import plugins_manager
from airflow.api.common.airflow_health import HEALTHY, get_airflow_health
from airflow.configuration import conf
from airflow.models.dag import DagModel, DagTag
from airflow.models.pool import Pool
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import BaseHook
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import func, inspect, select

from graph_compiler.airflow_backend.dag.plan_document import TAG
from graph_compiler.airflow_backend.installation.airflow_api import why_no_login
from graph_compiler.airflow_backend.installation.settings import DEFAULT_CONN_ID, read_settings
from graph_compiler.errors import ConfigurationError
from graph_compiler.projects.airflow_configuration import SECTION


def _plugin() -> dict[str, Any]:
    """Return the names of the loaded plugins, and by file the reasons why others were not loaded."""
    loaded = [str(found["name"]) for found in plugins_manager.get_plugin_info(["name"])]
    return {"loaded": loaded, "errors": dict(plugins_manager.get_import_errors())}


def _settings() -> dict[str, Any]:
    """Return our section of Airflow's configuration."""
    return {"staging_root": read_settings().staging_root}


def _spark_connection() -> dict[str, Any]:
    """Return the cluster of the Spark connection; of its extras, only the deploy mode."""
    conn_id = conf.get(SECTION, "conn_id", fallback=DEFAULT_CONN_ID)
    try:
        connection = BaseHook.get_connection(conn_id)
    except Exception as error:  # a secrets backend may raise any exception
        return {"conn_id": conn_id, "problem": str(error)}
    return {
        "conn_id": conn_id,
        "problem": None,
        "type": connection.conn_type,
        "host": connection.host,
        "port": connection.port,
        "deploy_mode": connection.extra_dejson.get("deploy-mode"),
    }


def _api_connection() -> dict[str, Any]:
    """Return why a login to Airflow's API by its connection fails; None if it works, or there is none."""
    conn_id = conf.get(SECTION, "api_conn_id", fallback=None)
    return {"conn_id": conn_id, "problem": why_no_login(conn_id) if conn_id else None}


def _pools() -> dict[str, Any]:
    """Return the pools that tasks of our Dags name, with the tasks of those that do not exist."""
    with create_session() as session:
        if not inspect(session.get_bind()).has_table(Pool.__tablename__):
            return {"dags": 0, "named": [], "missing": {}}  # there is no database yet
        known = set(session.scalars(select(Pool.pool)))
        ours = select(DagTag.dag_id).where(DagTag.name == TAG)
        wanted = DagModel.dag_id.in_(ours), DagModel.is_stale.is_(False)
        dag_ids = list(session.scalars(select(DagModel.dag_id).where(*wanted)))
        rows = SerializedDagModel.get_latest_serialized_dags(dag_ids=dag_ids, session=session)
        named: dict[str, list[str]] = {}
        for row in rows:
            for task in (row.data or {}).get("dag", {}).get("tasks", []):
                facts = task.get("__var", task)
                if pool := facts.get("pool") or facts.get("partial_kwargs", {}).get("pool"):
                    named.setdefault(str(pool), []).append(f"{row.dag_id}.{facts['task_id']}")
    missing = {pool: sorted(tasks) for pool, tasks in sorted(named.items()) if pool not in known}
    return {"dags": len(dag_ids), "named": sorted(named), "missing": missing}


def _triggerer() -> dict[str, Any]:
    """Return whether a triggerer runs, whether tasks defer by default, and how many of our tasks wait for one."""
    with create_session() as session:
        has_tables = inspect(session.get_bind()).has_table(TaskInstance.__tablename__)
        ours = select(DagTag.dag_id).where(DagTag.name == TAG)
        waiting = select(func.count()).where(
            TaskInstance.dag_id.in_(ours), TaskInstance.state == TaskInstanceState.DEFERRED
        )
        return {
            "is_alive": has_tables and get_airflow_health()["triggerer"]["status"] == HEALTHY,
            "is_default": conf.getboolean("operators", "default_deferrable", fallback=False),
            "waiting": session.scalar(waiting) if has_tables else 0,
        }


FACTS: Mapping[str, Callable[[], Any]] = {
    "Airflow": lambda: airflow.__version__,
    "plugin": _plugin,
    "settings": _settings,
    "Spark connection": _spark_connection,
    "API connection": _api_connection,
    "pools": _pools,
    "triggerer": _triggerer,
}


def health_report() -> dict[str, dict[str, Any]]:
    """Return every fact: its value, or its error."""
    return {name: _found(find) for name, find in FACTS.items()}


def _found(find: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": find()}
    except ConfigurationError as error:
        return {"error": error.summary}
    except Exception as error:  # the next fact is reported in any case
        return {"error": str(error) or type(error).__name__}


if __name__ == "__main__":
    print(json.dumps(health_report()))
