"""Let an execution's files appear in their target; any execution may do it, and it may be repeated (decision 47).

    complete    each file appears as a whole, under its final name
    look        all of them are there; otherwise others have removed them, and the rest is stopped
    remove      the files that the new ones replace
    clear       what the execution has written beside them

Several carriers may do this at once, and one may sleep at any point. Completing a file a second time changes nothing,
so a carrier that wakes after a later publication has removed the file does not bring it back. It notices that the file
is missing, and stops.

If `files.json` was removed before all files appeared (by `staging gc`, or by hand), they never will: uploads that are
left are aborted, so that no carrier which sleeps can complete them later. Since the files were never all there, no old
one was removed, and the new ones that have appeared are removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications.publications import Intent, ended
from graph_compiler.staging.publications.store_listing import files_seen
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


def carry_out(intent: Intent, store: DeferringStore, is_open: Callable[[], bool] = ended) -> None:
    """Let the new files appear, and remove those that they replace; `is_open`: whether no end is recorded.

    Raises PublicationConflictError if the files are neither written nor in the target, PublicationPendingError if the
    store does not carry out a step: a repetition continues from there.
    """
    try:
        for _ in steps(intent, store, is_open):
            pass
    except OSError as error:
        raise intent.pending(str(error.strerror or error)) from error


def steps(intent: Intent, store: DeferringStore, is_open: Callable[[], bool] = ended) -> Iterator[None]:
    """Do the same step by step: at each yield the carrier may die, and other carriers may run."""
    written = get_document(store, files_document(intent.prepared), DeferredFiles)
    yield
    there = files_seen(store, intent.target)
    if written is not None:
        missing = frozenset(f"{intent.target}/{name}" for name in set(intent.add) - there)
        yield
        store.complete([file for file in written.files if file.key in missing])
        yield
        there = files_seen(store, intent.target)
    if lost := sorted(set(intent.add) - there):
        stopped = _stop(intent, store, lost)
        yield
        there = files_seen(store, intent.target)
        lost = sorted(set(intent.add) - there)
        were_never_all_there = written is None or not stopped.isdisjoint(lost)
        if lost and were_never_all_there and is_open():
            appeared = sorted(there & set(intent.add))
            store.delete_files(f"{intent.target}/{name}" for name in appeared)
    if lost:
        raise PublicationConflictError(
            f"{lost[0]} is gone from {intent.prepared}, and is not in {intent.target}: "
            "another execution has published since, or it was removed by hand"
        )
    yield
    store.delete_files(f"{intent.target}/{name}" for name in sorted(there & set(intent.remove)))
    yield
    store.delete(intent.prepared)


def _stop(intent: Intent, store: DeferringStore, names: Collection[str]) -> frozenset[str]:
    """Abort what is left of uploads to these files; return those that had one, none if it may not be asked."""
    keys = {f"{intent.target}/{name}": name for name in names}
    try:
        return frozenset(keys[key] for key in store.abort_uploads(intent.target, keys))
    except PermissionError:
        return frozenset()
