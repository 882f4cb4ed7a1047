"""Carry out a collection: a run's folder gets a name in `.trash` first, in one step, and is removed there.

Killed in between, the next collection finds the trash. Two collections at once: the second finds nothing to rename. A
run that has changed since it was looked at is left alone, and so is one of which something else could not be removed.
What a sink prepared stays if it has been decided meanwhile to publish it: ledgers are looked at again before each run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graph_compiler.deployment.documents.staging_layout import REMOVED, TRASH, StagingLayout
from graph_compiler.identifiers import path_segment
from graph_compiler.staging.gc.collection import (
    Collection,
    LeftTable,
    Removal,
    RunKey,
    Waste,
)
from graph_compiler.staging.gc.survey import last_change
from graph_compiler.staging.publications.preparations import is_folder_beside
from graph_compiler.staging.publications.publications import Publication, undone_intents
from graph_compiler.staging.store.commit_store import LocalCommitStore
from graph_compiler.staging.store.private_folders import make_private_folder


def remove(collection: Collection, root: str) -> Iterator[Removal]:
    """Remove what a collection names, and give what was removed."""
    spared: dict[RunKey, bool] = {}
    undone: frozenset[Publication] = frozenset()
    for removal in collection.removals:
        key = (removal.pipeline, removal.run_id)
        if key not in spared:
            spared[key] = bool(removal.run_id) and _has_changed(removal, root)
            undone = frozenset(undone_intents(LocalCommitStore(), root))
        if spared[key] or _is_needed(removal, undone):
            continue
        if _remove(removal, Path(root)):
            yield removal
        elif removal.run_id:
            spared[key] = True


def forget(tables: Iterable[LeftTable]) -> None:
    """Record of tables that they are gone."""
    for table in tables:
        record = Path(table.record)
        removed = record.with_name(f"{table.operator_id}{REMOVED}")
        with _keeping_time(record.parent), suppress(FileNotFoundError):
            before = record.stat()
            LocalCommitStore().put_if_absent(str(removed), b"{}")
            os.utime(removed, ns=(before.st_atime_ns, before.st_mtime_ns))


def _has_changed(removal: Removal, root: str) -> bool:
    layout = StagingLayout(root=root, pipeline=removal.pipeline, run_id=removal.run_id)
    return last_change(Path(layout.run)) != removal.changed


def _is_needed(removal: Removal, undone: frozenset[Publication]) -> bool:
    """Say whether an undone publication needs it: what is prepared is in a folder with the execution's name."""
    executions = {
        intent.execution_id
        for intent in undone
        if (intent.pipeline, intent.run_id) == (removal.pipeline, removal.run_id)
    }
    if removal.waste is Waste.PREPARED:
        return Path(removal.path).name in {path_segment(id) for id in executions}
    return removal.waste is Waste.RUN and bool(executions)


def _remove(removal: Removal, root: Path) -> bool:
    """Remove one thing; False where it is still there, or another collection was first."""
    path = Path(removal.path)
    if removal.waste is Waste.RUN:
        make_private_folder(root / TRASH)
        trash = Path(tempfile.mkdtemp(dir=root / TRASH))
        try:
            path.rename(trash / "run")
        except (
            FileNotFoundError
        ):  # another was first with the run, or has removed the folder in the trash
            with suppress(FileNotFoundError):
                trash.rmdir()
            return False
        path = trash
    if not path.exists():
        return True
    with _keeping_time(path.parent):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if is_folder_beside(path.parent):
        with suppress(OSError):  # others have prepared there
            path.parent.rmdir()
    return not path.exists()


@contextmanager
def _keeping_time(folder: Path) -> Iterator[None]:
    """Leave a folder's time as it was: to be tidied is no change of a run. Another collection may remove it."""
    before = None
    with suppress(FileNotFoundError):
        before = folder.stat()
    yield
    if before is not None:
        with suppress(FileNotFoundError):
            os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
