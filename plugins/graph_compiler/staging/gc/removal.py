"""Carry out a collection: a run's folder is first renamed into `.trash`, in one step, and removed there.

If it is killed in between, the next collection finds the trash. Of two concurrent collections, the second finds nothing
to rename. In a store without renames, the run's marker is removed first, so that no task continues the run, and the
descriptors in `tasks/`, by which a run is found, last.

A run is kept if it has changed since the survey, or if another part of it could not be removed. Prepared rows are kept
if their publication was decided in the meantime: the ledgers are read again before each run. Copies of checkpoints are
looked at again, too; who makes one checks at its end that it is still there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import MARKER, REMOVED, TASKS, TRASH, StagingLayout
from graph_compiler.identifiers import path_segment
from graph_compiler.staging.gc.collection import Collection, LeftTable, Removal, Waste
from graph_compiler.staging.gc.survey import copies_in, last_change
from graph_compiler.staging.publications.preparations import is_folder_beside, prepared_folders
from graph_compiler.staging.publications.publications import Publication, undone_intents
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_beside


def remove(store: StagingStore, collection: Collection, root: str) -> Iterator[Removal]:
    """Remove what a collection lists, and yield what was removed."""
    spared: dict[RunIdentity | None, bool] = {}
    undone: frozenset[Publication] = frozenset()
    for removal in collection.removals:
        run = removal.run
        if run not in spared:
            spared[run] = run is not None and _has_changed(store, run, removal.changed, root)
            undone = frozenset(undone_intents(store, root))
        if spared[run] or _is_needed(removal, undone) or _is_in_use(store, removal, root):
            continue
        if _remove(store, removal, root):
            yield removal
        elif run is not None:
            spared[run] = True


def forget(store: StagingStore, tables: Iterable[LeftTable]) -> None:
    """Record that tables are dropped, if their preparations are still recorded."""
    for table in tables:
        if store.is_there(table.record):
            folder = table.record.rpartition("/")[0]
            store.put_if_absent(f"{folder}/{table.operator_id}{REMOVED}", b"{}")


def _has_changed(store: StagingStore, run: RunIdentity, changed: float, root: str) -> bool:
    return last_change(store, StagingLayout(root=root, identity=run)) != changed


def _is_in_use(store: StagingStore, removal: Removal, root: str) -> bool:
    """Whether a copy of a checkpoint is not any more one that its writer has left."""
    if removal.waste is not Waste.UNFINISHED:
        return False
    return all((copy.path, copy.changed) != (removal.path, removal.changed) for copy in copies_in(store, root))


def _is_needed(removal: Removal, undone: frozenset[Publication]) -> bool:
    """Whether an unfinished publication needs it: prepared rows are in a folder with the execution's name."""
    executions = {intent.execution_id for intent in undone if intent.identity == removal.run}
    if removal.waste is Waste.PREPARED:
        return PurePosixPath(removal.path).name in {path_segment(id) for id in executions}
    return removal.waste is Waste.RUN and bool(executions)


def _remove(store: StagingStore, removal: Removal, root: str) -> bool:
    """Remove one thing; False if it still exists, or another collection was first."""
    path = removal.path
    if removal.waste is Waste.RUN and not store.promises.atomic_move:
        _remove_all_but_tasks(store, path)
    elif removal.waste in (Waste.RUN, Waste.UNFINISHED):  # streams are in stores that can move
        path = f"{root}/{TRASH}/{uuid.uuid4().hex}"
        if not store.move(removal.path, path):  # another collection has taken it
            return False
    store = store_beside(store, root, path)
    folders = prepared_folders(path) if removal.waste is Waste.PREPARED else (path,)
    is_gone = all(store.delete(folder) for folder in folders)
    around = path.rpartition("/")[0]  # a path would lose a slash of a URI
    if is_folder_beside(PurePosixPath(around)):
        store.discard_empty(around)
    return is_gone


def _remove_all_but_tasks(store: StagingStore, run: str) -> None:
    store.delete(f"{run}/{MARKER}")
    for name in store.folders(run):
        if name != TASKS:
            store.delete(f"{run}/{name}")
