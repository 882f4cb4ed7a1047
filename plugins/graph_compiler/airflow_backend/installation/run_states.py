"""Airflow's states of runs, from its metadata database: a separate program, so that its caller does not import Airflow.

python -m graph_compiler.airflow_backend.installation.run_states < '[run, …]'   →   ["success", "running", null, …]

The input is a list of run identities; the output is a state for each, null for a run that Airflow does not know. For a
run that is only a part of a Dag's run, only the task instances of that part count: the others may continue, or fail,
without it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from airflow.configuration import conf
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, State, TaskInstanceState
from sqlalchemy import select
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.deployment.documents.wire import from_wire
from graph_compiler.identifiers import TaskId

_AT_ONCE = 500
"""The number of runs in one query: databases limit the number of values."""
_FAILED = (TaskInstanceState.FAILED, TaskInstanceState.UPSTREAM_FAILED)
TaskRow = tuple[TaskId, int, str | None]
"""A task instance: the task's id, its map index, its state."""


def run_states(runs: Sequence[RunIdentity]) -> list[str | None]:
    """Return the state of each run, None for one that Airflow does not know; raises the database's errors."""
    url = make_url(conf.get("database", "sql_alchemy_conn"))
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):
        raise FileNotFoundError(f"there is no database {url.database}")  # a query would create an empty one
    dag_ids = {run.dag_id for run in runs}
    wanted = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(DagRun.dag_id.in_(dag_ids))
    with create_session() as session:
        known = {(dag_id, run_id): str(state) for dag_id, run_id, state in session.execute(wanted)}
        parts = [run for run in runs if not run.is_whole_dag and (run.dag_id, run.run_id) in known]
        tasks = _tasks(session, parts)
    found = ((run, known.get((run.dag_id, run.run_id))) for run in runs)
    return [
        state if state is None or run.is_whole_dag else state_of_part(run, state, tasks[run.dag_id, run.run_id])
        for run, state in found
    ]


def state_of_part(run: RunIdentity, whole: str, tasks: Iterable[TaskRow]) -> str:
    """Return the state of a run that is a part of a Dag's run, whose state is `whole`, by the part's task instances.

    Unexpanded tasks have no map index, and may still become tasks of this run.
    """
    ours = [row for row in tasks if run.task_name(row[0]) is not None]
    own = [state for _, index, state in ours if index == run.map_index]
    waits = [state for _, index, state in ours if index in (run.map_index, NOT_MAPPED)]
    is_over = bool(own) and all(state in State.finished for state in waits)
    if whole in State.unfinished_dr_states and not is_over:
        return DagRunState.RUNNING.value
    return DagRunState.FAILED.value if any(state in _FAILED for state in own) else DagRunState.SUCCESS.value


def _tasks(session: Session, runs: Collection[RunIdentity]) -> defaultdict[tuple[str, str], list[TaskRow]]:
    """Return all task instances of the Dag runs that some runs are parts of."""
    found = defaultdict[tuple[str, str], list[TaskRow]](list)
    run_ids = defaultdict[str, dict[str, None]](dict)
    for run in runs:
        run_ids[run.dag_id][run.run_id] = None
    columns = (TaskInstance.run_id, TaskInstance.task_id, TaskInstance.map_index, TaskInstance.state)
    for dag_id, of_dag in run_ids.items():
        ids = list(of_dag)
        for begin in range(0, len(ids), _AT_ONCE):
            wanted = select(*columns).where(
                TaskInstance.dag_id == dag_id, TaskInstance.run_id.in_(ids[begin : begin + _AT_ONCE])
            )
            for run_id, task_id, map_index, state in session.execute(wanted):
                row = (TaskId(task_id), map_index, None if state is None else str(state))
                found[dag_id, run_id].append(row)
    return found


if __name__ == "__main__":
    asked = [from_wire(RunIdentity, run) for run in json.load(sys.stdin)]
    print(json.dumps(run_states(asked)))
