"""Each execution has one driver: a second one, started by a supervisor or a queue, commits nothing."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import (
    DamagedDocumentError,
    ExecutionClaimedError,
    OtherVersionError,
)
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverClaim:
    """Which process drives an execution; `time` is seconds since the epoch."""

    host: str
    process_id: int
    time: float


def claim_execution(store: StagingStore, task: TaskDeploymentDescriptor) -> None:
    """Write this process's claim; raises ExecutionClaimedError if another process has one."""
    key = task.layout.driver(task.region.region_id, task.attempt.execution_id)
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
