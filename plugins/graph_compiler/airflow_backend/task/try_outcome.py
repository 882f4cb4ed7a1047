"""The outcome of a try, in the documents of its executions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graph_compiler.airflow_backend.task.execution_files import leave_outcomes
from graph_compiler.airflow_backend.task.submission.tracking import TrackingLostError
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.graphs.execution import ExecutionState


@contextmanager
def recording(task: TaskTry, is_killed: Callable[[], bool]) -> Iterator[None]:
    """Write the outcomes of the try, unless this process is killed; `is_killed`: whether the task is to end."""
    state: ExecutionState | None = ExecutionState.FINISHED
    reason = None
    try:
        yield
    except TrackingLostError:  # it may still be running: the next try asks again
        state = None
        raise
    except BaseException as error:
        state = ExecutionState.CANCELED if is_killed() else ExecutionState.FAILED
        reason = str(error) or type(error).__name__
        raise
    finally:
        if state is not None:
            leave_outcomes(task.descriptors, state, reason)
