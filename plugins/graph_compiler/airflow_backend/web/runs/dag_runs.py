"""Runs and the tries of their tasks, from Airflow's database, in a constant number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from airflow.models.dag import DagTag
from airflow.models.dag_version import DagVersion
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.taskinstancehistory import TaskInstanceHistory
from airflow.utils.state import DagRunState
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from graph_compiler.airflow_backend.dag.plan_document import TAG
from graph_compiler.airflow_backend.web.plans.dag_versions import VersionKey
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.explain.documents.view_answers import DagOutcomes, LastRun, RunSummary
from graph_compiler.identifiers import TaskId, TaskName

_RUNNING, _QUEUED, _ENDED = range(3)
_NEWEST_ENDED = 10
"""The number of ended runs of each Dag by which the list shows success and duration."""
_VERSION = (DagVersion.version_number, DagVersion.id, SerializedDagModel.dag_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWithTries:
    """A run, its plan's version, and every try of each task, oldest first."""

    run: RunSummary
    version: VersionKey | None
    tries: tuple[TryRow, ...]

    def map_indexes(self, identity: RunIdentity, tasks: Collection[TaskName]) -> tuple[int, ...]:
        """Return the map indexes of a pipeline's `tasks`, of all its instances; none if its group is not mapped."""
        rows = (row for row in self.tries if identity.task_name(row.task_id) in tasks)
        return tuple(sorted({row.map_index for row in rows} - {NOT_MAPPED}))


@dataclass(frozen=True, slots=True, kw_only=True)
class TryRow:
    """A try of a task; `is_current` marks the task's current row, also while it waits for the next try."""

    task_id: TaskId
    map_index: int
    execution_id: str
    try_number: int
    state: str | None
    queued: float | None
    started: float | None
    ended: float | None
    host: str | None
    is_current: bool


def newest_runs(session: Session, dag_id: str, *, limit: int) -> list[RunSummary]:
    """Return the runs of a Dag, newest first, with two queries."""
    wanted = (
        select(DagRun, DagVersion.version_number)
        .join(DagVersion, DagVersion.id == DagRun.created_dag_version_id, isouter=True)
        .where(DagRun.dag_id == dag_id)
        .order_by(DagRun.run_after.desc(), DagRun.id.desc())
        .limit(limit)
    )
    found = session.execute(wanted).all()
    versions = _versions(session, dag_id, [run.run_id for run, _ in found])
    return [_run(run, versions.get(run.run_id, created_in)) for run, created_in in found]


def find_dag_run(session: Session, dag_id: str, run_id: str) -> RunWithTries | None:
    """Return one run of a compiled pipeline, None if it does not exist, with three queries."""
    tagged = select(DagTag.dag_id).where(DagTag.dag_id == dag_id, DagTag.name == TAG)
    found = session.execute(
        select(DagRun, *_VERSION)
        .join(DagVersion, DagVersion.id == DagRun.created_dag_version_id, isouter=True)
        .join(SerializedDagModel, SerializedDagModel.dag_version_id == DagVersion.id, isouter=True)
        .where(DagRun.dag_id == dag_id, DagRun.run_id == run_id, tagged.exists())
    ).first()
    if found is None:
        return None
    run, *created_in = found
    earlier = session.execute(
        select(*_columns(TaskInstanceHistory, TaskInstanceHistory.task_instance_id)).where(
            TaskInstanceHistory.dag_id == dag_id, TaskInstanceHistory.run_id == run_id
        )
    ).all()
    current = session.execute(
        select(*_columns(TaskInstance, TaskInstance.id), *_VERSION)
        .join(DagVersion, DagVersion.id == TaskInstance.dag_version_id, isouter=True)
        .join(SerializedDagModel, SerializedDagModel.dag_version_id == DagVersion.id, isouter=True)
        .where(TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id)
    ).all()
    of_tasks = [tuple(row[-len(_VERSION) :]) for row in current if row[-len(_VERSION)] is not None]
    newest: tuple[Any, ...] = max(of_tasks, default=tuple(created_in), key=lambda one: one[0])
    number, id, hash = newest
    tries = [_try(*row, is_current=False) for row in earlier]
    tries += [_try(*row[: -len(_VERSION)], is_current=True) for row in current]
    return RunWithTries(
        run=_run(run, number),
        version=(id, hash) if hash else None,
        tries=tuple(sorted(tries, key=lambda row: (row.task_id, row.is_current, row.try_number))),
    )


def outcomes(session: Session, dag_ids: Collection[str]) -> Mapping[str, DagOutcomes]:
    """Return what the runs of each Dag are doing, with one query; a Dag without runs has the empty answer."""
    kind = case(
        (DagRun.state == DagRunState.RUNNING, _RUNNING), (DagRun.state == DagRunState.QUEUED, _QUEUED), else_=_ENDED
    ).label("kind")
    same = (DagRun.dag_id, kind)
    ranked = (
        select(
            DagRun.id,
            kind,
            func.row_number().over(partition_by=same, order_by=DagRun.id.desc()).label("place"),
            func.count().over(partition_by=same).label("count"),
        )
        .where(DagRun.dag_id.in_(dag_ids))
        .subquery()
    )
    most = case((ranked.c.kind == _ENDED, _NEWEST_ENDED), else_=1)
    rows = session.execute(
        select(DagRun, ranked.c.kind, ranked.c["count"])
        .join(ranked, ranked.c.id == DagRun.id)
        .where(ranked.c.place <= most)
        .order_by(DagRun.id.desc())
    ).all()
    found: dict[str, dict[int, list[LastRun]]] = {id: defaultdict(list) for id in dag_ids}
    counts: dict[tuple[str, int], int] = {}
    for run, of_kind, count in rows:
        found[run.dag_id][of_kind].append(_last_run(run))
        counts[run.dag_id, of_kind] = int(count)
    return {
        id: DagOutcomes(
            last_run=next(iter([*runs[_RUNNING], *runs[_ENDED], *runs[_QUEUED]]), None),
            running=counts.get((id, _RUNNING), 0),
            queued=counts.get((id, _QUEUED), 0),
            ended=tuple(runs[_ENDED]),
        )
        for id, runs in found.items()
    }


def _last_run(run: DagRun) -> LastRun:
    return LastRun(
        run_id=run.run_id,
        state=str(run.state),
        run_type=str(run.run_type),
        queued=_seconds(run.queued_at),
        started=_seconds(run.start_date),
        ended=_seconds(run.end_date),
    )


def _columns(table: type[TaskInstance | TaskInstanceHistory], id: Any) -> tuple[Any, ...]:
    return (
        table.task_id,
        table.map_index,
        id,
        table.try_number,
        table.state,
        table.queued_dttm,
        table.start_date,
        table.end_date,
        table.hostname,
    )


def _try(  # noqa: PLR0913, PLR0917  # a row of `_columns`
    task_id: str,
    map_index: int,
    id: UUID,
    number: int,
    state: str | None,
    queued: datetime | None,
    began: datetime | None,
    ended: datetime | None,
    host: str | None,
    *,
    is_current: bool,
) -> TryRow:
    return TryRow(
        task_id=TaskId(task_id),
        map_index=map_index,
        execution_id=str(id),
        try_number=number,
        state=None if state is None else str(state),
        queued=_seconds(queued),
        started=_seconds(began),
        ended=_seconds(ended),
        host=host or None,
        is_current=is_current,
    )


def _versions(session: Session, dag_id: str, run_ids: Collection[str]) -> Mapping[str, int]:
    """Return the newest Dag version among each run's tasks: a cleared task gets the current version."""
    wanted = (
        select(TaskInstance.run_id, func.max(DagVersion.version_number))
        .join(DagVersion, DagVersion.id == TaskInstance.dag_version_id)
        .where(TaskInstance.dag_id == dag_id, TaskInstance.run_id.in_(run_ids))
        .group_by(TaskInstance.run_id)
    )
    return {run_id: int(number) for run_id, number in session.execute(wanted)}


def _run(run: DagRun, version: int | None) -> RunSummary:
    return RunSummary(
        run_id=run.run_id,
        state=str(run.state),
        run_type=str(run.run_type),
        logical_date=None if run.logical_date is None else run.logical_date.isoformat(),
        queued=_seconds(run.queued_at),
        started=_seconds(run.start_date),
        ended=_seconds(run.end_date),
        dag_version=version,
    )


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Links to the attempts of a run. Airflow's pages are relative to the address at which Airflow is served."""

    history_server: str | None

    def log(self, run: RunIdentity, name: TaskName, try_number: int) -> str:
        """Return the page of the log of a task in Airflow's UI."""
        page = task_page(run.dag_id, run.run_id, run.task_id(name), run.map_index)
        return f"{page}?try_number={try_number}"

    def spark(self, application_id: str | None, live: str | None) -> str | None:
        """Return Spark's UI while it runs, then its page of the history server, if one is configured."""
        if live is not None and live.startswith(("http://", "https://")):
            return live
        if self.history_server is None or application_id is None:
            return None
        return f"{self.history_server.rstrip('/')}/history/{_quoted(application_id)}/jobs/"


def run_page(dag_id: str, run_id: str) -> str:
    """Return the page of a run in Airflow's UI."""
    return f"/dags/{_quoted(dag_id)}/runs/{_quoted(run_id)}"


def task_page(dag_id: str, run_id: str, task_id: str, map_index: int) -> str:
    """Return the page of a task in a run."""
    mapped = "" if map_index == NOT_MAPPED else f"/mapped/{map_index}"
    return f"{run_page(dag_id, run_id)}/tasks/{_quoted(task_id)}{mapped}"


def _quoted(name: str) -> str:
    """Return a name quoted for a URL, whatever characters it has."""
    return quote(name, safe="", errors="replace")
