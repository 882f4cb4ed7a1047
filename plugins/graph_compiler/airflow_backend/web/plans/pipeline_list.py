"""All compiled pipelines that a user may read, with their shape and runs, in a constant number of queries."""

from __future__ import annotations

from collections import defaultdict

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel, DagTag
from sqlalchemy import select
from sqlalchemy.orm import Session

from graph_compiler.airflow_backend.dag.plan_document import TAG
from graph_compiler.airflow_backend.web.plans.dag_versions import PlanCards, latest_versions
from graph_compiler.airflow_backend.web.runs.dag_runs import outcomes
from graph_compiler.explain.documents.view_answers import PipelineList, PipelineSummary


def may_see_runs(user: BaseUser) -> bool:
    """Whether Airflow's auth manager allows the user to read runs at all, as in Airflow's own list of Dags."""
    return get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.RUN, details=DagDetails(), user=user
    )


def pipeline_list(session: Session, user: BaseUser, cards: PlanCards) -> PipelineList:
    """Return the pipelines by name, except those whose plan cannot be read here."""
    permitted = get_auth_manager().get_authorized_dag_ids(user=user, method="GET", session=session)
    tags: dict[str, list[str]] = defaultdict(list)
    ours = select(DagTag.dag_id).where(DagTag.name == TAG)
    for dag_id, name in session.execute(
        select(DagTag.dag_id, DagTag.name).where(DagTag.dag_id.in_(ours)).order_by(DagTag.name)
    ):
        tags[dag_id].append(name)
    dags = session.execute(
        select(DagModel.dag_id, DagModel.description, DagModel.timetable_summary, DagModel.is_paused)
        .where(DagModel.dag_id.in_(ours), DagModel.is_stale.is_(False))
        .order_by(DagModel.dag_id)
    ).all()
    shown = {row.dag_id: row for row in dags if row.dag_id in permitted}
    versions = latest_versions(session, list(shown))
    are_shown = may_see_runs(user)
    runs = outcomes(session, list(shown)) if are_shown else {}
    known = cards.of(session, versions.values())
    pipelines = tuple(
        PipelineSummary(
            dag_id=dag_id,
            group=card.group,
            pipeline=card.pipeline,
            description=dag.description,
            schedule=dag.timetable_summary,
            is_paused=bool(dag.is_paused),
            tags=tuple(tag for tag in tags[dag_id] if tag != TAG),
            operators=card.operators,
            vertices=card.vertices,
            tasks=len(card.tasks),
            staged=card.staged,
            runs=runs.get(dag_id),
        )
        for dag_id, dag in shown.items()
        if dag_id in versions
        for card in known[versions[dag_id]].values()
    )
    return PipelineList(pipelines=pipelines, runs_are_shown=are_shown)
