"""Airflow's own API application with a separate database, and its clients."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

BUNDLE = "testing"
RUN = "manual__2013-01-01T00:00:00+00:00"
WHEN = datetime(2013, 1, 1, tzinfo=UTC)
API = "/graph-compiler/api"


def make_database() -> None:
    """Create the database tables of the home that the environment names."""
    from airflow.utils.db import initdb

    logging.getLogger("alembic").setLevel(logging.ERROR)
    initdb()


def store(dag: Any) -> None:
    """Store a Dag as the Dag processor does: if its runs have tasks and it has changed, as a new version."""
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.models.dagbundle import DagBundleModel
    from airflow.serialization.serialized_objects import LazyDeserializedDAG
    from airflow.utils.session import create_session

    with create_session() as session:
        session.merge(DagBundleModel(name=BUNDLE))
        session.flush()
        dag.relative_fileloc = "dags.py"
        update_dag_parsing_results_in_db(BUNDLE, None, [LazyDeserializedDAG.from_dag(dag)], {}, None, set(), session)


def forget(dag_id: str) -> None:
    """Remove a Dag and its runs: other tests share the database."""
    from airflow.api.common.delete_dag import delete_dag

    delete_dag(dag_id)


def start_run(dag_id: str, run_id: str = RUN, state: str = "running") -> None:
    """Create a run of a stored Dag, with tasks that have not started."""
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    with create_session() as session:
        row = SerializedDagModel.get(dag_id, session=session)
        assert row is not None
        row.dag.create_dagrun(
            run_id=run_id,
            logical_date=None,
            run_after=WHEN,
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.TEST,
            state=DagRunState(state),
            start_date=WHEN,
            session=session,
        )


def set_task(dag_id: str, task_id: str, run_id: str = RUN, *, index: int = -1, **values: Any) -> str:
    """Set columns of the task instance with a map index, and return its id."""
    from airflow.utils.session import create_session

    with create_session() as session:
        task = _task(session, dag_id, task_id, run_id, index)
        for name, value in values.items():
            setattr(task, name, value)
        session.flush()
        return str(UUID(str(task.id)))


def fail_and_wait(dag_id: str, task_id: str, run_id: str = RUN) -> None:
    """Let a task with another try fail as the execution API does: its row goes to the history."""
    from airflow.utils.session import create_session
    from airflow.utils.state import TaskInstanceState

    with create_session() as session:
        task = _task(session, dag_id, task_id, run_id)
        task.end_date = datetime(2013, 1, 1, 0, 1, tzinfo=UTC)
        task.state = TaskInstanceState.FAILED
        task.prepare_db_for_next_try(session)
        task.state = TaskInstanceState.UP_FOR_RETRY


def _task(session: Any, dag_id: str, task_id: str, run_id: str, index: int = -1) -> Any:
    from airflow.models.taskinstance import TaskInstance
    from sqlalchemy import select

    return session.scalars(
        select(TaskInstance).where(
            TaskInstance.dag_id == dag_id,
            TaskInstance.task_id == task_id,
            TaskInstance.run_id == run_id,
            TaskInstance.map_index == index,
        )
    ).one()


def application() -> Any:
    """Return Airflow's application with our plugin from the plugins folder, which reads its settings again."""
    from airflow import plugins_manager
    from airflow.api_fastapi.app import create_app, purge_cached_app

    purge_cached_app()
    plugins_manager._get_plugins.cache_clear()
    plugins_manager.get_fastapi_plugins.cache_clear()
    return create_app(apps="core")


def client(app: Any, role: str | None = None, name: str = "somebody") -> Any:
    """Return a client: anonymous, or a user with a role of Airflow's simple auth manager (`none` has no rights)."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    headers = {}
    if role is not None:
        user = SimpleAuthManagerUser(username=name, role=None if role == "none" else role)
        headers["Authorization"] = f"Bearer {get_auth_manager().generate_jwt(user)}"
    return TestClient(app, headers=headers, raise_server_exceptions=False)


@contextmanager
def counted_queries() -> Iterator[list[str]]:
    """Collect the statements sent to the database."""
    from airflow import settings
    from sqlalchemy import event

    found: list[str] = []

    def add(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        found.append(statement)

    event.listen(settings.engine, "before_cursor_execute", add)
    try:
        yield found
    finally:
        event.remove(settings.engine, "before_cursor_execute", add)


def staging_root() -> Path:
    """Return the root that the server reads."""
    from graph_compiler.airflow_backend.installation.settings import read_settings

    return Path(read_settings().staging_root)
