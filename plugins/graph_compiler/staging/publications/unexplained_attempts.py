"""Attempts that may have decided a publication whose record is unreadable.

A sink records its target before it prepares anything, and therefore before anything is decided. So an unreadable
publication was decided by an attempt that recorded its target and whose publications are not among the readable ones,
or by one whose run has been removed since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.staging_layout import PREPARED, REMOVED, StagingLayout
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.attempts import identity_of
from graph_compiler.staging.publications.preparations import Preparation
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.stores.known_stores import putting

PUBLISHED, TAKEN_AWAY = '{"published": true}', '{"published": false}'
"""The record that nothing is left of what a sink prepared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexplainedAttempt:
    """An attempt with a recorded or unreadable target; `record` is the path of the record that nothing is left."""

    execution_id: str
    record: str
    has_ended: bool
    is_closed: bool


def way_out(attempts: Sequence[UnexplainedAttempt]) -> str:
    """Return how to record that nothing of some attempts is in the target."""
    return putting(TAKEN_AWAY, *(attempt.record for attempt in attempts))


def of_run(
    store: StagingStore, layout: StagingLayout, target: str, explained: Collection[str]
) -> tuple[UnexplainedAttempt, ...]:
    """Return the attempts of a run that may have published to a target, except the `explained` ones."""
    return tuple(_in_run(store, layout.run, target, explained))


def of_dag_run(
    store: StagingStore, layout: StagingLayout, target: str, explained: Collection[str]
) -> tuple[UnexplainedAttempt, ...]:
    """Return the attempts of other runs in the same Dag run that may have published to a target.

    A run whose Dag run is unknown, since its marker is unreadable, counts.
    """
    mine = layout.identity
    return tuple(
        attempt
        for run in _runs(store, layout.root)
        if run != layout.run
        for attempt in _in_run(store, run, target, explained)
        if (its := identity_of(store, run)) is None or (its.dag_id, its.run_id) == (mine.dag_id, mine.run_id)
    )


def alive(store: StagingStore, root: str, target: str, explained: Collection[str]) -> tuple[UnexplainedAttempt, ...]:
    """Return the attempts of any run that may be carrying out a publication to a target now."""
    found = (attempt for run in _runs(store, root) for attempt in _in_run(store, run, target, explained))
    return tuple(one for one in found if not one.has_ended and not one.is_closed)


def _runs(store: StagingStore, root: str) -> Iterator[str]:
    for pipeline in store.folders(root):
        if not pipeline.startswith("."):
            for run in store.folders(f"{root}/{pipeline}"):
                yield f"{root}/{pipeline}/{run}"


def _in_run(store: StagingStore, run: str, target: str, explained: Collection[str]) -> Iterator[UnexplainedAttempt]:
    for region in store.folders(f"{run}/tasks"):
        for name in store.folders(f"{run}/tasks/{region}"):
            attempt = f"{run}/tasks/{region}/{name}"
            documents = AttemptDocuments(store, attempt)
            has_ended = documents.has_outcome() or documents.has_report()
            for record in store.keys(f"{attempt}/{PREPARED}"):
                if record.endswith(REMOVED) or not record.endswith(".json"):
                    continue
                removed = record.removesuffix(".json") + REMOVED
                execution_id = _names(store, record, target)
                is_closed = store.is_there(removed)
                if execution_id in explained or execution_id is None:
                    continue
                if _is_taken_away(store, removed):
                    continue
                yield UnexplainedAttempt(
                    execution_id=execution_id or name, record=removed, has_ended=has_ended, is_closed=is_closed
                )


def _names(store: StagingStore, record: str, target: str) -> str | None:
    """Return the owner of a record of a target; empty if it is unreadable, None if it is of another target."""
    try:
        found = get_document(store, record, Preparation)
    except DamagedDocumentError:
        return ""
    return found.execution_id if found and found.prepared.target == target else None


def _is_taken_away(store: StagingStore, removed: str) -> bool:
    """Whether a record says that prepared rows never reached the target; earlier versions did not record it."""
    try:
        content = store.get(removed)
        document = {} if content is None else decode_object(content, removed)
    except DamagedDocumentError:
        return False
    return document.get("published") is False
