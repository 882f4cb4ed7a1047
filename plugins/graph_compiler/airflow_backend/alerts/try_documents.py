"""What a try of a task has left in the staging root, and what that says about its failure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.deployment.documents.staging_layout import KEPT, StagingLayout
from graph_compiler.errors import SourceLocation
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, name_of_segment
from graph_compiler.staging.executions.execution_order import in_order
from graph_compiler.staging.executions.region_execution import RegionExecution, read_execution
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TryDocuments:
    """The executions of a try that has ended, by region, and the regions whose earlier work it has kept."""

    executions: Mapping[RegionId, RegionExecution]
    kept: frozenset[RegionId] = frozenset()

    @property
    def finished(self) -> frozenset[RegionId]:
        """The regions that the next try need not run."""
        done = (id for id, one in self.executions.items() if one.state is ExecutionState.FINISHED)
        return self.kept | frozenset(done)

    @property
    def failed(self) -> RegionExecution | None:
        """The execution that made the try fail: the first with a failure of its driver, else the first unfinished."""
        left = [one for id, one in self.executions.items() if id not in self.finished]
        reported = (
            one for one in left if one.report is not None and one.report.failure is not None
        )
        return next(reported, next(iter(left), None))


NO_DOCUMENTS = TryDocuments(executions={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why a try failed, as its documents say; each is None if they do not. `is_reported`: its driver said why."""

    cause: str | None = None
    is_reported: bool = False
    operator: str | None = None
    declared_at: SourceLocation | None = None
    last_seen: str | None = None
    is_permanent: bool = False
    application_id: str | None = None
    try_number: int | None = None


def read_try(
    store: StagingStore,
    layout: StagingLayout,
    regions: Sequence[RegionDescriptor],
    execution_id: str | None,
) -> TryDocuments:
    """Return the documents of a try, by default the last one; without any, it failed before it was deployed.

    Raises OSError, DamagedDocumentError and OtherVersionError.
    """
    ids = [region.region_id for region in regions]
    if execution_id is None:
        execution_id = _last(store, layout, ids[0])
    if execution_id is None:
        return NO_DOCUMENTS
    folders = {id: layout.execution(id, execution_id) for id in ids}
    kept = frozenset(id for id, one in folders.items() if store.is_there(f"{one}/{KEPT}"))
    # Not the last one: what has neither a report nor an outcome by now has died.
    read = {
        id: read_execution(store, one, is_last=False)
        for id, one in folders.items()
        if id not in kept
    }
    return TryDocuments(
        executions={id: one for id, one in read.items() if one is not None}, kept=kept
    )


def _last(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> str | None:
    """Return the id of the last try: each begins with the descriptors of all its regions."""
    begun = in_order(store, layout, region_id)
    return name_of_segment(begun[-1].rpartition("/")[2]) if begun else None


def diagnose(found: TryDocuments, regions: Sequence[RegionDescriptor]) -> Diagnosis:
    """Return what documents say about a failure; operators are looked up for where they were declared."""
    failed = found.failed
    if failed is None:
        return Diagnosis()
    known = failed.report or failed.progress
    step = failed.progress.current if failed.progress else None
    declared = {each.name: each.declared_at for region in regions for each in region.operators}
    base = Diagnosis(
        cause=failed.reason,
        last_seen=_seen(step.operator, declared.get(step.operator)) if step else None,
        application_id=known.application_id if known else None,
        try_number=failed.try_number,
    )
    failure = failed.report.failure if failed.report else None
    if failure is None:
        return base
    return Diagnosis(
        cause="\n\n".join([failure.message, *_also(found, failed)]),
        is_reported=True,
        operator=failure.operator,
        declared_at=failure.declared_at or declared.get(failure.operator or ""),
        is_permanent=failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR,
        application_id=base.application_id,
        try_number=base.try_number,
    )


def _also(found: TryDocuments, failed: RegionExecution) -> Iterator[str]:
    """Yield the failures of other regions of the task."""
    for id, one in found.executions.items():
        failure = one.report.failure if one.report else None
        if failure is not None and one is not failed:
            where = f"operator '{failure.operator}'" if failure.operator else f"region '{id}'"
            yield f"{where} failed, too: {failure.message}"


def _seen(operator: str, declared_at: SourceLocation | None) -> str:
    return f"{operator}, declared at {declared_at}" if declared_at else operator
