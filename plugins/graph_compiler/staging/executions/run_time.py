"""The one "now" of a run (decision 22): the time in the marker that the run's first task writes.

The clocks of hosts differ, and Spark reads its own for every action. `run.json` is put if absent, so only one clock is
read, once. Every task must see the file before it starts; every retry, cleared task and recomputation finds it in the
same place, and a replay copies it. A separate document could be lost separately, without any gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.staging.executions.run_marker import RunMarker, find_marker, mark_run
from graph_compiler.staging.store.staging_store import StagingStore

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reading of a host's clock: seconds since the epoch."""

    host: str
    time: float


def run_time(store: StagingStore, task: TaskDeploymentDescriptor, mine: Reading) -> datetime:
    """Return the run's now, to the microsecond, in UTC.

    `mine` is used only if the run has no marker yet, as in a test or a preview: then this task is its first.
    """
    marker = find_marker(store, task.layout)
    if marker is None:
        mark_run(store, RunMarker.of(task, host=mine.host, time=mine.time))
        marker = find_marker(store, task.layout)
        assert marker is not None, "it was put, by this task or another"
    return moment(marker.time)


def moment(seconds: float) -> datetime:
    """Return seconds since the epoch as a UTC time."""
    return _EPOCH + timedelta(microseconds=round(seconds * 1_000_000))
