"""A try of an Airflow task: an attempt at each of its regions, which one driver runs one after the other.

What others are sent of it is read here: for people, why it failed; for programs, what became of each attempt, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt, AttemptEnd, read_attempt
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import in_order
from graph_compiler.staging.store.staging_store import StagingStore

End = TypeVar("End", bound=AttemptEnd)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAttempt:
    """The attempts of a try by region, in the order in which they run; of `kept` regions it kept earlier work."""

    attempts: Mapping[RegionId, Attempt]
    kept: frozenset[RegionId] = frozenset()

    @property
    def finished(self) -> frozenset[RegionId]:
        """The regions that the next try need not run."""
        return self.kept | {id for id, one in self.attempts.items() if one.is_finished}


NO_ATTEMPTS = TaskAttempt(attempts={})
"""Those of a try that failed before it was deployed."""


def causes(ends: Mapping[RegionId, End]) -> dict[RegionId, End]:
    """Return the attempts that made a try fail: those that failed, or all that did not finish if none failed.

    Those whose driver has said why come first.
    """
    left = {id: one for id, one in ends.items() if not one.is_finished}
    failed = {id: one for id, one in left.items() if one.state is ExecutionState.FAILED}
    return dict(sorted((failed or left).items(), key=lambda each: each[1].failure is None))


def read_task_attempt(
    store: StagingStore, layout: StagingLayout, region_ids: Sequence[RegionId], execution_id: str | None
) -> TaskAttempt:
    """Return a try that has ended, by default the last one; without any, it failed before it was deployed.

    Raises OSError, DamagedDocumentError and OtherVersionError.
    """
    if execution_id is None:  # each try begins with the descriptors of all its regions
        executions = in_order(store, layout, region_ids[0])
        execution_id = executions[-1].name if executions else None
    if execution_id is None:
        return NO_ATTEMPTS
    folders = {id: layout.execution(id, execution_id) for id in region_ids}
    documents = {id: AttemptDocuments(store, folder) for id, folder in folders.items()}
    kept = frozenset(id for id, one in documents.items() if one.is_kept())
    # Not the last one: what has neither a report nor an outcome by now has died.
    read = {id: read_attempt(one, is_last=False) for id, one in documents.items() if id not in kept}
    return TaskAttempt(attempts={id: one for id, one in read.items() if one is not None}, kept=kept)


_MOST = 16
"""The maximum number of attempts that are looked at: their documents are read when a try ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAttempt:
    """An attempt at a region, with times in seconds since the epoch.

    `running`: when Spark was up and began with the region, None if it never did. `ended`: its end, or its last sign of
    life if it died. `is_reported`: others were sent it before.
    """

    execution: Attempt
    running: float | None
    ended: float
    is_reported: bool

    @property
    def was_reached(self) -> bool:
        """Whether the try has come to its region before it ended."""
        return self.running is not None or self.execution.state is not ExecutionState.CANCELED


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRegion:
    """An execution that has just ended, and the attempts at its region up to it, first to last."""

    execution: TaskDeploymentDescriptor
    attempts: tuple[TimedAttempt, ...]


def read_ended(descriptor: str) -> EndedRegion | None:
    """Return what became of the execution whose descriptor has a key, None if it no longer exists.

    Raises OSError, DamagedDocumentError and OtherVersionError.
    """
    documents = AttemptDocuments.beside(descriptor)
    task = documents.read_descriptor()
    if task is None:
        return None
    return EndedRegion(execution=task, attempts=timed_attempts(task.layout, task.region.region_id, documents))


def timed_attempts(layout: StagingLayout, region_id: RegionId, own: AttemptDocuments) -> tuple[TimedAttempt, ...]:
    """Return the attempts at a region, first to last, up to its own.

    Not reported are this one, and those directly before it that have no outcome: they died. One that has kept the work
    of an earlier one is no attempt, and reports only those before it.
    """
    executions = in_order(own.store, layout, region_id)
    names = [one.folder for one in executions]
    if own.folder not in names:
        return ()
    looked_at = executions[: names.index(own.folder) + 1][-_MOST:]
    unreported = {own.folder}
    for documents in reversed(looked_at[:-1]):
        if documents.has_outcome():
            break
        unreported.add(documents.folder)
    found = (
        _timed(documents, is_reported=documents.folder not in unreported)
        for documents in looked_at
        if not documents.is_kept()
    )
    return tuple(attempt for attempt in found if attempt is not None)


def _timed(documents: AttemptDocuments, *, is_reported: bool) -> TimedAttempt | None:
    attempt = read_attempt(documents, is_last=False)
    if attempt is None:
        return None
    ended = attempt.ended
    if ended is None:
        ended = documents.last_sign() or attempt.started
    return TimedAttempt(execution=attempt, running=documents.claimed(), ended=ended, is_reported=is_reported)
