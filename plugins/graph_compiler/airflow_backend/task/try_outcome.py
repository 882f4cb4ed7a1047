"""The outcome of a try, in the documents of its executions and for what watches Airflow."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import TaskDeferred

from graph_compiler.airflow_backend.task.ended_attempts import flush
from graph_compiler.airflow_backend.task.execution_files import leave_outcomes
from graph_compiler.airflow_backend.task.following.tracking import TrackingLostError
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState

LOG = logging.getLogger(__name__)
_STOPPED = "it was stopped while it was running"


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
            leave_outcomes(task.descriptors, state, reason)
            flush()


@contextmanager
def stopping(descriptors: Iterable[str]) -> Iterator[None]:
    """Write that a try was stopped: its process may be killed before it ends.

    Within, the driver is ended, also if that cannot be written; it does not wait for a collector.
    """
    try:
        leave_outcomes(descriptors, ExecutionState.CANCELED, _STOPPED)
    except (OSError, GraphCompilerError):
        LOG.warning("graph_compiler: it is not recorded that this try was stopped", exc_info=True)
    try:
        yield
    finally:
        flush()
