"""Which regions of a task need not run again: what an earlier try has computed, and still counts (decision 44).

A region is kept if
    the try before did not succeed                    one that is cleared after it succeeded is computed again
    its last execution finished                       of the same plan, with the same places and parameters
    what it has read is still the latest              no producer has committed another epoch since
    what it has staged is still there                 or was released, since all its readers have finished
    what it has published is still there              unless another publication has changed the folder since
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.outcome import Outcome
from graph_compiler.deployment.documents.staging_layout import OUTCOME
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, path_segment
from graph_compiler.staging.executions.execution_order import in_order
from graph_compiler.staging.executions.executions import last_execution_before, told
from graph_compiler.staging.executions.kept_executions import find_kept
from graph_compiler.staging.executions.region_execution import RegionExecution
from graph_compiler.staging.publications.last_publication import is_in_place
from graph_compiler.staging.results.damage import find_damage
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


def kept_execution(
    store: StagingStore, task: TaskDeploymentDescriptor, tasks: Sequence[TaskDeploymentDescriptor]
) -> RegionExecution | None:
    """Return the execution whose work makes that of `task` unnecessary, None if it has to run.

    `tasks` are all executions of its try. Whether sources have changed since is not looked at. A document that cannot
    be read is a reason to run.
    """
    if task.from_start:
        return None
    try:
        last = last_execution_before(
            store, task.layout, task.region.region_id, task.attempt.execution_id
        )
        if last is None or last.state is not ExecutionState.FINISHED or last.report is None:
            return None
        if _succeeded(store, tasks) or not _counts(store, task, last):
            return None
    except (GraphCompilerError, OSError):
        return None
    return last


def _succeeded(store: StagingStore, tasks: Sequence[TaskDeploymentDescriptor]) -> bool:
    """Whether the try before this one has finished all its regions, and its Airflow task knew of it."""
    return all(_has_ended_well(store, task) for task in tasks)


def _has_ended_well(store: StagingStore, task: TaskDeploymentDescriptor) -> bool:
    own = path_segment(task.attempt.execution_id)
    folders = in_order(store, task.layout, task.region.region_id)
    before = [folder for folder in folders if folder.rpartition("/")[2] != own]
    if not before:
        return False
    if find_kept(store, before[-1]) is not None:
        return True
    outcome = get_document(store, f"{before[-1]}/{OUTCOME}", Outcome)
    return outcome is not None and outcome.state is ExecutionState.FINISHED


def _counts(store: StagingStore, task: TaskDeploymentDescriptor, last: RegionExecution) -> bool:
    """Whether what an execution has published and staged is what `task` would."""
    layout = task.layout
    before = told(store, layout.descriptor(task.region.region_id, last.execution_id))
    if before is None or _computed(before) != _computed(task):
        return False
    log = ManifestLog(store=store, layout=layout)
    assert last.report is not None
    return (
        all(log.epochs(read.result_id)[-1:] == (read.epoch,) for read in last.report.reads)
        and all(_is_available(log, result.id) for result in task.region.results)
        and all(
            is_in_place(store, layout, output.location, last.execution_id)
            for output in last.report.outputs
        )
    )


def _computed(task: TaskDeploymentDescriptor) -> tuple[object, ...]:
    """Return what determines an execution's rows and places."""
    return task.region.plan_id, _unplaced(task.region), task.parameters, task.logical_date


def _unplaced(region: RegionDescriptor) -> RegionDescriptor:
    """Return a region without the lines at which it is declared, and the task that runs it."""

    def without_place(operator: OperatorDescriptor) -> OperatorDescriptor:
        return replace(operator, declared_at=None)

    return replace(region.changed(without_place), shares_task=None)


def _is_available(log: ManifestLog, result_id: IntermediateDataSetId) -> bool:
    """Whether a result can be read, or was released: then all its readers have finished."""
    latest = log.latest(result_id)
    if latest is None:
        return False
    if find_release(log.store, log.layout, result_id, latest.epoch) is not None:
        return True
    return find_damage(log.store, log.layout, result_id, latest.epoch) is None and all(
        log.store.is_there(f"{latest.location}/{file.name}") for file in latest.files
    )
