"""Folders that no sink may overwrite: the staging root, those of the project, and system folders.

A sink replaces files, and creates a folder beside its target. If the target is or contains one of these folders, the
first overwrite removes it; a target inside the staging root overwrites what other pipelines staged.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import graph_compiler
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import Problem, SourceLocation
from graph_compiler.identifiers import PIPELINES
from graph_compiler.staging.publications.on_disk.local_places import LocalPlace
from graph_compiler.staging.publications.store_places import StorePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFolder:
    """A folder, and its description. `takes_targets`: a target may be inside it, but must not be it or contain it."""

    path: str
    what: str
    takes_targets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlace:
    """A sink with its rendered path, and where it was declared."""

    name: str
    path: str
    declared_at: SourceLocation | None

    @classmethod
    def of(
        cls, name: str, operator: object, declared_at: SourceLocation | None
    ) -> SinkPlace | None:
        """Return the place of a sink of files, None for anything else."""
        if not isinstance(operator, Sink) or not isinstance(operator.connector, FileConnector):
            return None
        return cls(name=name, path=operator.connector.path, declared_at=declared_at)


def own_folders(
    staging_root: str, declared: Iterable[SourceLocation | None] = ()
) -> tuple[OwnFolder, ...]:
    """Return the folders that are known on every worker; `declared` are the locations of a task's operators."""
    files = dict.fromkeys(Path(place.file) for place in declared if place is not None)
    folders = dict.fromkeys(file.parent for file in files if file.is_absolute() and file.exists())
    packages = [
        parent
        for folder in folders
        for parent in (folder, *folder.parents)
        if parent.name == PIPELINES
    ]
    return (
        OwnFolder(path=staging_root, what="the staging root"),
        OwnFolder(path=str(Path(graph_compiler.__file__).parent), what="graph_compiler itself"),
        *(OwnFolder(path=str(folder), what="the pipelines folder") for folder in packages),
        *(
            OwnFolder(path=str(folder), what="the folder it is declared in", takes_targets=True)
            for folder in folders
        ),
        OwnFolder(path=str(Path.home()), what="a home folder", takes_targets=True),
        OwnFolder(
            path=tempfile.gettempdir(), what="the folder for temporary files", takes_targets=True
        ),
        OwnFolder(path=sys.prefix, what="Python's folder", takes_targets=True),
    )


def find_own_folder_problems(
    sinks: Iterable[SinkPlace], folders: Sequence[OwnFolder]
) -> Iterator[Problem]:
    """Find targets that are, contain, or are inside a folder that no sink may overwrite; one problem per sink."""
    known = [
        (folder, LocalPlace.at(path)) for folder in folders if (path := local_path(folder.path))
    ]
    in_stores = [
        (folder, place) for folder in folders if (place := StorePlace.of(folder.path)) is not None
    ]
    for sink in sinks:
        path = local_path(sink.path)
        target = None if path is None or ".." in path.parts else LocalPlace.at(path)
        words = [_words(target, folder, place) for folder, place in known] if target else []
        if (stored := StorePlace.of(sink.path)) is not None:
            words = [_words_in_store(stored, folder, place) for folder, place in in_stores]
        if found := next((one for one in words if one), None):
            yield Problem(
                operator=sink.name,
                message=f"its target {path or sink.path} {found}",
                allowed="a folder of its own",
                hint="a sink replaces files of its target, and prepares others beside it",
                declared_at=sink.declared_at,
            )


def _words(target: LocalPlace, folder: OwnFolder, place: LocalPlace) -> str | None:
    """Return how a target relates to a folder, as text, None if they do not overlap."""
    is_root = target.path == PurePosixPath("/")
    if target.contains(place):
        is_it = place.contains(target)
        verb = "is" if is_it and not is_root else "contains"
        return f"{verb} {folder.what}" + ("" if is_it else f", {folder.path}")
    lies_in = place.contains(target) and not folder.takes_targets
    return f"lies in {folder.what}, {folder.path}" if lies_in else None


def _words_in_store(target: StorePlace, folder: OwnFolder, place: StorePlace) -> str | None:
    """Return how a target in a store relates to a folder there, as text, None if they do not overlap."""
    if target.contains(place):
        return f"is {folder.what}" if target == place else f"contains {folder.what}, {folder.path}"
    return f"lies in {folder.what}, {folder.path}" if place.contains(target) else None
