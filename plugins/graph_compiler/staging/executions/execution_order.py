"""The order in which the executions of a region began: put, one number each, and never read off a clock.

    descriptor.json   →   order/<n>.json      the first free number is its own

Airflow's try numbers grow while a run lives, and begin again where it is deleted and created again; a clock may be set
back. Executions that have a descriptor and no number (of an earlier version, or dead in between) come before all
others.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    executions_folder,
    order_folder,
)
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.identifiers import RegionId, path_segment
from graph_compiler.staging.store.bounded_read import folders_in, names_in
from graph_compiler.staging.store.commit_store import CommitStore
from graph_compiler.staging.store.read_document import read_document

_NAME = re.compile(r"(0|[1-9][0-9]*)\.json", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Which execution has a number."""

    execution_id: str


def begin(store: CommitStore, task: TaskDeploymentDescriptor) -> bool:
    """Leave an execution's descriptor, and its number; False where this very execution has begun before."""
    region_id, execution_id = task.region.region_id, task.attempt.execution_id
    if not store.put_if_absent(
        task.layout.descriptor(region_id, execution_id), task.to_json().encode()
    ):
        return False
    folder, content = (
        order_folder(task.layout.run, region_id),
        to_json(Turn(execution_id=execution_id)),
    )
    number = max(_numbers(folder), default=-1) + 1
    while not store.put_if_absent(f"{folder}/{number}.json", content.encode()):
        number += 1
    return True


def in_order(run: Path, region_id: RegionId) -> list[Path]:
    """Return the folders of a region's executions that have a descriptor, in the order in which they began.

    Raises DamagedDocumentError where a number cannot be read: a guess could let an execution commit that was given up.
    """
    turns = _turns(order_folder(str(run), region_id))
    begun = []
    for name in folders_in(executions_folder(str(run), region_id)):
        folder = Path(executions_folder(str(run), region_id), name)
        with suppress(FileNotFoundError):
            # What has no number was begun by an earlier version, which went by the time of this file.
            time = (folder / DESCRIPTOR).lstat().st_mtime_ns
            begun.append((turns[name], 0, folder) if name in turns else (-1, time, folder))
    return [folder for _, _, folder in sorted(begun)]


def _turns(folder: str) -> dict[str, int]:
    """Return the number of each execution, by the name of its folder."""
    turns: dict[str, int] = {}
    for number in _numbers(folder):
        try:
            turn = read_document(f"{folder}/{number}.json", Turn)
        except DamagedDocumentError as error:
            raise error.hinting(
                "remove it, and clear the task: its execution then counts as begun before all others"
            ) from None
        if turn is not None:  # else a collection removes the run
            turns.setdefault(path_segment(turn.execution_id), number)
    return turns


def _numbers(folder: str) -> list[int]:
    names = (_NAME.fullmatch(name) for name in names_in(folder))
    return sorted(int(name[1]) for name in names if name)
