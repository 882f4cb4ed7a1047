"""Every plan that ran a task of a run is recorded in the run's folder.

A pipeline may be edited and deployed during a run. A task of the new plan continues if its inputs have the fingerprints
it was compiled for. Otherwise both plans are compared, and the changes are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import other_values
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json, values_within
from graph_compiler.deployment.plans.how_to_clear import how_to_clear
from graph_compiler.deployment.plans.plan_record import VERSION, PlanRecord, what_changed
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, StaleResultError
from graph_compiler.identifiers import IntermediateDataSetId, RegionId, TaskName, listing
from graph_compiler.staging.attempts.attempts import last_descriptor, task_names
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


def record_plan(store: StagingStore, layout: StagingLayout, plan: PlanRecord) -> None:
    """Write a plan into the folder of a run, if it is missing."""
    key = layout.plan(plan.plan_id)
    try:
        is_there = store.get(key) is not None
    except DamagedDocumentError:
        is_there = True
    if not is_there:
        store.put_if_absent(key, to_json(plan).encode())


def find_plan(store: StagingStore, layout: StagingLayout, plan_id: str) -> PlanRecord | None:
    """Return a plan that ran a task of a run, None if it has no readable record."""
    try:
        found = get_document(store, layout.plan(plan_id), PlanRecord, version=VERSION)
    except (DamagedDocumentError, OtherVersionError):  # it is only used to report what has changed
        return None
    return found if found and found.is_whole else None


def check_inputs(log: ManifestLog, task: TaskDeploymentDescriptor, plan: PlanRecord, *, own: Set[RegionId]) -> None:
    """Raise StaleResultError if a staged result does not match what the task was compiled for, or has other values.

    Not checked are the results of regions that have not run, which their readers report as missing, and those of the
    task's `own` regions, which it computes again.
    """
    for staged in dict.fromkeys(values_within(task.region, StagedInput)):
        if staged.producer in own:
            continue
        found = _found(log, staged)
        if found is not None and staged.fingerprint not in found.fingerprints:
            before = find_plan(log.store, log.layout, found.plan_id)
            changes = what_changed(before, plan, found.result_ids, staged.id) if before else ()
            names = task_names(log.store, log.layout, [staged.producer])
            raise StaleResultError(_words(task, staged, found, plan, changes, names))
        if found and (others := other_values(found.values, staged.values.digests(task.parameters))):
            names = task_names(log.store, log.layout, [staged.producer])
            raise StaleResultError(_words_of_values(task, staged, found, others, names))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The existing copy of a staged result: the plan and the attempt that wrote it."""

    plan_id: str
    attempt_number: int
    result_ids: tuple[IntermediateDataSetId, ...]
    fingerprints: frozenset[str]
    values: tuple[tuple[str, str], ...]


def _found(log: ManifestLog, staged: StagedInput) -> _Found | None:
    """Return the latest commit of a result; if there is none, the plan and attempt in its producer's descriptor.

    Flink's automatic ids change if operators are added before them: the same result may have had another id.
    """
    if manifest := log.latest(staged.id):
        return _Found(
            plan_id=manifest.plan_id,
            attempt_number=manifest.attempt.attempt_number,
            result_ids=(staged.id,),
            fingerprints=frozenset({manifest.fingerprint}),
            values=manifest.values,
        )
    producer = last_descriptor(log.store, log.layout, staged.producer)
    if producer is None:
        return None
    return _Found(
        plan_id=producer.region.plan_id,
        attempt_number=producer.attempt.attempt_number,
        result_ids=tuple(result.id for result in producer.region.results),
        fingerprints=frozenset(result.fingerprint for result in producer.region.results),
        values=next(
            (
                result.values.digests(producer.parameters)
                for result in producer.region.results
                if result.fingerprint == staged.fingerprint
            ),
            (),
        ),
    )


def _words(
    task: TaskDeploymentDescriptor,
    staged: StagedInput,
    found: _Found,
    now: PlanRecord,
    changes: Collection[str],
    names: Sequence[TaskName],
) -> str:
    named = "".join(f"\n  {change}" for change in changes or ["changed: nothing that is recorded"])
    return (
        f"the pipeline was changed during this run, and '{task.region.region_id}' reads what changed\n"
        f"  region '{staged.producer}' ran plan {found.plan_id} (attempt {found.attempt_number + 1}), "
        f"this one is of plan {now.plan_id}{named}\n"
        f"  hint: either run what has changed again: {how_to_clear(task, names)}\n"
        f"  or deploy the version of plan {found.plan_id} again, and clear this task"
    )


def _words_of_values(
    task: TaskDeploymentDescriptor,
    staged: StagedInput,
    found: _Found,
    others: Collection[str],
    names: Sequence[TaskName],
) -> str:
    return (
        f"values have changed during this run, and '{task.region.region_id}' reads what depends on them\n"
        f"  region '{staged.producer}' ran (attempt {found.attempt_number + 1}) with another value of "
        f"{listing(others)}\n"
        f"  hint: either run it again with the value of now: {how_to_clear(task, names)}\n"
        "  or restore the former value, and clear this task"
    )
