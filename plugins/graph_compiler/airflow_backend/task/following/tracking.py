"""Find the application of a driver on another host again, after the task's process has died.

The provider keeps the application's id in Airflow's task state store before it waits for its end; in an Airflow without
such a store (3.2), we keep it in the run's folder. Beside it lies the id of the execution that submitted it:
the next try of the task follows this execution, instead of starting another one.

    no id, or its executions have outcomes       submit: the task was cleared, or the last try ended it
    another plan, master or deploy mode         submit: it computes something else, or cannot be asked
    its driver has left a report                nothing to wait for
    the application is active                   wait for it
    it has ended, or is not known any more      that execution has failed; submit another one
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Protocol

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException

from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator
from graph_compiler.airflow_backend.task.execution_files import is_done, write_outcomes
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.errors import StagingError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.store.read_document import decode_object

_VALUE = "value"
_EXECUTION, _PLACE = "graph_compiler_execution", "graph_compiler_place"
_POD = "graph_compiler_pod"
"""The id of a pod, known before it is submitted: its try may die before the provider stores it."""


class TaskStates(Protocol):
    """Values of one task in one run, by name."""

    def get(self, key: str) -> Any:
        """Return a value, None if there is none."""

    def set(self, key: str, value: Any) -> None:
        """Replace a value."""

    def delete(self, key: str) -> None:
        """Remove a value, if there is one."""


class StagedStates:
    """Each value is a document in the run's folder; raises OSError if the store of the staging root does not answer.

    Airflow's store refuses a try that it has replaced. The folder does not: `store_application` compares the execution.
    """

    def __init__(self, task: TaskTry) -> None:
        self._store, self._layout, self._task = task.store, task.layout, task.task_name

    def get(self, key: str) -> Any:
        """Return a value, None if there is none; raises DamagedDocumentError."""
        place = self._layout.task_state(self._task, key)
        found = self._store.get(place)
        return None if found is None else decode_object(found, place).get(_VALUE)

    def set(self, key: str, value: Any) -> None:
        """Replace a value; readers see the old or the new one."""
        self._store.put(self._layout.task_state(self._task, key), json.dumps({_VALUE: value}).encode())

    def delete(self, key: str) -> None:
        """Replace a value by none: what cannot be removed would be followed."""
        if self.get(key) is not None:
            self.set(key, None)


def states_of(context: Context, task: TaskTry) -> TaskStates:
    """Return where a task keeps its values."""
    store: TaskStates | None = context.get("task_state_store")
    return StagedStates(task) if store is None else store


class TrackingLostError(AirflowException):
    """An application may still be running, and cannot be asked: its execution has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What an earlier process has submitted: its id at the cluster, and its try; `is_own` if it is the current one."""

    id: str
    task: TaskTry
    is_own: bool = False


def store_execution(context: Context, task: TaskTry, operator: SubmitOperator) -> None:
    """Store which try submits, before it does; ids of earlier ones are removed.

    Raises ExecutionTargetError if Airflow could not ask for its pod.
    """
    operator.check_client(task.task_name)
    states = states_of(context, task)
    for key in (*operator.state_keys, _POD):
        states.delete(key)
    if (pod_id := operator.pod_id) is not None:
        states.set(_POD, pod_id)
    states.set(_PLACE, _place(operator))
    states.set(_EXECUTION, task.execution_id)


def store_application(id: str, context: Context, task: TaskTry, operator: SubmitOperator) -> None:
    """Store the id of an application that was submitted, if the provider cannot; not if a later try has submitted."""
    states = states_of(context, task)
    if isinstance(states, StagedStates) and states.get(_EXECUTION) == task.execution_id:
        states.set(operator.external_id_key, id)


def unfinished(context: Context, task: TaskTry, operator: SubmitOperator) -> Application | None:
    """Return the application of an earlier try without an outcome; None if there is none of this plan."""
    if not operator.is_followed:
        return None
    states = states_of(context, task)
    execution_id = states.get(_EXECUTION)
    id = states.get(operator.external_id_key) or states.get(_POD)
    if not isinstance(execution_id, str) or not isinstance(id, str):
        return None
    ids = [region.region_id for region in task.regions]
    documents = [AttemptDocuments(task.store, task.layout.execution(each, execution_id)) for each in ids]
    if all(one.has_outcome() for one in documents):
        return None
    try:
        found = [one.read_descriptor() for one in documents]
    except StagingError:
        return None
    before = TaskTry([each for each in found if each is not None])
    is_same = [(each.region_id, each.plan_id) for each in before.regions] == [
        (each.region_id, each.plan_id) for each in task.regions
    ]
    return Application(id=id, task=before) if is_same else None


def is_unfinished(application: Application, operator: SubmitOperator, context: Context) -> bool:
    """Whether an application is to be followed; otherwise its execution's outcome is written.

    Raises TrackingLostError if the cluster does not answer.
    """
    if is_done(application.task):
        return True
    if (reason := why_elsewhere(application, operator, context)) is not None:
        operator.log.warning("%s", application.task.log_line(reason))
        write_outcomes(application.task.descriptors, ExecutionState.FAILED, reason)
        return False
    operator.take_over(application.id)
    status = _status(application.id, operator, context)
    if operator.is_job_active(status) or is_done(application.task):
        return True
    reason = f"application {application.id} is {status.lower()}"
    write_outcomes(application.task.descriptors, ExecutionState.FAILED, reason)
    return False


def why_elsewhere(application: Application, operator: SubmitOperator, context: Context) -> str | None:
    """Return why an application cannot be asked for any more: the connection has changed. None if it has not."""
    before, now = states_of(context, application.task).get(_PLACE), _place(operator)
    if before == now:
        return None
    return f"application {application.id} of {before} cannot be followed: the connection is now {now}"


def continued(application: Application, operator: SubmitOperator, context: Context) -> Application:
    """Return an application as that of this try, which has waited in the triggerer.

    Raises TrackingLostError if the connection leads to another cluster by now.
    """
    if (reason := why_elsewhere(application, operator, context)) is not None:
        raise TrackingLostError(reason)
    operator.take_over(application.id)
    return replace(application, is_own=True)


def follow(application: Application, operator: SubmitOperator, context: Context) -> None:
    """Wait until an application ends, unless its driver has left its reports; raises RuntimeError if it fails.

    The provider tidies up after that of its own try: it is asked in any case, and does not wait.
    """
    if not application.is_own:
        if is_done(application.task):
            return
        words = f"waiting for {application.id}, of an earlier try"
        operator.log.info("%s", application.task.log_line(words))
    operator.poll_until_complete(application.id, context)


def check_lost(task: TaskTry, operator: SubmitOperator, context: Context) -> None:
    """Raise TrackingLostError if a task's application may still be running, though it is not followed any more."""
    states = states_of(context, task)
    if states.get(_EXECUTION) != task.execution_id:
        return
    if isinstance(id := states.get(operator.external_id_key), str) and not is_done(task):
        status = _status(id, operator, context)
        if operator.is_job_active(status):
            raise TrackingLostError(f"application {id} is {status.lower()}, but cannot be followed")


def _place(operator: SubmitOperator) -> str:
    spark = operator.connected
    return f"{spark.master}, deploy mode {spark.mode}"


def _status(id: str, operator: SubmitOperator, context: Context) -> str:
    """Return an application's status in the provider's words; raises TrackingLostError without an answer."""
    try:
        return operator.status_of(id, context)
    except Exception as error:  # each cluster's client has its own
        raise TrackingLostError(f"the cluster does not say what became of application {id}: {error}") from None
