"""Start a run exactly once, also if the answer to the request is lost."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, date, datetime
from http import HTTPStatus

from graph_compiler.errors import ParameterError
from graph_compiler.run_client.airflow_end import AirflowEnd, Trigger
from graph_compiler.run_client.refusals import (
    AirflowRefusedError,
    AirflowUnreachableError,
    RunStateError,
)

TRIES = 4
SECONDS_BETWEEN_TRIES = 2.0


def new_run_id(named_after: str) -> str:
    """Return a run id that no other run has, also if another client starts one at the same time."""
    return f"manual__{named_after}__{secrets.token_hex(4)}"


def moment_of(day: str | None) -> tuple[str, str]:
    """Return a logical date in ISO form, and what the run's id is named after; without a day, now.

    Raises ParameterError for text that is not a day.
    """
    if day is None:
        now = datetime.now(UTC)
        return now.isoformat(), now.isoformat(timespec="seconds")
    try:
        found = date.fromisoformat(day)
    except ValueError:
        raise ParameterError(f"the date is '{day}'\n  allowed: a day, such as 2013-01-01") from None
    return datetime(found.year, found.month, found.day, tzinfo=UTC).isoformat(), found.isoformat()


def trigger(end: AirflowEnd, wanted: Trigger, pause: Callable[[float], None]) -> None:
    """Start a run. If no answer comes, look whether it is there before asking again.

    Raises AirflowUnreachableError if that cannot be found out, RunStateError if another run has its id or its date.
    """
    lost: AirflowUnreachableError | None = None
    for _ in range(TRIES):
        try:
            end.trigger(wanted)
            return
        except AirflowUnreachableError as error:
            lost = error
            pause(SECONDS_BETWEEN_TRIES)
            if _is_there(end, wanted):
                return
        except AirflowRefusedError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            if lost is not None and _is_there(end, wanted):
                return
            raise _conflict(end, wanted) from None
    raise AirflowUnreachableError(
        f"{lost}\n  hint: it is not known whether run '{wanted.run_id}' of '{wanted.dag_id}' was started; its "
        "status shows it, when Airflow answers again"
    )


def _is_there(end: AirflowEnd, wanted: Trigger) -> bool:
    try:
        return end.find_run(wanted.dag_id, wanted.run_id) is not None
    except AirflowUnreachableError:
        return False


def _conflict(end: AirflowEnd, wanted: Trigger) -> RunStateError:
    other = end.run_of_date(wanted.dag_id, wanted.logical_date)
    if other is None or other == wanted.run_id:
        return RunStateError(f"Dag '{wanted.dag_id}' already has a run '{wanted.run_id}'")
    return RunStateError(
        f"Dag '{wanted.dag_id}' already has a run of {wanted.logical_date}: '{other}'\n"
        "  hint: Airflow allows one run for each date. Resume it if it failed; to run the date again, clear or "
        "delete that run in Airflow's UI"
    )
