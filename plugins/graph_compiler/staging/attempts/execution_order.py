"""The order in which the executions of a region started, and the one driver of each; independent of clocks.

    descriptor.json   →   order/<n>.json      the first free number is its own

Airflow's try numbers grow during a run, and start again if it is deleted and created again; a clock may be set back.
Executions with a descriptor and no number (of an earlier version, or dead in between) come before all others.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError, ExecutionClaimedError, OtherVersionError
from graph_compiler.identifiers import RegionId, path_segment
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.store.numbered_documents import numbered, numbers_in, put_behind
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The execution that has a number."""

    execution_id: str


def begin(store: StagingStore, task: TaskDeploymentDescriptor) -> bool:
    """Write an execution's descriptor, and its number; False if this execution has already started."""
    region_id, execution_id = task.region.region_id, task.attempt.execution_id
    if not store.put_if_absent(AttemptDocuments.of(task, store).descriptor, task.to_json().encode()):
        return False
    put_behind(store, task.layout.order(region_id), to_json(Turn(execution_id=execution_id)).encode())
    return True


def in_order(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> list[AttemptDocuments]:
    """Return the documents of a region's executions that have a descriptor, in the order in which they started.

    Raises DamagedDocumentError if a number cannot be read: a guess could let a superseded execution commit.
    """
    turns = _turns(store, layout.order(region_id))
    begun: list[tuple[int, float, str]] = []
    for name in store.folders(layout.executions(region_id)):
        folder = f"{layout.executions(region_id)}/{name}"
        # One without a number was started by an earlier version, which used the time of its descriptor.
        if (time := AttemptDocuments(store, folder).began()) is not None:
            begun.append((turns[name], 0, folder) if name in turns else (-1, time, folder))
    return [AttemptDocuments(store, folder) for _, _, folder in sorted(begun)]


def _turns(store: StagingStore, folder: str) -> dict[str, int]:
    """Return the number of each execution, by the name of its folder."""
    turns: dict[str, int] = {}
    for number in numbers_in(store, folder):
        try:
            turn = get_document(store, numbered(folder, number), Turn)
        except DamagedDocumentError as error:
            raise error.hinting(
                "remove it, and clear the task: its execution then counts as begun before all others"
            ) from None
        if turn is not None:  # otherwise a collection is removing the run
            turns.setdefault(path_segment(turn.execution_id), number)
    return turns


# Each execution has one driver: a second one, started by a supervisor or a queue, commits nothing.


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverClaim:
    """Which process drives an execution; `time` is seconds since the epoch."""

    host: str
    process_id: int
    time: float


def claim_execution(store: StagingStore, task: TaskDeploymentDescriptor) -> None:
    """Write this process's claim; raises ExecutionClaimedError if another process has one."""
    key = AttemptDocuments.of(task, store).driver
    mine = DriverClaim(host=socket.gethostname(), process_id=os.getpid(), time=time.time())
    if store.put_if_absent(key, to_json(mine).encode()):
        return
    other = _claimed_by(store, key, mine)
    if other is not None:
        raise ExecutionClaimedError(
            f"execution {task.attempt.execution_id} of '{task.region.region_id}' has a driver already: "
            f"{other}; this one commits nothing"
        )


def _claimed_by(store: StagingStore, key: str, mine: DriverClaim) -> str | None:
    """Return who wrote a claim; None if this process did, and wrote again because the first answer was lost."""
    try:
        other = get_document(store, key, DriverClaim)
    except (DamagedDocumentError, OtherVersionError) as error:
        return f"one whose claim cannot be read ({error})"
    assert other is not None, "claims are never deleted while their run lives"
    return None if other == mine else f"process {other.process_id} on {other.host}"
