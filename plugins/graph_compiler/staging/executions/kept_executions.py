"""Executions that repeat nothing: an earlier one of the same task's tries has done their work, and it still counts.

try 1    stage    FINISHED          report       FAILED
try 2    stage    kept from try 1   report       runs again
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import VERSION as REPORT_VERSION
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.staging_layout import KEPT
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExecution:
    """Which execution of the region is kept: its id, its attempt number, and the Airflow try that has kept it."""

    execution_id: str
    attempt_number: int
    try_number: int | None


def leave_kept(store: StagingStore, folder: str, kept: KeptExecution) -> None:
    """Write in the folder of an execution that it kept the work of an earlier one."""
    store.put_if_absent(f"{folder}/{KEPT}", to_json(kept).encode())


def find_kept(store: StagingStore, folder: str) -> KeptExecution | None:
    """Return what an execution has kept, None if it has done its own work; raises DamagedDocumentError."""
    return get_document(store, f"{folder}/{KEPT}", KeptExecution)


def report_of(store: StagingStore, execution: TaskDeploymentDescriptor) -> ExecutionReport | None:
    """Return the driver's report, that of the kept execution if this one was spared; None if there is none.

    Raises DamagedDocumentError and OtherVersionError.
    """
    layout, region_id, id = (
        execution.layout,
        execution.region.region_id,
        execution.attempt.execution_id,
    )
    kept = find_kept(store, layout.execution(region_id, id))
    key = layout.report(region_id, kept.execution_id if kept else id)
    return get_document(store, key, ExecutionReport, version=REPORT_VERSION)
