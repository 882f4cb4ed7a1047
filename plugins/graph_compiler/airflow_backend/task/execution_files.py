"""The files by which a task and its driver speak to each other, as the task writes and reads them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from airflow.sdk.exceptions import AirflowException

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.outcome import Outcome
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import StagingError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.executions.execution_order import begin
from graph_compiler.staging.store.commit_store import LocalCommitStore
from graph_compiler.staging.store.read_document import read_document


def deploy(task: TaskDeploymentDescriptor) -> Path:
    """Leave the descriptor where the driver finds it; raises AirflowException if this very try has done so before."""
    descriptor = Path(task.layout.descriptor(task.region.region_id, task.attempt.execution_id))
    if not begin(LocalCommitStore(), task):
        raise AirflowException(
            f"execution {task.attempt.execution_id} of '{task.region.region_id}' was begun before, and may be alive: "
            f"this one leaves everything to it\n  found: {descriptor}"
        )
    return descriptor


def leave_outcome(path: Path, state: ExecutionState, reason: str | None) -> None:
    """Leave how an attempt ended; the first word stands."""
    ended = Outcome(state=state, ended=time.time(), reason=reason)
    LocalCommitStore().put_if_absent(str(path), to_json(ended).encode())


def write_privately(path: Path, text: str) -> None:
    """Write a file that only its owner reads."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def read_report(path: Path) -> ExecutionReport:
    """Read what the driver has left; raises AirflowException where that is not there, or cannot be read."""
    try:
        report = read_document(str(path), ExecutionReport, version=VERSION)
    except StagingError as error:
        raise AirflowException(f"what the Spark driver reported cannot be read: {error}") from None
    if report is None:
        raise AirflowException(f"the Spark driver ended without a report: there is no {path}")
    return report
