"""The marker of a run's first task in its folder; a worker that does not see it does not share the staging root.

A task that reads no staged result may be the first: it writes the marker if there is none. A task that reads some is
never the first: the marker and its producers' documents must exist. Lost data are recomputed, but their documents are
kept in other folders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from graph_compiler.deployment.documents.descriptor import RegionDescriptor, StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity, with_identity
from graph_compiler.deployment.documents.staging_layout import DESCRIPTOR, StagingLayout
from graph_compiler.deployment.documents.wire import Json, to_json, values_within
from graph_compiler.errors import DamagedDocumentError, StagingError, StagingRootNotSharedError, StaleResultError
from graph_compiler.identifiers import RegionId, listing
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore

VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMarker:
    """The first task's host, time (seconds since the epoch) and plan.

    `time` is what `current_timestamp()` is in all tasks of the run. `ttl` is the pipeline's
    `staging.ttl` in seconds.
    """

    version: int
    root: str
    identity: RunIdentity
    host: str
    time: float
    plan_id: str
    ttl: float

    @classmethod
    def of(cls, task: TaskDeploymentDescriptor, *, host: str, time: float) -> Self:
        """Return the marker that a task would write."""
        return cls(
            version=VERSION,
            root=task.staging_root,
            identity=task.identity,
            host=host,
            time=time,
            plan_id=task.region.plan_id,
            ttl=task.region.retention.ttl,
        )


def _upgraded(document: dict[str, Json]) -> dict[str, Json]:
    """Return a marker of version 1, which knew only the pipeline's own Dag, as one of this version."""
    is_first = document.get("version") == 1
    return {**with_identity(document), "version": VERSION} if is_first else document


def find_marker(store: StagingStore, layout: StagingLayout) -> RunMarker | None:
    """Return a run's marker, None if this worker sees none.

    Raises DamagedDocumentError for one that cannot be read, StagingError for that of another run.
    """
    try:
        marker = get_document(store, layout.marker, RunMarker, version=VERSION, upgrade=_upgraded)
    except DamagedDocumentError as error:
        raise error.hinting(
            "remove it, and clear a task of the run that reads no staged result: that task writes it again"
        ) from None
    # On a file system that ignores case, two run ids may name one folder.
    if marker and marker.identity != layout.identity:
        theirs, ours = marker.identity, layout.identity
        raise StagingError(
            f"{layout.run} is the folder of run '{theirs.run_id}' of '{theirs.owner}', "
            f"but this is run '{ours.run_id}' of '{ours.owner}'\n"
            "  hint: give the run an id that differs not only in upper and lower case"
        )
    return marker


def same_root(store: StagingStore, layout: StagingLayout) -> Callable[[], bool]:
    """Return a function that checks whether the staging root is still the current one.

    A root that is unmounted during a run leaves an empty folder, which would accept documents. Without a marker (a
    test, a preview) nothing is checked.
    """
    began = store.get(layout.marker)
    return lambda: began is None or store.get(layout.marker) == began


def mark_run(store: StagingStore, marker: RunMarker) -> None:
    """Write a run's marker, if it has none."""
    layout = StagingLayout(root=marker.root, identity=marker.identity)
    store.put_if_absent(layout.marker, to_json(marker).encode())


def see_marker(store: StagingStore, regions: Sequence[RegionDescriptor], mine: RunMarker) -> None:
    """Write the marker, if a task may be its run's first and there is none, and check that the run is here.

    Raises StagingRootNotSharedError if documents that another worker must have written are missing, StaleResultError if
    another version of the pipeline may have had other tasks.
    """
    layout = StagingLayout(root=mine.root, identity=mine.identity)
    before = producers(regions)
    if not before:
        mark_run(store, mine)
    marker = check_marker(store, layout, mine.host)
    if unseen := [region_id for region_id in before if not _has_documents(store, layout, region_id)]:
        if marker.plan_id != mine.plan_id:
            raise StaleResultError(
                f"the pipeline was changed during this run: it began with plan {marker.plan_id}, "
                f"'{regions[0].task_name}' is of plan {mine.plan_id}, and reads from {listing(unseen)}, which has not "
                "run\n"
                f"  hint: either run all of the run again, or deploy the version of plan {marker.plan_id} again"
            )
        found = (
            f"the marker of this run, written on {marker.host}, but no documents of {listing(unseen)}, which ran before"
        )
        raise not_shared(layout.root, mine.host, found)


def check_marker(store: StagingStore, layout: StagingLayout, host: str) -> RunMarker:
    """Return a run's marker; raises StagingRootNotSharedError if it is missing, or names another root."""
    marker = find_marker(store, layout)
    if marker is None:
        raise not_shared(layout.root, host, f"no {layout.marker}")
    if marker.root != layout.root:
        found = f"the marker of this run, written on {marker.host}, where the root is {marker.root}"
        raise not_shared(layout.root, host, found)
    return marker


def producers(regions: Sequence[RegionDescriptor]) -> tuple[RegionId, ...]:
    """Return the other regions whose results the regions of a task read: they ran before it."""
    own = {region.region_id for region in regions}
    read = (staged.producer for region in regions for staged in values_within(region, StagedInput))
    return tuple(dict.fromkeys(found for found in read if found not in own))


def _has_documents(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> bool:
    folder = layout.executions(region_id)
    return any(store.is_there(f"{folder}/{name}/{DESCRIPTOR}") for name in store.folders(folder))


def not_shared(root: str, host: str, found: str) -> StagingRootNotSharedError:
    """Return the error with its message."""
    return StagingRootNotSharedError(
        f"staging root {root} is not shared with this worker ({host})\n"
        f"  found: {found}\n"
        "  hint: mount the same folder on every worker, under one path: setting `[graph_compiler] staging_root`; "
        "if `graph-compiler staging gc` has removed the run, clear its first tasks"
    )


# The one "now" of a run (decision 22): the time in the marker that the run's first task writes.
#
# The clocks of hosts differ, and Spark reads its own for every action. `run.json` is put if absent, so only one clock
# is read, once. Every task must see the file before it starts; every retry, cleared task and recomputation finds it in
# the same place, and a replay copies it. A separate document could be lost separately, without any gain.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimeReading:
    """A reading of a host's clock: seconds since the epoch."""

    host: str
    time: float


def run_time(store: StagingStore, task: TaskDeploymentDescriptor, mine: RunTimeReading) -> datetime:
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
