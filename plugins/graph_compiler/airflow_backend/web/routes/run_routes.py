"""Runs, and the documents of a run's attempts, from Airflow's database and the staging root."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Header
from fastapi.responses import Response

from graph_compiler.airflow_backend.web.plans.dag_versions import is_ours
from graph_compiler.airflow_backend.web.routes.answers import (
    AskedRunDep,
    ServerDep,
    answer,
    may_also_read,
    may_read,
    refuse,
)
from graph_compiler.airflow_backend.web.rows.row_permission import may_see_rows
from graph_compiler.airflow_backend.web.rows.staged_files import find_result
from graph_compiler.airflow_backend.web.runs.attempts import read_documents
from graph_compiler.airflow_backend.web.runs.dag_runs import Links, newest_runs
from graph_compiler.airflow_backend.web.runs.joined_run import joined_run, without_reasons
from graph_compiler.errors import StagingError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.documents.view_answers import RunList

_NEWEST = 50
router = APIRouter()


@router.get("/api/dags/{dag_id}/runs", dependencies=[may_read(DagAccessEntity.RUN)])
def runs(dag_id: str, session: SessionDep) -> Response:
    """List the newest runs."""
    if not is_ours(session, dag_id):
        refuse(f"there is no compiled pipeline '{dag_id}'")
    return answer(plain_json(RunList(runs=tuple(newest_runs(session, dag_id, limit=_NEWEST)))))


@router.get("/api/dags/{dag_id}/run", dependencies=[may_read(DagAccessEntity.TASK_INSTANCE)])
def run(  # FastAPI passes these
    dag_id: str,
    asked: AskedRunDep,
    server: ServerDep,
    session: SessionDep,
    user: GetUserDep,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return the current state of a run; 304 if nothing has changed since the browser's last request."""
    view = joined_run(
        asked.identity,
        asked.found,
        asked.card.plan_id if asked.card else None,
        asked.card.tasks if asked.card else {},
        server.reads(lambda: read_documents(server.layout(asked.identity))),
        Links(history_server=server.settings.history_server),
    )
    are_shown = may_also_read(user, dag_id, DagAccessEntity.TASK_LOGS, session)
    return answer(plain_json(view if are_shown else without_reasons(view)), if_none_match)


@router.get("/api/dags/{dag_id}/result", dependencies=[may_read(DagAccessEntity.TASK_INSTANCE)])
def result(asked: AskedRunDep, result: str, server: ServerDep, user: GetUserDep) -> Response:
    """Return schema and size of a staged result's last commit, and whether this user may ask for rows."""
    are_shown = server.settings.row_samples > 0 and may_see_rows(user)
    try:
        layout = server.layout(asked.identity)
        found = server.reads(lambda: find_result(layout, result, rows_are_shown=are_shown))
    except (OSError, StagingError) as error:
        refuse(f"the result cannot be read here: {error}")
    if found is None:
        refuse(f"run '{asked.identity.run_id}' has committed no result '{result}' that this server can see")
    return answer(plain_json(found))
