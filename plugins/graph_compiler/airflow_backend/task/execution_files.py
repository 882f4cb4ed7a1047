"""The files between a task and its driver, as the task writes and reads them."""

from __future__ import annotations

import time

from airflow.sdk.exceptions import AirflowException

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.outcome import Outcome
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport
from graph_compiler.deployment.documents.staging_layout import OUTCOME, execution_of, secrets_of
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import StagingError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.executions.execution_order import begin
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.stores import store_of


def descriptor_of(task: TaskDeploymentDescriptor) -> str:
    """Return the key of a task's descriptor."""
    return task.layout.descriptor(task.region.region_id, task.attempt.execution_id)


def deploy(task: TaskDeploymentDescriptor) -> str:
    """Write the descriptor for the driver; raises AirflowException if this try has already done so."""
    descriptor = descriptor_of(task)
    if not begin(store_of(task.staging_root), task):
        raise AirflowException(
            f"execution {task.attempt.execution_id} of '{task.region.region_id}' was started "
            f"before and may still be running: this one does nothing\n  found: {descriptor}"
        )
    return descriptor


def leave_submission(task: TaskDeploymentDescriptor, submission: Submission) -> None:
    """Write how an attempt is submitted, in a file that only its owner can read."""
    key = task.layout.submission(task.region.region_id, task.attempt.execution_id)
    store_of(task.staging_root).put_if_absent(key, to_json(submission).encode())


def leave_outcome(descriptor: str, state: ExecutionState, reason: str | None) -> None:
    """Write the outcome of a descriptor's attempt, unless it has one; a driver that has not started gets no secret."""
    ended = Outcome(state=state, ended=time.time(), reason=reason)
    key = f"{execution_of(descriptor)}/{OUTCOME}"
    store = store_of(descriptor)
    store.put_if_absent(key, to_json(ended).encode())
    store.delete(secrets_of(descriptor))


def has_report(task: TaskDeploymentDescriptor) -> bool:
    """Whether the driver has left a report, readable or not."""
    key = task.layout.report(task.region.region_id, task.attempt.execution_id)
    return store_of(task.staging_root).is_there(key)


def read_report(task: TaskDeploymentDescriptor) -> ExecutionReport:
    """Read the driver's report; raises AirflowException if it is missing or unreadable."""
    key = task.layout.report(task.region.region_id, task.attempt.execution_id)
    try:
        report = get_document(store_of(task.staging_root), key, ExecutionReport, version=VERSION)
    except StagingError as error:
        raise AirflowException(f"the Spark driver's report cannot be read: {error}") from None
    if report is None:
        raise AirflowException(f"the Spark driver ended without a report: there is no {key}")
    return report
