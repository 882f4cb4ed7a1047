"""Every plan that ran a task of a run is recorded in the run's folder.

A pipeline may be edited, and deployed, while a run of it is on the way. A task of the new plan goes on where what it
reads has the fingerprint it was compiled for. Where it has not, both plans are compared, and what changed is named.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.deployment.plans.clear_command import clear_command
from graph_compiler.deployment.plans.plan_record import VERSION, PlanRecord, what_changed
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, StaleResultError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.executions.executions import last_descriptor
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


def record_plan(store: StagingStore, layout: StagingLayout, plan: PlanRecord) -> None:
    """Put a plan into the folder of a run, if it is not there."""
    key = layout.plan(plan.plan_id)
    try:
        is_there = store.get(key) is not None
    except DamagedDocumentError:
        is_there = True
    if not is_there:
        store.put_if_absent(key, to_json(plan).encode())


def find_plan(store: StagingStore, layout: StagingLayout, plan_id: str) -> PlanRecord | None:
    """Return a plan that ran a task of a run, None where there is no record of it that can be read."""
    try:
        found = get_document(store, layout.plan(plan_id), PlanRecord, version=VERSION)
    except (DamagedDocumentError, OtherVersionError):  # it only serves to name what has changed
        return None
    return found if found and found.is_whole else None


def check_inputs(log: ManifestLog, task: TaskDeploymentDescriptor, plan: PlanRecord) -> None:
    """Raise StaleResultError where a staged result was computed otherwise than the task was compiled for.

    What no task has run for is not looked at: anyone who reads it says so.
    """
    for staged in dict.fromkeys(values_within(task.region, StagedInput)):
        if staged.producer == task.region.region_id:
            continue  # what it stages and reads back it computes anew
        found = _found(log, staged)
        if found is not None and staged.fingerprint not in found.fingerprints:
            before = find_plan(log.store, log.layout, found.plan_id)
            changes = what_changed(before, plan, found.result_ids, staged.id) if before else ()
            raise StaleResultError(_words(task, staged, found, plan, changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What is there in place of a staged result: of which plan, by which attempt."""

    plan_id: str
    attempt_number: int
    result_ids: tuple[IntermediateDataSetId, ...]
    fingerprints: frozenset[str]


def _found(log: ManifestLog, staged: StagedInput) -> _Found | None:
    """Return the latest commit of a result; where there is none, what its producer has been told to compute.

    Flink's automatic ids move with operators that are added before them: the same result had another id then.
    """
    if manifest := log.latest(staged.id):
        return _Found(
            plan_id=manifest.plan_id,
            attempt_number=manifest.attempt.attempt_number,
            result_ids=(staged.id,),
            fingerprints=frozenset({manifest.fingerprint}),
        )
    producer = last_descriptor(log.store, log.layout, staged.producer)
    if producer is None:
        return None
    return _Found(
        plan_id=producer.region.plan_id,
        attempt_number=producer.attempt.attempt_number,
        result_ids=tuple(result.id for result in producer.region.results),
        fingerprints=frozenset(result.fingerprint for result in producer.region.results),
    )


def _words(
    task: TaskDeploymentDescriptor,
    staged: StagedInput,
    found: _Found,
    now: PlanRecord,
    changes: Collection[str],
) -> str:
    named = "".join(f"\n  {change}" for change in changes or ["changed: nothing that is recorded"])
    return (
        f"the pipeline was changed during this run, and '{task.region.region_id}' reads what changed\n"
        f"  task '{staged.producer}' ran plan {found.plan_id} (attempt {found.attempt_number + 1}), "
        f"this one is of plan {now.plan_id}{named}\n"
        f"  hint: either run what has changed again: {clear_command(task, [staged.producer])}\n"
        f"  or deploy the version of plan {found.plan_id} again, and clear this task"
    )
