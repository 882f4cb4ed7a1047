"""The plans in Airflow's Dag versions, from its database. Each process reads the plan of a version once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from airflow.models.dag import DagTag
from airflow.models.dag_version import DagVersion
from airflow.models.serialized_dag import SerializedDagModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from graph_compiler.airflow_backend.dag.plan_document import TAG, find_plans, of_group
from graph_compiler.errors import DescriptorError
from graph_compiler.explain.plan.plan import PlanDocument
from graph_compiler.identifiers import RegionId, TaskName

VersionKey: TypeAlias = tuple[UUID, str]
"""A Dag version, and the hash of its content: Airflow may replace the content of a version without task runs."""
_KEPT = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCard:
    """The parts of a plan that a list shows; `tasks` with their regions. `group` is the path of its task group."""

    group: str
    pipeline: str
    plan_id: str | None
    operators: int
    vertices: int
    tasks: Mapping[TaskName, Sequence[RegionId]]
    staged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOfDag:
    """A Dag version; `key` is None if Airflow no longer has its serialized Dag."""

    number: int
    created: float
    key: VersionKey | None


def is_ours(session: Session, dag_id: str) -> bool:
    """Whether a Dag is a compiled pipeline."""
    tagged = select(DagTag.dag_id).where(DagTag.dag_id == dag_id, DagTag.name == TAG)
    return session.scalar(tagged) is not None


def read_plan(session: Session, dag_id: str, *, group: str = "", version: int | None = None) -> PlanDocument | None:
    """Return the plan of a group in a Dag version, by default the latest; None if it is not a compiled pipeline.

    Raises DescriptorError if another version of this program wrote it.
    """
    wanted = (
        select(SerializedDagModel)
        .join(DagVersion, DagVersion.id == SerializedDagModel.dag_version_id)
        .where(DagVersion.dag_id == dag_id)
        .order_by(DagVersion.version_number.desc())
        .limit(1)
    )
    if version is not None:
        wanted = wanted.where(DagVersion.version_number == version)
    found = session.scalar(wanted)
    return None if found is None else of_group(find_plans(found.data), group)


def versions_of(session: Session, dag_id: str, *, limit: int) -> list[VersionOfDag]:
    """Return the versions of a Dag, newest first."""
    wanted = (
        select(DagVersion.version_number, DagVersion.created_at, DagVersion.id, SerializedDagModel.dag_hash)
        .join(SerializedDagModel, SerializedDagModel.dag_version_id == DagVersion.id, isouter=True)
        .where(DagVersion.dag_id == dag_id)
        .order_by(DagVersion.version_number.desc())
        .limit(limit)
    )
    return [
        VersionOfDag(number=number, created=created.timestamp(), key=(id, hash) if hash else None)
        for number, created, id, hash in session.execute(wanted)
    ]


def latest_versions(session: Session, dag_ids: Collection[str]) -> dict[str, VersionKey]:
    """Return the latest version of each Dag that has one."""
    newest = (
        select(DagVersion.dag_id, func.max(DagVersion.version_number).label("number"))
        .where(DagVersion.dag_id.in_(dag_ids))
        .group_by(DagVersion.dag_id)
        .subquery()
    )
    wanted = (
        select(DagVersion.dag_id, DagVersion.id, SerializedDagModel.dag_hash)
        .join(newest, (newest.c.dag_id == DagVersion.dag_id) & (newest.c.number == DagVersion.version_number))
        .join(SerializedDagModel, SerializedDagModel.dag_version_id == DagVersion.id)
    )
    return {dag_id: (id, hash) for dag_id, id, hash in session.execute(wanted)}


Cards: TypeAlias = Mapping[str, PlanCard]
"""The cards of a Dag version, by the group path of their pipelines."""


class PlanCards:
    """The cards of versions, cached by the version's content; one query for all that are not cached."""

    def __init__(self) -> None:
        self._known: dict[VersionKey, Cards] = {}

    def of(self, session: Session, keys: Iterable[VersionKey]) -> Mapping[VersionKey, Cards]:
        """Return the cards of each version; none if it has no plan that this version of the program can read."""
        known, wanted = self._known, list(dict.fromkeys(keys))
        if unknown := {id: (id, hash) for id, hash in wanted if (id, hash) not in known}:
            rows = session.scalars(
                select(SerializedDagModel).where(SerializedDagModel.dag_version_id.in_(list(unknown)))
            )
            read = {unknown[row.dag_version_id]: _cards(row) for row in rows}
            # Keep this request's cards even if the cache drops them, since other requests run in parallel.
            self._known = read if len(known) + len(read) > _KEPT else known | read
            known = known | read
        return {key: known.get(key, {}) for key in wanted}


def _cards(row: SerializedDagModel) -> Cards:
    try:
        plans = find_plans(row.data)
        return {group: _card_of(group, plan) for group, plan in plans.items()}
    except (DescriptorError, LookupError, TypeError, AttributeError):
        return {}  # a Dag may contain anything, and must not hide the others


def _card_of(group: str, plan: PlanDocument) -> PlanCard:
    return PlanCard(
        group=group,
        pipeline=str(plan.view["pipeline"]),
        plan_id=plan.view["plan_id"],
        operators=len(plan.view["operators"]),
        vertices=len(plan.view["vertices"]),
        tasks=plan.tasks(),
        staged=len(plan.staged()),
    )
