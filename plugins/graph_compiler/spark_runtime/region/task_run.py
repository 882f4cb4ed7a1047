"""The regions of a task, one after the other in one application.

clean ─▒▶ by_day ✗      by_day fails: by_user runs nevertheless, and the next try repeats only by_day
      └▒▶ by_user ✓
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Sequence

from graph_compiler import program_log
from graph_compiler.deployment.documents.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, Outcome
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.attempts.execution_order import claim_execution
from graph_compiler.staging.results.kept_regions import kept_execution
from graph_compiler.staging.store.stores import store_of

LOG = program_log.logger(__name__)


def run_regions(
    tasks: Sequence[TaskDeploymentDescriptor],
    execute: Callable[[TaskDeploymentDescriptor], ExecutionReport],
    why_again: Callable[[TaskDeploymentDescriptor, ExecutionReport], str | None],
    release: Callable[[TaskDeploymentDescriptor, ExecutionReport], None],
) -> list[tuple[TaskDeploymentDescriptor, Failure]]:
    """Run each region, except those that are kept, and those that read from one that failed; return all failures.

    The first region is claimed already. `why_again`: why an earlier execution, whose work is still there, would have
    other rows now; None if it would not.
    `release` removes what the regions that are kept have read, if no other region reads it any more.
    """
    kept: list[tuple[TaskDeploymentDescriptor, ExecutionReport]] = []
    failures: list[tuple[TaskDeploymentDescriptor, Failure]] = []
    missing: dict[RegionId, str] = {}
    for task in tasks:
        region_id, store = task.region.region_id, store_of(task.staging_root)
        if (why := _why_not(task, missing)) is not None:
            missing[region_id] = why
            leave_out([task], why)
            continue
        before = kept_execution(store, task, tasks)
        if before is not None and (report := _still_true(task, before, why_again)):
            _keep(task, before)
            kept.append((task, report))
            continue
        if task is not tasks[0]:
            claim_execution(store, task)
        if len(tasks) > 1:
            with program_log.about(task.log_fields):
                LOG.info("%s begins", region_id)
        report = execute(task)
        if report.failure is not None:
            failures.append((task, report.failure))
            missing[region_id] = f"'{region_id}' failed"
    for task, report in kept:
        release(task, report)
    return failures


def leave_out(tasks: Iterable[TaskDeploymentDescriptor], why: str) -> None:
    """Write that executions do not run."""
    for task in tasks:
        outcome = Outcome(state=ExecutionState.CANCELED, ended=time.time(), reason=why)
        AttemptDocuments.of(task).put_outcome(outcome)


def _why_not(task: TaskDeploymentDescriptor, missing: dict[RegionId, str]) -> str | None:
    """Return why a region cannot run, None if it can: all that it reads of this task is there."""
    producers = (staged.producer for staged in values_within(task.region, StagedInput))
    return next((missing[producer] for producer in producers if producer in missing), None)


def _still_true(
    task: TaskDeploymentDescriptor,
    before: Attempt,
    why_again: Callable[[TaskDeploymentDescriptor, ExecutionReport], str | None],
) -> ExecutionReport | None:
    """Return the report of an earlier execution, None if it would have other rows now; then the log says why."""
    assert before.report is not None, "it has finished"
    try:
        why = why_again(task, before.report)
    except Exception:  # Spark's, of any kind
        LOG.warning("its sources cannot be listed again: %s", traceback.format_exc().rstrip())
        return None
    if why is None:
        return before.report
    with program_log.about(task.log_fields):
        LOG.info("'%s' runs again: %s", task.region.region_id, why)
    return None


def _keep(task: TaskDeploymentDescriptor, before: Attempt) -> None:
    kept = KeptExecution(
        execution_id=before.execution_id, attempt_number=before.attempt_number, try_number=task.try_number
    )
    AttemptDocuments.of(task).put_kept(kept)
    with program_log.about(task.log_fields):
        LOG.info("%s is kept from attempt %s", task.region.region_id, kept.attempt_number + 1)
