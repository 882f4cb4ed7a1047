"""The documents of a run and its tries, as a task writes them; a driver writes reports before the outcome."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.notify.sending import send_ended
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.errors import StagingError, StagingRootNotSharedError, StaleResultError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt import read_end
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.attempts.run_marker import RunMarker, not_shared, producers, see_marker
from graph_compiler.staging.store.root_probe import check_root

_NOT_REACHED = "the try ended before it was its turn"


def _check_store(task: TaskTry) -> None:
    try:
        check_root(task.store, task.layout.root)
    except StagingError as error:
        raise AirflowFailException(f"pipeline '{task.pipeline}': {error}") from None


def see_run(task: TaskTry) -> None:
    """Write the run's marker in its first task, and check it in every other.

    Raises AirflowException if a retry may run on a worker that has the folder; AirflowFailException if the run started
    with another version of the pipeline.
    """
    root = task.layout.root
    if (task.first.try_number or 1) > 1 and not task.store.folders(root):  # an earlier try wrote
        found = "an empty folder, though this task has run before: perhaps its file system is not mounted"
        error = not_shared(root, socket.gethostname(), found)
        raise AirflowException(f"pipeline '{task.pipeline}': {error}")
    if not producers(task.regions):  # it may be the run's first
        _check_store(task)
    marker = RunMarker.of(task.first, host=socket.gethostname(), time=time.time())
    try:
        see_marker(task.store, task.regions, marker)
    except StagingRootNotSharedError as error:
        raise AirflowException(f"pipeline '{task.pipeline}': {error}") from None
    except StaleResultError as error:
        raise AirflowFailException(f"pipeline '{task.pipeline}': {error}") from None


def deploy(task: TaskTry) -> None:
    """Write the descriptors for the driver; raises AirflowException if this try has already done so."""
    for execution, documents in zip(task.executions, task.documents, strict=True):
        if not begin(task.store, execution):
            raise AirflowException(
                f"execution {task.execution_id} of '{execution.region.region_id}' was started "
                f"before and may still be running: this one does nothing\n  found: {documents.descriptor}"
            )


def write_submission(task: TaskTry, submission: Submission) -> None:
    """Write how a try is submitted, in files that only their owner can read."""
    for documents in task.documents:
        documents.put_submission(submission)


def write_outcomes(descriptors: Iterable[str], state: ExecutionState, reason: str | None) -> None:
    """Write the outcome of each execution of a try that has none, and report its end to what watches Airflow.

    A driver that has not started gets no secret. An only execution has the outcome of its try. Of several, one that the
    driver has finished is FINISHED, and one that it had not begun is CANCELED if the try did not finish. The reason is
    why the try did not.
    """
    keys = tuple(descriptors)
    left = []
    for key in keys:
        documents, own = AttemptDocuments.beside(key), (state, reason)
        if len(keys) > 1 and state is not ExecutionState.FINISHED:
            own = _own_outcome(documents, state, reason)
        if documents.put_outcome(Outcome(state=own[0], ended=time.time(), reason=own[1])):
            left.append(key)
        documents.delete_secrets()
    send_ended(left)


def _own_outcome(
    documents: AttemptDocuments, state: ExecutionState, reason: str | None
) -> tuple[ExecutionState, str | None]:
    if documents.is_kept():
        return ExecutionState.FINISHED, reason
    try:
        end = read_end(documents)
    except StagingError as error:
        return ExecutionState.FAILED, str(error)
    if end.is_finished:
        return ExecutionState.FINISHED, reason
    if end.state.is_terminal:
        return end.state, end.reason
    if not documents.is_claimed():
        return ExecutionState.CANCELED, _NOT_REACHED
    return state, reason


def is_done(task: TaskTry) -> bool:
    """Whether the driver has done all it would: each execution has a report, readable or not, or needs none.

    Where none has a report or is kept, the outcomes are not from the driver.
    """
    answered = [one.is_answered() for one in task.documents]
    return any(answered) and all(
        is_answered or one.has_outcome() for is_answered, one in zip(answered, task.documents, strict=True)
    )
