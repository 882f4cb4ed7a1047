"""A try of an Airflow task: an attempt at each of its regions, which one driver runs one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
        begun = in_order(store, layout, region_ids[0])
        execution_id = begun[-1].name if begun else None
    if execution_id is None:
        return NO_ATTEMPTS
    folders = {id: layout.execution(id, execution_id) for id in region_ids}
    documents = {id: AttemptDocuments(store, folder) for id, folder in folders.items()}
    kept = frozenset(id for id, one in documents.items() if one.is_kept())
    # Not the last one: what has neither a report nor an outcome by now has died.
    read = {id: read_attempt(one, is_last=False) for id, one in documents.items() if id not in kept}
    return TaskAttempt(attempts={id: one for id, one in read.items() if one is not None}, kept=kept)
