"""What sinks prepare outside their run's folder: recorded before it is created, and again when it has been removed.

    tasks/<region>/<execution>/prepared/<operator>.json           about to be created
    tasks/<region>/<execution>/prepared/<operator>.removed.json   published, or removed

In an object store, Spark writes below `__magic_job-<execution>` in the target, which is S3A's name for files that
appear later, and what is known of them is in `.graph_compiler/<execution>` there.

Without the second record something may be left, and `graph-compiler staging gc` looks for it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

from graph_compiler.identifiers import OperatorId, path_segment
from graph_compiler.stores.known_stores import kind_of_place

NAME_BYTES = 255
"""The longest name of a file or folder that Linux's file systems take."""
_ENDING = ".graph_compiler"
_DIGEST = 16
BRANCH = ".branch_"
"""What stands between a table and its branch, in the name by which Spark reads and writes the branch."""
WRITING = "__magic_job-"
"""Hadoop's `CommitConstants.MAGIC_PATH_PREFIX`: 3.4 and later."""


class PlaceKind(StrEnum):
    """Where a sink prepares its rows: a FOLDER beside its target, a TABLE in its database, a BRANCH of the table."""

    FOLDER = "FOLDER"
    TABLE = "TABLE"
    BRANCH = "BRANCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPlace:
    """Where rows are prepared. `target` is their target, as publications name it."""

    kind: PlaceKind
    place: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """The record of what an execution is about to prepare."""

    operator_id: OperatorId
    execution_id: str
    prepared: PreparedPlace


def beside(target: Path) -> Path:
    """Return the folder in which executions prepare rows for a target that is a folder."""
    name = f".{target.name}{_ENDING}"
    if len(os.fsencode(name)) > NAME_BYTES:
        encoded = os.fsencode(target.name)
        digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST]
        room = NAME_BYTES - len(f".~{digest}{_ENDING}")
        name = f".{encoded[:room].decode(errors='ignore')}~{digest}{_ENDING}"
    return target.parent / name


def inside(folder: Path) -> Path:
    """Return the folder in which executions prepare rows inside a target that is a mount point."""
    return folder / _ENDING


def beside_in_store(target: str, execution: str) -> str:
    """Return the folder in which an execution prepares rows for a target in a store that renames folders."""
    around, _, name = target.rpartition("/")
    return f"{around}/{beside(Path(name)).name}/{execution}"


def inside_bucket(target: str, execution: str) -> str:
    """Return the folder of an execution's documents and rows in a target in an object store."""
    return f"{target}/{_ENDING}/{execution}"


def written_in_bucket(prepared: str) -> str:
    """Return the folder in an object store in which files that will appear are written, for a folder of documents.

    That of a target that is a file (`beside_in_store`) is beside it, and other sinks may write files there.
    """
    around, name, execution = prepared.removesuffix("/").rsplit("/", 2)
    return f"{around}/{WRITING}{execution}{'' if name == _ENDING else name}"


def prepared_folders(place: str) -> tuple[str, ...]:
    """Return all folders that an execution may have made for the place of its prepared rows."""
    kind = kind_of_place(place)
    is_in_bucket = kind is not None and kind.promises.deferred_files and place.split("/")[-2].endswith(_ENDING)
    return (written_in_bucket(place), place) if is_in_bucket else (place,)


def is_folder_beside(folder: PurePath) -> bool:
    """Whether a folder is one that `beside` or `inside` returns."""
    return folder.name.startswith(".") and folder.name.endswith(_ENDING)


def is_beside(preparation: Preparation) -> bool:
    """Whether a record names a folder that belongs only to its execution: nothing else may be removed because of it."""
    prepared = preparation.prepared
    execution = path_segment(preparation.execution_id)
    if (kind := kind_of_place(prepared.target)) is not None:
        folders = [inside_bucket] if kind.promises.deferred_files else []
        is_its = prepared.place in [folder(prepared.target, execution) for folder in (*folders, beside_in_store)]
    else:
        target = Path(prepared.target)
        is_its = Path(prepared.place) in (beside(target) / execution, inside(target) / execution)
    return prepared.kind is PlaceKind.FOLDER and is_its
