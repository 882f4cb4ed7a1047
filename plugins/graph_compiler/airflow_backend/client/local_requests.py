"""Requests of a client of runs to this host's Airflow: a separate program, so that its caller does not import Airflow.

Each line of the input is a request, each line of the output its answer, in the form of Airflow's API:

    {"request": "find_run", "dag_id": "flights", "run_id": null}  →  {"answer": {"run": {…}, "tasks": […]}}
    {"request": "fail", "dag_id": "flights", "run_id": "x"}       →  {"status": 404, "detail": "…"}

It calls the functions that Airflow's API calls. Airflow's own command line can neither mark a run as failed nor clear
tasks of a run by its id (decision 51).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any

from airflow.api.common.airflow_health import HEALTHY, get_airflow_health
from airflow.api.common.mark_tasks import set_dag_run_state_to_failed
from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.models.dagbag import DBDagBag
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance, clear_task_instances
from airflow.sdk.exceptions import AirflowException, ParamValidationError
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from sqlalchemy import select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session

Answer = Any
_UNDER_WAY = (TaskInstanceState.RUNNING, TaskInstanceState.DEFERRED, TaskInstanceState.RESTARTING)


class RefusedError(AirflowException):
    """A request is refused; `status` is the one of HTTP."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def find_dag(session: Session, *, dag_id: str) -> Answer:
    """Return a Dag, None if Airflow does not know it, or no longer."""
    found = session.get(DagModel, dag_id)
    if found is None or found.is_stale:
        return None
    return {"is_paused": found.is_paused, "has_import_errors": bool(found.has_import_errors)}


def find_run(session: Session, *, dag_id: str, run_id: str | None) -> Answer:
    """Return a run and its tasks; without an id, the newest run of the Dag."""
    wanted = select(DagRun).where(DagRun.dag_id == dag_id)
    if run_id is not None:
        wanted = wanted.where(DagRun.run_id == run_id)
    run = session.scalar(wanted.order_by(DagRun.run_after.desc(), DagRun.id.desc()).limit(1))
    if run is None:
        return None
    tasks = select(TaskInstance).where(
        TaskInstance.dag_id == dag_id, TaskInstance.run_id == run.run_id
    )
    return {
        "run": {
            "dag_id": run.dag_id,
            "dag_run_id": run.run_id,
            "state": str(run.state),
            "logical_date": _text(run.logical_date),
            "start_date": _text(run.start_date),
            "end_date": _text(run.end_date),
        },
        "tasks": [
            {
                "task_id": task.task_id,
                "map_index": task.map_index,
                "state": None if task.state is None else str(task.state),
                "try_number": task.try_number,
                "start_date": _text(task.start_date),
                "end_date": _text(task.end_date),
            }
            for task in session.scalars(tasks)
        ],
    }


def run_of_date(session: Session, *, dag_id: str, logical_date: str) -> Answer:
    """Return the id of the run with a logical date, None if there is none."""
    date = datetime.fromisoformat(logical_date)
    return session.scalar(
        select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.logical_date == date)
    )


def trigger(
    session: Session, *, dag_id: str, run_id: str, logical_date: str, conf: Mapping[str, object]
) -> Answer:
    """Create a run as Airflow's API does."""
    model = session.get(DagModel, dag_id)
    dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
    if model is None or model.is_stale or dag is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no Dag '{dag_id}'")
    if model.has_import_errors:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"the file of Dag '{dag_id}' cannot be imported")
    if model.allowed_run_types is not None and DagRunType.MANUAL not in model.allowed_run_types:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"Dag '{dag_id}' does not allow manual runs")
    date = datetime.fromisoformat(logical_date)
    try:
        dag.create_dagrun(
            run_id=run_id,
            logical_date=date,
            data_interval=dag.timetable.infer_manual_data_interval(run_after=date),  # type: ignore[arg-type]  # any datetime with a zone will do
            run_after=datetime.now(date.tzinfo),
            conf=dict(conf),
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.CLI,
            state=DagRunState.QUEUED,
            session=session,
        )
        session.flush()
    except (ParamValidationError, ValueError) as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
    except IntegrityError:
        raise RefusedError(
            HTTPStatus.CONFLICT, f"Dag '{dag_id}' has a run with this id or this logical date"
        ) from None


def fail(session: Session, *, dag_id: str, run_id: str) -> Answer:
    """Mark a run as failed: its tasks that run are ended, and the others are skipped."""
    run = _run(session, dag_id, run_id)
    dag = DBDagBag().get_dag_for_run(run, session=session)
    if dag is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"the Dag '{dag_id}' of this run is gone")
    set_dag_run_state_to_failed(dag=dag, run_id=run_id, commit=True, session=session)


def clear(
    session: Session, *, dag_id: str, run_id: str, tasks: Sequence[tuple[str, int]]
) -> Answer:
    """Let exactly these tasks of a run run again."""
    _run(session, dag_id, run_id)
    asked = {(task_id, index) for task_id, index in tasks}
    of_run = select(TaskInstance).where(
        TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id
    )
    found = [one for one in session.scalars(of_run) if (one.task_id, one.map_index) in asked]
    if begun := [one.task_id for one in found if one.state in _UNDER_WAY]:
        raise RefusedError(HTTPStatus.CONFLICT, f"{', '.join(begun)} are still running")
    clear_task_instances(found, session, DagRunState.QUEUED)


def has_scheduler(_: Session) -> Answer:
    """Whether a scheduler is alive."""
    return get_airflow_health()["scheduler"]["status"] == HEALTHY


REQUESTS: Mapping[str, Callable[..., Answer]] = {
    call.__name__: call
    for call in (find_dag, find_run, run_of_date, trigger, fail, clear, has_scheduler)
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, in one transaction."""
    call = REQUESTS[request.pop("request")]
    try:
        with create_session() as session:
            return {"answer": call(session, **request)}
    except RefusedError as error:
        return {"status": error.status, "detail": error.detail}
    except SQLAlchemyError as error:  # without its statement, which has parameters
        reason = str(getattr(error, "orig", None) or type(error).__name__)
        return {"status": HTTPStatus.SERVICE_UNAVAILABLE, "detail": reason}
    except Exception as error:  # what Airflow raises for a broken Dag, for example
        words = f"{type(error).__name__}: {error}"
        return {"status": HTTPStatus.INTERNAL_SERVER_ERROR, "detail": words}


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Airflow prints is no answer
    url = make_url(conf.get("database", "sql_alchemy_conn"))
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):
        raise SystemExit(f"there is no database {url.database}")  # a query would create it
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def _run(session: Session, dag_id: str, run_id: str) -> DagRun:
    wanted = select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)
    found: DagRun | None = session.scalar(wanted)
    if found is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"Dag '{dag_id}' has no run '{run_id}'")
    return found


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


if __name__ == "__main__":
    main()
