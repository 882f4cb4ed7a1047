"""Plans, their versions, and the differences between two, from Airflow's Dag versions."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Query
from fastapi.responses import Response
from sqlalchemy.orm import Session

from graph_compiler.airflow_backend.dag.plan_document import of_group
from graph_compiler.airflow_backend.web.plans.dag_versions import is_ours, latest_versions, read_plan, versions_of
from graph_compiler.airflow_backend.web.plans.pipeline_list import pipeline_list
from graph_compiler.airflow_backend.web.routes.answers import ServerDep, answer, may_read, refuse
from graph_compiler.airflow_backend.web.runs.dag_runs import find_dag_run
from graph_compiler.errors import DescriptorError
from graph_compiler.explain.diff.plan_diff import plan_diff
from graph_compiler.explain.diff.plan_diff_text import diff_json
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.documents.view_answers import PlacedPipeline, PlacedPipelines, PlanVersion, VersionList
from graph_compiler.explain.plan.plan import PlanDocument

_NEWEST = 50
Number = Annotated[int, Query(ge=1, le=2**31 - 1)]
"""A Dag version's number, in the range of the databases' integers."""
router = APIRouter()


@router.get("/api/pipelines")
def pipelines(user: GetUserDep, server: ServerDep, session: SessionDep) -> Response:
    """List the compiled pipelines that the user may read."""
    return answer(plain_json(pipeline_list(session, user, server.cards)))


@router.get("/api/dags/{dag_id}/pipelines", dependencies=[may_read(DagAccessEntity.VERSION)])
def placed(dag_id: str, server: ServerDep, session: SessionDep, run_id: str | None = None) -> Response:
    """List the pipelines in a Dag, by their task groups, as they were in a run, by default in the latest version."""
    if run_id is not None:
        found = find_dag_run(session, dag_id, run_id)
        key = None if found is None else found.version
    else:
        key = latest_versions(session, [dag_id]).get(dag_id) if is_ours(session, dag_id) else None
    cards = {} if key is None else server.cards.of(session, [key])[key]
    pipelines = (PlacedPipeline(group=one.group, pipeline=one.pipeline) for one in cards.values())
    return answer(plain_json(PlacedPipelines(pipelines=tuple(pipelines))))


@router.get("/api/dags/{dag_id}/plan", dependencies=[may_read(DagAccessEntity.VERSION)])
def plan(
    dag_id: str, session: SessionDep, group: str = "", run_id: str | None = None, version: Number | None = None
) -> Response:
    """Return the plan of a run or of a Dag version, by default the latest."""
    if run_id is not None:
        found = find_dag_run(session, dag_id, run_id)
        if found is None:
            refuse(f"there is no run '{run_id}' of '{dag_id}'")
        version = found.run.dag_version
    return answer(dict(_plan(session, dag_id, group, version).view))


@router.get("/api/dags/{dag_id}/versions", dependencies=[may_read(DagAccessEntity.VERSION)])
def versions(dag_id: str, server: ServerDep, session: SessionDep, group: str = "") -> Response:
    """List the newest Dag versions, each with the id of its plan."""
    if not is_ours(session, dag_id):
        refuse(f"there is no compiled pipeline '{dag_id}'")
    found = versions_of(session, dag_id, limit=_NEWEST)
    known = server.cards.of(session, [one.key for one in found if one.key])
    versions = tuple(
        PlanVersion(
            number=one.number,
            created=one.created,
            plan_id=card.plan_id if one.key and (card := of_group(known[one.key], group)) else None,
        )
        for one in found
    )
    return answer(plain_json(VersionList(versions=versions)))


@router.get("/api/dags/{dag_id}/compare", dependencies=[may_read(DagAccessEntity.VERSION)])
def compare(dag_id: str, old: Number, new: Number, session: SessionDep, group: str = "") -> Response:
    """Compare two Dag versions as `graph-compiler diff --json` does."""
    before, now = (_plan(session, dag_id, group, version) for version in (old, new))
    try:
        return answer(dict(diff_json(plan_diff(before.summary(), now.summary()))))
    except DescriptorError as error:
        refuse(str(error))


def _plan(session: Session, dag_id: str, group: str, version: int | None) -> PlanDocument:
    try:
        found = read_plan(session, dag_id, group=group, version=version)
    except DescriptorError as error:
        refuse(str(error))
    if found is None:
        of_version = "" if version is None else f" in version {version}"
        in_group = f" in group '{group}'" if group else ""
        refuse(f"there is no compiled pipeline '{dag_id}'{in_group}{of_version}")
    return found
