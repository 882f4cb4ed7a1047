"""The files between a task and its driver, as the task writes and reads them.

descriptor.json, submission.json    before spark-submit, for each region
report.json, kept.json              by the driver
outcome.json                        at the end of the try
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from airflow.sdk.exceptions import AirflowException

from graph_compiler.airflow_backend.task.ended_attempts import report_ended
from graph_compiler.airflow_backend.task.task_try import TaskTry, descriptor_of
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport, Outcome
from graph_compiler.deployment.documents.staging_layout import (
    DRIVER,
    KEPT,
    OUTCOME,
    REPORT,
    execution_of,
    secrets_of,
)
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import StagingError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempts import report_of
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.stores import store_of

_NOT_REACHED = "the try ended before it was its turn"


def deploy(task: TaskTry) -> None:
    """Write the descriptors for the driver; raises AirflowException if this try has already done so."""
    for execution in task.executions:
        if not begin(task.store, execution):
            raise AirflowException(
                f"execution {task.execution_id} of '{execution.region.region_id}' was started "
                f"before and may still be running: this one does nothing\n  found: {descriptor_of(execution)}"
            )


def leave_submission(task: TaskTry, submission: Submission) -> None:
    """Write how a try is submitted, in files that only their owner can read."""
    for execution in task.executions:
        key = task.layout.submission(execution.region.region_id, task.execution_id)
        task.store.put_if_absent(key, to_json(submission).encode())


def leave_outcomes(descriptors: Iterable[str], state: ExecutionState, reason: str | None) -> None:
    """Write the outcome of each execution of a try that has none, and report its end to what watches Airflow.

    A driver that has not started gets no secret. An only execution has the outcome of its try. Of several, one that the
    driver has finished is FINISHED, and one that it had not begun is CANCELED if the try did not finish. The reason is
    why the try did not.
    """
    keys = tuple(descriptors)
    left = []
    for key in keys:
        own = (state, reason)
        if len(keys) > 1 and state is not ExecutionState.FINISHED:
            own = _own_outcome(key, state, reason)
        outcome = Outcome(state=own[0], ended=time.time(), reason=own[1])
        store = store_of(key)
        if store.put_if_absent(f"{execution_of(key)}/{OUTCOME}", to_json(outcome).encode()):
            left.append(key)
        store.delete(secrets_of(key))
    report_ended(left)


def _own_outcome(
    descriptor: str, state: ExecutionState, reason: str | None
) -> tuple[ExecutionState, str | None]:
    store, folder = store_of(descriptor), execution_of(descriptor)
    if store.is_there(f"{folder}/{KEPT}"):
        return ExecutionState.FINISHED, reason
    try:
        report = get_document(store, f"{folder}/{REPORT}", ExecutionReport, version=VERSION)
    except StagingError as error:
        return ExecutionState.FAILED, str(error)
    if report is not None and report.failure is None:
        return ExecutionState.FINISHED, reason
    if report is not None and report.failure is not None:
        return ExecutionState.FAILED, report.failure.message
    if not store.is_there(f"{folder}/{DRIVER}"):
        return ExecutionState.CANCELED, _NOT_REACHED
    return state, reason


def is_done(task: TaskTry) -> bool:
    """Whether the driver has done all it would: each execution has a report, readable or not, or needs none.

    Where none has a report or is kept, the outcomes are not from the driver.
    """
    told = [_is_reported(task, each) for each in task.executions]
    outcomes = (f"{execution_of(key)}/{OUTCOME}" for key in task.descriptors)
    return any(told) and all(
        is_reported or task.store.is_there(key)
        for is_reported, key in zip(told, outcomes, strict=True)
    )


def is_answered(task: TaskTry) -> bool:
    """Whether each execution has a report or is kept: then none of them was left out or stopped."""
    return all(_is_reported(task, each) for each in task.executions)


def has_report(execution: TaskDeploymentDescriptor) -> bool:
    """Whether the driver has left a report of an execution, readable or not."""
    key = execution.layout.report(execution.region.region_id, execution.attempt.execution_id)
    return store_of(execution.staging_root).is_there(key)


def _is_reported(task: TaskTry, execution: TaskDeploymentDescriptor) -> bool:
    folder = execution_of(descriptor_of(execution))
    return has_report(execution) or task.store.is_there(f"{folder}/{KEPT}")


def read_report(execution: TaskDeploymentDescriptor) -> ExecutionReport | None:
    """Read the driver's report, that of the kept execution if this one was spared, None if it was not its turn.

    Raises AirflowException if it is missing or unreadable.
    """
    store = store_of(execution.staging_root)
    try:
        report = report_of(store, execution)
    except StagingError as error:
        raise AirflowException(f"the Spark driver's report cannot be read: {error}") from None
    if report is None and not store.is_there(f"{execution_of(descriptor_of(execution))}/{OUTCOME}"):
        key = execution.layout.report(execution.region.region_id, execution.attempt.execution_id)
        raise AirflowException(f"the Spark driver ended without a report: there is no {key}")
    return report
