"""Move an execution's prepared files into their target in HDFS; any execution may do it, and it may be repeated.

    claim       rename the folder with the files to a name of this carrier; of several carriers one succeeds
    bring in    if there is no target yet, rename the folder to it: all files appear in one step
                otherwise rename the files one by one, into the target
    look        all of them are there; otherwise others have removed them, and nothing more is done
    remove      the files that the new ones replace

A carrier is the process that does this. It changes files only below the name under which it has claimed them. If it
dies, its claim remains, and the next carrier claims that; what it wakes up to, or what arrives late of it, finds no
file under that name. So a file that others have removed since is never brought back. HDFS cannot exchange two folders,
so readers see old and new files together for a while, and never fewer rows than one version has.

If the prepared folder was removed (by `staging gc`, or by hand) before all files were brought in, they never will be.
As long as all old files are there, those new ones that were brought in are removed again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications.publications import Intent, ended
from graph_compiler.staging.store.staging_store import StagingStore


def carry_out(intent: Intent, store: StagingStore, is_open: Callable[[], bool] = ended) -> None:
    """Bring the new files in, and remove those that they replace; `is_open`: whether no end is recorded.

    Raises PublicationConflictError if the files are neither prepared nor in the target, PublicationPendingError if HDFS
    does not carry out a step: a repetition continues from there.
    """
    try:
        for _ in steps(intent, store, uuid.uuid4().hex, is_open):
            pass
    except OSError as error:
        raise intent.pending(str(error.strerror or error)) from error


def steps(intent: Intent, store: StagingStore, carrier: str, is_open: Callable[[], bool] = ended) -> Iterator[None]:
    """Do the same step by step: at each yield the carrier may die, and other carriers may run."""
    for number in count():
        folders = store.folders(intent.prepared)
        if not folders:
            break
        yield
        claimed = f"{intent.prepared}/{carrier}-{number}"
        if not store.move(f"{intent.prepared}/{folders[0]}", claimed):
            continue  # another carrier has claimed it
        yield
        yield from _bring_in(intent, store, claimed)
    there = _names(store, intent.target)
    if lost := [name for name in intent.add if name not in there]:
        yield
        if is_open() and there.issuperset(intent.remove):  # what they replace
            _remove(there & set(intent.add), intent, store)
        raise PublicationConflictError(
            f"{lost[0]} is gone from {intent.prepared}, and is not in {intent.target}: "
            "another execution has published since, or it was removed by hand"
        )
    yield
    for name in intent.remove:
        _remove({name} & there, intent, store)
        yield
    for folder in {name.rpartition("/")[0] for name in intent.remove}:
        _remove_empty_folders(intent.target, folder, store)
    remove_empty(intent.prepared, store)


def remove_empty(prepared: str, store: StagingStore) -> None:
    """Remove an execution's folder, and its parent if no other execution prepares rows there."""
    for folder in (prepared, prepared.rpartition("/")[0]):
        store.discard_empty(folder)


def _bring_in(intent: Intent, store: StagingStore, claimed: str) -> Iterator[None]:
    """Move the new files of a claimed folder into place, and delete it when it has none."""
    names = _names(store, claimed) & set(intent.add)
    yield
    if names == set(intent.add) and not store.is_there(intent.target):
        yield
        try:
            if store.move(claimed, intent.target):
                return
        except FileExistsError:
            pass  # others have made it meanwhile
    for name in sorted(names):
        yield
        if not store.move(f"{claimed}/{name}", f"{intent.target}/{name}"):
            return  # another carrier has claimed the folder
    yield
    # No other carrier uses this name: what it has claimed has its own.
    if not _names(store, claimed) & set(intent.add):
        store.delete(claimed)


def _remove(names: Iterable[str], intent: Intent, store: StagingStore) -> None:
    for name in names:
        if not store.delete(f"{intent.target}/{name}"):
            raise OSError(f"{intent.target}/{name} cannot be removed")


def _names(store: StagingStore, folder: str) -> set[str]:
    return {file.key.removeprefix(f"{folder}/") for file in store.files(folder)}


def _remove_empty_folders(target: str, folder: str, store: StagingStore) -> None:
    """Remove a partition's folder, and those around it, if nothing is in them."""
    while folder:
        store.discard_empty(f"{target}/{folder}")
        folder = folder.rpartition("/")[0]
