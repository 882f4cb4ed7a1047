"""Let an execution's files appear in their target; any execution may do it, and it may be repeated (decision 47).

    complete    each file appears as a whole, under its final name
    look        all of them are there; otherwise others have removed them, and nothing more is done
    remove      the files that the new ones replace
    clear       what the execution has written beside them

Several carriers may do this at once, and one may sleep at any point. Completing a file a second time changes nothing,
so a carrier that wakes after a later publication has removed the file does not bring it back. It notices that the file
is missing, and stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph_compiler.errors import PublicationConflictError, PublicationPendingError
from graph_compiler.staging.publications.in_bucket.bucket_listing import objects_seen
from graph_compiler.staging.publications.intent import Intent
from graph_compiler.staging.store.deferred_files import DeferredFile, DeferringStore
from graph_compiler.staging.store.read_document import get_document

_FILES = "files.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredFiles:
    """The document in an execution's folder with the files that are to appear."""

    files: tuple[DeferredFile, ...]


def files_document(prepared: str) -> str:
    """Return the key of the document in an execution's folder."""
    return f"{prepared}/{_FILES}"


def carry_out(intent: Intent, store: DeferringStore) -> None:
    """Let the new files appear, and remove those that they replace.

    Raises PublicationConflictError if the files are neither written nor in the target, PublicationPendingError if the
    store does not carry out a step: a repetition continues from there.
    """
    try:
        for _ in steps(intent, store):
            pass
    except OSError as error:
        raise PublicationPendingError(
            f"{intent.target} does not take what execution {intent.execution_id} of run {intent.identity.run_id} has "
            f"decided to publish: {error.strerror or error}\n"
            "  hint: fix this, and clear the task: the next execution that writes the target finishes it. "
            f"To give it up, remove {intent.prepared}"
        ) from error


def steps(intent: Intent, store: DeferringStore) -> Iterator[None]:
    """Do the same step by step: at each yield the carrier may die, and other carriers may run."""
    written = get_document(store, files_document(intent.prepared), DeferredFiles)
    yield
    there = objects_seen(store, intent.target)
    if written is not None:
        missing = frozenset(f"{intent.target}/{name}" for name in set(intent.add) - there)
        yield
        store.complete([file for file in written.files if file.key in missing])
        yield
        there = objects_seen(store, intent.target)
    if lost := sorted(set(intent.add) - there):
        raise PublicationConflictError(
            f"{lost[0]} is gone from {intent.prepared}, and is not in {intent.target}: "
            "another execution has published since, or it was removed by hand"
        )
    yield
    store.delete_files(f"{intent.target}/{name}" for name in sorted(there & set(intent.remove)))
    yield
    store.delete(intent.prepared)
