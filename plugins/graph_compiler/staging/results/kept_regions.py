"""Which regions of a task need not run again: what an earlier try has computed, and still counts (decision 44).

A region is kept if
    the try that did its work did not succeed         one that is cleared after it succeeded is computed again
    it finished in that try                           of the same declaration, with the same places and parameters
    what it has read is still the latest              no producer has committed another epoch since
    what it has staged is still there                 or was released, since all its readers have finished
    what it has published is still there              except what later publications have removed, and where no secret
                                                      says where that is
    its work was not discarded                        by `graph-compiler discard`

The driver also compares the files of its sources, and the code that has computed it (decision 58).

Tries in which it was not its turn, or in which Spark did not start, count as if they had not been.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    RunValues,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.attempts.attempt import Attempt, read_attempt
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import in_order
from graph_compiler.staging.publications.ledger import is_in_place
from graph_compiler.staging.results.manifest_log import ManifestLog, find_damage
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.staging_store import StagingStore

_CREDENTIALS = ("login", "password")
"""Fields of a connection that give access to a place. Any other may be a part of it: a URL, a host, a schema."""


def kept_execution(
    store: StagingStore, task: TaskDeploymentDescriptor, tasks: Sequence[TaskDeploymentDescriptor]
) -> Attempt | None:
    """Return the execution whose work makes that of `task` unnecessary, None if it has to run.

    `tasks` are all executions of its try. Whether sources or code have changed since is not looked at. A document that
    cannot be read is a reason to run.
    """
    if task.from_start or _hides_places(task.region):
        return None
    try:
        before = _last_with_work(store, task)
        if before is None or before.is_discarded() or _has_succeeded(before, tasks):
            return None
        done_by = before.done_by()
        last = read_attempt(done_by, is_last=False)
        if last is None or not last.is_finished or last.report is None:
            return None
        descriptor = done_by.read_descriptor()
        is_same = descriptor is not None and _computed(descriptor) == _computed(task)
        return last if is_same and _counts(store, task, last, last.report) else None
    except (GraphCompilerError, OSError):
        return None


def discard(store: StagingStore, layout: StagingLayout, region_ids: Iterable[RegionId]) -> None:
    """Let no later try keep what the tries so far have computed of these regions."""
    for region_id in region_ids:
        for documents in in_order(store, layout, region_id):
            documents.put_discarded()


def _last_with_work(store: StagingStore, task: TaskDeploymentDescriptor) -> AttemptDocuments | None:
    """Return the documents of the last execution of a region before this one that did or kept its work.

    Try numbers of Airflow only start again if a run is deleted and created again: those before belong to another run.
    """
    number = task.try_number
    for documents in reversed(_begun_before(store, task)):
        before = (documents.read_raw_descriptor() or {}).get("try_number")
        if isinstance(before, int) and number is not None and before >= number:
            return None
        number = before if isinstance(before, int) else number
        if _has_begun(documents):
            return documents
    return None


def _begun_before(store: StagingStore, task: TaskDeploymentDescriptor) -> list[AttemptDocuments]:
    """Return the documents of all executions of a region but this one, in order."""
    own = AttemptDocuments.of(task, store).folder
    return [one for one in in_order(store, task.layout, task.region.region_id) if one.folder != own]


def _hides_places(region: RegionDescriptor) -> bool:
    """Whether secrets may say where a region publishes: only a driver knows whether that is where it was."""
    sinks = (each.operator.connector for each in region.operators if isinstance(each.operator, Sink))
    return any(secret.field not in _CREDENTIALS for sink in sinks for secret in values_within(sink, Secret))


def _has_begun(documents: AttemptDocuments) -> bool:
    """Whether an execution may have done something: otherwise Spark did not start, or it was not its turn."""
    if documents.read_kept() is not None:
        return True
    report = documents.read_report()
    if report is None:
        return documents.is_claimed()
    return report.failure is None or report.application_id is not None


def _has_succeeded(before: AttemptDocuments, tasks: Sequence[TaskDeploymentDescriptor]) -> bool:
    """Whether the try of an execution has finished all regions of `tasks`, and its Airflow task with them.

    Those that were added to the pipeline since do not count. One that another task has run does.
    """
    outcomes = ((task, before.of_region(task.layout, task.region.region_id).read_outcome()) for task in tasks)
    return all(
        (outcome is not None and outcome.state is ExecutionState.FINISHED and outcome.reason is None)
        or not _begun_before(before.store, task)
        for task, outcome in outcomes
    )


def _counts(store: StagingStore, task: TaskDeploymentDescriptor, last: Attempt, report: ExecutionReport) -> bool:
    """Whether what an execution has published and staged is what `task` would."""
    layout = task.layout
    log = ManifestLog(store=store, layout=layout)
    return (
        all(log.epochs(read.result_id)[-1:] == (read.epoch,) for read in report.reads)
        and all(_is_available(log, result.id) for result in task.region.results)
        and all(is_in_place(store, layout, output.location, last.execution_id) for output in report.outputs)
    )


def _computed(task: TaskDeploymentDescriptor) -> tuple[object, ...]:
    """Return what determines an execution's rows and places."""
    return _unplaced(task.region), task.parameters, task.logical_date


def _unplaced(region: RegionDescriptor) -> RegionDescriptor:
    """Return a region without the lines at which it is declared, the task that runs it, and the rest of the plan.

    The sinks that its sources reach are a part of that, and what the rows of its inputs depend on.
    """

    def without_place(operator: OperatorDescriptor) -> OperatorDescriptor:
        inputs = tuple(
            each if each.staged is None else replace(each, staged=replace(each.staged, values=RunValues()))
            for each in operator.inputs
        )
        return replace(operator, declared_at=None, inputs=inputs)

    results = tuple(replace(each, values=RunValues()) for each in region.results)
    return replace(region.changed(without_place), results=results, shares_task=None, plan_id="", positions=())


def _is_available(log: ManifestLog, result_id: IntermediateDataSetId) -> bool:
    """Whether a result can be read, or was released: then all its readers have finished."""
    latest = log.latest(result_id)
    if latest is None or find_damage(log.store, log.layout, result_id, latest.epoch) is not None:
        return False
    if find_release(log.store, log.layout, result_id, latest.epoch) is not None:
        return True
    return all(log.store.is_there(f"{latest.location}/{file.name}") for file in latest.files)
