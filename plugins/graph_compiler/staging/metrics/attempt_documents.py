"""The attempts at a region up to the one that has just ended, with the times that its metrics need."""

from __future__ import annotations

from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    DRIVER,
    KEPT,
    OUTCOME,
    PROGRESS,
    SUBMISSION,
    StagingLayout,
    execution_of,
)
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.executions.execution_order import in_order
from graph_compiler.staging.executions.region_execution import read_execution
from graph_compiler.staging.metrics.attempt_metrics import TimedAttempt
from graph_compiler.staging.store.staging_store import StagingStore

_MOST = 16
"""The maximum number of attempts that are looked at: their documents are read when a try ends."""


def timed_attempts(
    store: StagingStore, layout: StagingLayout, region_id: RegionId, descriptor: str
) -> tuple[TimedAttempt, ...]:
    """Return the attempts at a region, first to last, up to the execution of `descriptor`.

    Not reported are this one, and those directly before it that have no outcome. One that has kept the work of an
    earlier one is no attempt, and reports only those before it.
    """
    begun = in_order(store, layout, region_id)
    own = execution_of(descriptor)
    if own not in begun:
        return ()
    folders = begun[: begun.index(own) + 1][-_MOST:]
    unreported = {own}
    for folder in reversed(folders[:-1]):
        if store.is_there(f"{folder}/{OUTCOME}"):
            break
        unreported.add(folder)
    found = (
        _timed(store, folder, is_reported=folder not in unreported)
        for folder in folders
        if not store.is_there(f"{folder}/{KEPT}")
    )
    return tuple(attempt for attempt in found if attempt is not None)


def _timed(store: StagingStore, folder: str, *, is_reported: bool) -> TimedAttempt | None:
    execution = read_execution(store, folder, is_last=False)
    if execution is None:
        return None
    ended = execution.ended
    if ended is None:
        signs = (store.written(f"{folder}/{name}") for name in (DESCRIPTOR, SUBMISSION, PROGRESS))
        ended = max((sign for sign in signs if sign is not None), default=execution.started)
    running = store.written(f"{folder}/{DRIVER}")
    return TimedAttempt(execution=execution, running=running, ended=ended, is_reported=is_reported)
