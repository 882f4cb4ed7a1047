"""How a Spark driver ended: its reports decide, or its exit code if there are none."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from airflow.sdk.exceptions import AirflowException, AirflowFailException, TaskDeferred

from graph_compiler.airflow_backend.notify.sending import flush
from graph_compiler.airflow_backend.task.execution_files import is_done, write_outcomes
from graph_compiler.airflow_backend.task.following.tracking import TrackingLostError
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.errors import GraphCompilerError, StagingError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import AttemptEnd, read_end
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.task_attempt import causes
from graph_compiler.staging.streams.heartbeats import StreamTurn

_ENDED_ITSELF = (
    "Spark's driver ended with exit code 0 before its work was done, and left no report\n"
    "  hint: check whether a function ends the process (os._exit or similar); it must return rows or raise an error"
)
_ROOT_GONE = (
    "the staging root has lost the documents of this try, so it is not known how Spark's driver has ended\n"
    "  hint: check whether its file system was unmounted for a while"
)
_ENDED_ELSEWHERE = (
    "Spark's driver is gone, and left no report\n"
    "  hint: see its log in the cluster: its application or its pod was removed, it does not see the staging root, or "
    "a function ended its process"
)


def read_reports(
    task: TaskTry, error: AirflowException | None, *, is_elsewhere: bool
) -> list[tuple[TaskDeploymentDescriptor, ExecutionReport]]:
    """Return the reports of a task's regions, with those of kept executions; each is read once.

    Raises why its regions failed, unless all succeeded (`attempt.py` has the order of reasons). `error` is that of a
    non-zero exit code. A driver elsewhere may have another staging root. If one on this host ended with 0 and without
    its reports, its own code ended it, so a retry cannot help, unless the staging root was gone. Of several failures,
    one that a retry may help decides.
    """
    documents = {each.region.region_id: one for each, one in zip(task.executions, task.documents, strict=True)}
    try:
        ends = {id: read_end(one) for id, one in documents.items() if not one.is_kept()}
        unanswered = [end for id, end in ends.items() if end.report is None and not documents[id].has_report()]
        if len(unanswered) == len(documents) or not all(end.state.is_terminal for end in unanswered):
            raise _without_report(task, error, is_elsewhere=is_elsewhere)
        # What the driver has done counts, also if the task was stopped meanwhile.
        failed = causes({id: end for id, end in ends.items() if end.report is None or end.report.failure})
        if unanswered and not any(end.state is ExecutionState.FAILED for end in failed.values()):  # it was stopped
            raise _without_report(task, error, is_elsewhere=is_elsewhere)
        if failed:
            raise _of_regions(task, failed)
        if (
            error is not None and not is_elsewhere
        ):  # one elsewhere has done its work, whatever became of its application
            raise error from None
        # One that could not be read is read again, and refused.
        own = {id: end.report for id, end in ends.items() if end.report is not None}
        reports = (own.get(id) or one.done_by().read_report() for id, one in documents.items())
        return [(each, report) for each, report in zip(task.executions, reports, strict=True) if report]
    except StagingError as error_of_report:
        if not is_done(task):
            raise _without_report(task, error, is_elsewhere=is_elsewhere) from None
        raise AirflowException(f"the Spark driver's report cannot be read: {error_of_report}") from None


def _of_regions(task: TaskTry, failed: Mapping[RegionId, AttemptEnd]) -> AirflowException:
    words = (end.words(task.pipeline, region_id) for region_id, end in failed.items())
    is_final = all(end.is_final for end in failed.values())
    return (AirflowFailException if is_final else AirflowException)("\n".join(filter(None, words)))


def _without_report(task: TaskTry, error: AirflowException | None, *, is_elsewhere: bool) -> AirflowException:
    if error is not None:
        return AirflowException(f"the Spark driver ended without a report: {error}")
    words = f"pipeline '{task.pipeline}', task '{task.task_name}': "
    if not task.store.is_there(task.descriptors[0]):  # and the report may be in what covers it
        return AirflowException(words + _ROOT_GONE)
    if is_elsewhere:
        return AirflowException(words + _ENDED_ELSEWHERE)
    return AirflowFailException(words + _ENDED_ITSELF)


LOG = logging.getLogger(__name__)
_STOPPED = "it was stopped while it was running"
_AIRFLOW = "Airflow"
_PAUSE = 0.5


@contextmanager
def recording(task: TaskTry, is_killed: Callable[[], bool]) -> Iterator[None]:
    """Write the outcomes of the try, unless this process is killed; `is_killed`: whether the task is to end."""
    state: ExecutionState | None = ExecutionState.FINISHED
    reason = None
    try:
        yield
    except (TrackingLostError, TaskDeferred):  # it may still be running: who continues asks again
        state = None
        raise
    except BaseException as error:
        state = ExecutionState.CANCELED if is_killed() else ExecutionState.FAILED
        reason = str(error) or type(error).__name__
        raise
    finally:
        if state is not None:
            write_outcomes(task.descriptors, state, reason)
            flush()


@contextmanager
def stopping(descriptors: Iterable[str]) -> Iterator[None]:
    """Write that a try was stopped: its process may be killed before it ends.

    Within, the driver is ended, also if that cannot be written; it does not wait for a collector.
    """
    try:
        write_outcomes(descriptors, ExecutionState.CANCELED, _STOPPED)
    except (OSError, GraphCompilerError):
        LOG.warning("graph_compiler: it is not recorded that this try was stopped", exc_info=True)
    try:
        yield
    finally:
        flush()


def ask_streams(descriptors: Iterable[str]) -> bool:
    """Ask the drivers of continuous streams to end behind the batch in progress; False if none is asked.

    A driver that has not begun, and one whose checkpoint a later one has, are not asked: they publish nothing.
    """
    is_asked = False
    for path in descriptors:
        try:
            documents = AttemptDocuments.beside(path)
            task = documents.read_descriptor()
            if task is None or task.region.continuous is None or task.region.stream is None:
                continue
            layout = StreamLayout(root=task.staging_root, owner=task.identity.owner)
            turn = StreamTurn.last_of_query(documents.store, layout, task.region.stream)
            heartbeat = None if turn is None else turn.heartbeat()
            if turn is None or heartbeat is None or heartbeat.execution_id != task.attempt.execution_id:
                continue
            turn.request_stop(time.time(), _AIRFLOW)
            is_asked = True
        except (OSError, GraphCompilerError):
            LOG.warning("graph_compiler: its driver is not asked to end behind its batch", exc_info=True)
    if is_asked:
        LOG.info("graph_compiler: the driver is asked to end behind the batch in progress")
    return is_asked


def wait_for_reports(descriptors: Iterable[str], seconds: float) -> None:
    """Wait until drivers have written their reports, or some seconds are over."""
    deadline = time.monotonic() + seconds
    waited = [AttemptDocuments.beside(path) for path in descriptors]
    with suppress(OSError, GraphCompilerError):
        while not all(each.has_report() for each in waited) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
