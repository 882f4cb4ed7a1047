"""What a plan computes, operator by operator; every plan that ran a task of a run is recorded in its folder.

A pipeline may be edited, and deployed, while a run of it is on the way. A task of the new plan goes on where what it
reads has the fingerprint it was compiled for. Where it has not, both plans are compared, and what changed is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from graph_compiler.deployment.clear_command import clear_command
from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.read_document import get_document
from graph_compiler.deployment.executions import last_descriptor
from graph_compiler.deployment.manifest_log import ManifestLog
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.values_within import values_within
from graph_compiler.deployment.wire import to_json
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, StaleResultError
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.identifiers import IntermediateDataSetId, listing

VERSION = 1
Name = tuple[str, int]
"""A declared name, and which of that name in declaration order: names need not be unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOperator:
    """One operator: `digest` is of what it computes from its inputs, `inputs` are places in `PlanRecord.operators`."""

    name: str
    digest: str
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """All operators of a pipeline in declaration order, and which of them gives out each staged result.

    `session` are the settings that can change a result, Spark's version among them.
    """

    version: int
    plan_id: str
    session: tuple[tuple[str, str], ...]
    operators: tuple[PlannedOperator, ...]
    results: tuple[tuple[IntermediateDataSetId, int], ...]

    @property
    def is_whole(self) -> bool:
        """Whether every place it names is one of its operators'."""
        named = [place for operator in self.operators for place in operator.inputs]
        named += [place for _, place in self.results]
        return all(0 <= place < len(self.operators) for place in named)

    def upstream(self, result_id: IntermediateDataSetId) -> Mapping[Name, str]:
        """Give the operators that compute a result, with their digests; none if the plan has no such result."""
        names = self._names()
        waiting = [place for id, place in self.results if id == result_id]
        found: dict[Name, str] = {}
        while waiting:
            place = waiting.pop()
            if names[place] not in found:
                found[names[place]] = self.operators[place].digest
                waiting += self.operators[place].inputs
        return found

    def _names(self) -> list[Name]:
        seen: Counter[str] = Counter()
        names = []
        for operator in self.operators:
            names.append((operator.name, seen[operator.name]))
            seen[operator.name] += 1
        return names


def plan_record(
    graph: StreamGraph,
    *,
    plan_id: str,
    session: Mapping[str, str],
    digests: Mapping[int, str],
    results: Mapping[IntermediateDataSetId, int],
) -> PlanRecord:
    """Give the record of a plan; `digests` are by node id, as are the nodes that give out `results`."""
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    return PlanRecord(
        version=VERSION,
        plan_id=plan_id,
        session=tuple(sorted(session.items())),
        operators=tuple(
            PlannedOperator(
                name=node.declared_name,
                digest=digests[node.id],
                inputs=tuple(places[edge.source_id] for edge in graph.in_edges[node.id]),
            )
            for node in graph.nodes
        ),
        results=tuple((id, places[node_id]) for id, node_id in results.items()),
    )


def record_plan(store: CommitStore, layout: StagingLayout, plan: PlanRecord) -> None:
    """Put a plan into the folder of a run, if it is not there."""
    key = layout.plan(plan.plan_id)
    try:
        is_there = store.get(key) is not None
    except DamagedDocumentError:
        is_there = True
    if not is_there:
        store.put_if_absent(key, to_json(plan).encode())


def find_plan(store: CommitStore, layout: StagingLayout, plan_id: str) -> PlanRecord | None:
    """Return a plan that ran a task of a run, None where there is no record of it that can be read."""
    try:
        found = get_document(store, layout.plan(plan_id), PlanRecord, version=VERSION)
    except (DamagedDocumentError, OtherVersionError):  # it only serves to name what has changed
        return None
    return found if found and found.is_whole else None


def check_inputs(log: ManifestLog, task: TaskDeploymentDescriptor, plan: PlanRecord) -> None:
    """Raise StaleResultError where a staged result was computed otherwise than the task was compiled for.

    What no task has run for is not looked at: whoever reads it says so.
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
    """Give the latest commit of a result; where there is none, what its producer has been told to compute.

    Flink's automatic ids move with operators that are added before them: the same result had another id then.
    """
    if manifest := log.latest(staged.id):
        return _Found(
            plan_id=manifest.plan_id,
            attempt_number=manifest.attempt.attempt_number,
            result_ids=(staged.id,),
            fingerprints=frozenset({manifest.fingerprint}),
        )
    producer = last_descriptor(log.layout, staged.producer)
    if producer is None:
        return None
    return _Found(
        plan_id=producer.region.plan_id,
        attempt_number=producer.attempt.attempt_number,
        result_ids=tuple(result.id for result in producer.region.results),
        fingerprints=frozenset(result.fingerprint for result in producer.region.results),
    )


def what_changed(
    before: PlanRecord,
    now: PlanRecord,
    before_ids: Collection[IntermediateDataSetId],
    now_id: IntermediateDataSetId,
) -> tuple[str, ...]:
    """Name the operators that compute a result in one plan and not, or otherwise, in another; settings too."""
    old = {name: digest for id in before_ids for name, digest in before.upstream(id).items()}
    new = now.upstream(now_id)
    kinds: Mapping[str, Callable[[Name], bool]] = {
        "changed": lambda name: name in old and name in new and old[name] != new[name],
        "added": lambda name: name not in old,
        "removed": lambda name: name not in new,
    }
    operators = [
        f"{kind}: {listing(name for name, _ in names)}"
        for kind, is_one in kinds.items()
        if (names := [name for name in sorted({*old, *new}) if is_one(name)])
    ]
    settings = sorted({key for key, _ in set(before.session) ^ set(now.session)})
    return (*operators, *([f"settings: {listing(settings)}"] if settings else []))


def _words(
    task: TaskDeploymentDescriptor,
    staged: StagedInput,
    found: _Found,
    now: PlanRecord,
    changes: Collection[str],
) -> str:
    named = "".join(f"\n  {change}" for change in changes or ["changed: nothing that is recorded"])
    return (
        f"the pipeline was changed while this run was on its way, and '{task.region.region_id}' reads what changed\n"
        f"  task '{staged.producer}' ran plan {found.plan_id} (attempt {found.attempt_number + 1}), "
        f"this one is of plan {now.plan_id}{named}\n"
        f"  hint: either run what has changed again: {clear_command(task, [staged.producer])}\n"
        f"  or deploy the version of plan {found.plan_id} again, and clear this task"
    )
