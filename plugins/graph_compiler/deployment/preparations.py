"""What sinks make outside their run's folder: recorded before it is made, and again when nothing of it is left.

    tasks/<region>/<execution>/prepared/<operator>.json           about to be made
    tasks/<region>/<execution>/prepared/<operator>.removed.json   published, or taken away

Without the second record something may be left, and `graph-compiler staging gc` looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from graph_compiler.identifiers import OperatorId, path_segment


class PlaceKind(StrEnum):
    """What a sink prepares its rows as: files in a FOLDER beside its target, or a TABLE in the target's database."""

    FOLDER = "FOLDER"
    TABLE = "TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPlace:
    """Where rows are prepared. `target` is what they are for, as publications name it."""

    kind: PlaceKind
    place: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """The record: who is about to make what."""

    operator_id: OperatorId
    execution_id: str
    prepared: PreparedPlace


def beside(target: Path) -> Path:
    """Give the folder of what executions prepare for a target that is a folder."""
    return target.parent / f".{target.name}.graph_compiler"


def is_folder_beside(folder: Path) -> bool:
    """Say whether a folder is one that `beside` names."""
    return folder.name.startswith(".") and folder.name.endswith(".graph_compiler")


def is_beside(preparation: Preparation) -> bool:
    """Say whether a record names a folder that only its execution has: nothing else may be removed for it."""
    prepared = preparation.prepared
    folder = beside(Path(prepared.target)) / path_segment(preparation.execution_id)
    return prepared.kind is PlaceKind.FOLDER and Path(prepared.place) == folder
