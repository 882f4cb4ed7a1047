"""Read a staging root into an inventory; nothing is changed.

Only folders with a run's documents count as runs, so a root that was named by mistake has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

from graph_compiler.declaration.retention import DEFAULT_TTL
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    MARKER,
    PREPARED,
    REMOVED,
    TARGETS,
    TRASH,
    StagingLayout,
    positions_of,
)
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempts import (
    ALL,
    executions,
    identity_of,
    last_descriptor,
    logical_date_of,
    regions_of,
)
from graph_compiler.staging.attempts.run_marker import find_marker
from graph_compiler.staging.gc.inventory import (
    DataFolder,
    PreparedRows,
    ResultFolder,
    StagedEpoch,
    StagedRun,
    StagingInventory,
    StrayDocument,
    UnfinishedCopy,
)
from graph_compiler.staging.gc.liveness import RunFacts
from graph_compiler.staging.publications.preparations import PlaceKind, Preparation, prepared_folders
from graph_compiler.staging.publications.publications import is_published, undone_intents
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore, StoredFile
from graph_compiler.staging.store.stores import store_beside
from graph_compiler.staging.streams.checkpoint import unfinished_copies

_UNREADABLE = (GraphCompilerError, ValueError, KeyError, OSError)
"""The errors that documents of another version, or an incomplete disk, cause."""


class _Task(NamedTuple):
    """A task of a run: its attempts, and the last one's descriptor."""

    attempts: Sequence[Attempt]
    descriptor: TaskDeploymentDescriptor


def survey(store: StagingStore, root: str) -> StagingInventory:
    """Return the inventory of every run of every pipeline."""
    return StagingInventory(
        root=root,
        runs=tuple(survey_run(store, layout) for layout in _runs(store, root)),
        undone=tuple(undone_intents(store, root)),
        trash=tuple(f"{root}/{TRASH}/{name}" for name in store.folders(f"{root}/{TRASH}")),
        stray=tuple(_stray(f"{root}/{TARGETS}", list(store.files(f"{root}/{TARGETS}")))),
        copies=tuple(copies_in(store, root)),
        positions=sum(len(store.folders(f"{positions_of(root)}/{name}")) for name in store.folders(positions_of(root))),
    )


def copies_in(store: StagingStore, root: str) -> Iterator[UnfinishedCopy]:
    """Yield those that have files; nothing if a record cannot be read: any folder could be that of its stream."""
    try:
        found = list(unfinished_copies(store, root))
    except _UNREADABLE:
        return
    for path in found:
        if files := list(store.files(path)):
            yield UnfinishedCopy(path=path, bytes=sum(file.bytes for file in files), changed=_changed(files))


def survey_run(store: StagingStore, layout: StagingLayout) -> StagedRun:
    """Return one run."""
    files = list(store.files(layout.run))
    tasks, unreadable = _tasks(store, layout)
    results, prepared, ttl = list[ResultFolder](), list[PreparedRows](), DEFAULT_TTL
    try:
        results.extend(_results(store, layout, tasks))
        prepared.extend(_prepared(store, layout, files))
        ttl = DEFAULT_TTL if (marker := find_marker(store, layout)) is None else marker.ttl
    except _UNREADABLE as error:
        unreadable = f"its records cannot be read: {error}"
    return StagedRun(
        identity=layout.identity,
        path=layout.run,
        bytes=sum(file.bytes for file in files),
        changed=_changed(files),
        ttl=ttl,
        attempts=sum(file.key.endswith(f"/{DESCRIPTOR}") for file in files),
        facts=_facts(tasks, unreadable),
        results=tuple(results),
        data=tuple(_data(store, layout, files)),
        prepared=tuple(prepared),
        stray=tuple(_stray(layout.run, files)),
        logical_date=logical_date_of(one for task in tasks.values() for one in task.attempts),
    )


def last_change(store: StagingStore, layout: StagingLayout) -> float:
    """Return when anything of a run was last written, in seconds since the epoch."""
    return _changed(store.files(layout.run))


def _changed(files: Iterable[StoredFile]) -> float:
    """Return the time of the last change; records that prepared rows were removed do not count."""
    times = (file.written for file in files if not file.key.endswith(REMOVED))
    return max(times, default=0.0)


def _runs(store: StagingStore, root: str) -> Iterator[StagingLayout]:
    """Yield the runs of a root, if their folder's name or a document identifies them."""
    for folder in store.folders(root):
        if folder.startswith("."):
            continue
        for name in store.folders(f"{root}/{folder}"):
            run = f"{root}/{folder}/{name}"
            if _is_run(store, run) and (identity := identity_of(store, run)) is not None:
                yield StagingLayout(root=root, identity=identity)


def _is_run(store: StagingStore, run: str) -> bool:
    if store.is_there(f"{run}/{MARKER}"):
        return True
    return any(file.key.endswith(f"/{DESCRIPTOR}") for file in store.files(f"{run}/tasks"))


def _tasks(store: StagingStore, layout: StagingLayout) -> tuple[dict[RegionId, _Task], str | None]:
    """Return the readable tasks of a run, and why others are not readable."""
    found, unreadable = dict[RegionId, _Task](), None
    for region_id in regions_of(store, layout):
        try:
            attempts = executions(store, layout, region_id, size=ALL)
            descriptor = last_descriptor(store, layout, region_id)
            if attempts and descriptor:
                found[region_id] = _Task(attempts, descriptor)
        except _UNREADABLE as error:
            unreadable = f"the documents of {region_id} cannot be read: {error}"
    return found, unreadable


def _facts(tasks: dict[RegionId, _Task], unreadable: str | None) -> RunFacts:
    last = {region_id: task.attempts[-1].state for region_id, task in tasks.items()}
    failed = (ExecutionState.FAILED, ExecutionState.CANCELED)
    consumers = {
        consumer: None
        for task in tasks.values()
        for result in task.descriptor.region.results
        for consumer in result.consumers
    }
    return RunFacts(
        open=tuple(region_id for region_id, state in last.items() if not state.is_terminal),
        failed=tuple(region_id for region_id, state in last.items() if state in failed),
        awaited=tuple(consumer for consumer in consumers if consumer not in last),
        unreadable=unreadable if tasks or unreadable else "no task has left a document",
    )


def _results(store: StagingStore, layout: StagingLayout, tasks: dict[RegionId, _Task]) -> Iterator[ResultFolder]:
    owners = {
        result.id: (region_id, result.consumers)
        for region_id, task in tasks.items()
        for result in task.descriptor.region.results
    }
    log = ManifestLog(store=store, layout=layout)
    for name in store.folders(f"{layout.run}/manifests"):
        id = IntermediateDataSetId(name)
        owner, consumers = owners.get(id, (None, ()))
        manifests = (log.find(id, epoch) for epoch in log.epochs(id))
        yield ResultFolder(
            id=id,
            owner=owner,
            consumers=consumers,
            readers=tuple(region_id for region_id, task in tasks.items() if _has_read(task, id)),
            epochs=tuple(_epoch(store, layout, manifest) for manifest in manifests if manifest),
        )


def _epoch(store: StagingStore, layout: StagingLayout, manifest: Manifest) -> StagedEpoch:
    key = layout.manifest(manifest.result_id, manifest.epoch)
    return StagedEpoch(
        epoch=manifest.epoch,
        execution_id=manifest.attempt.execution_id,
        # Matched only by name: the root may have another path here than where the manifest was written.
        folder=PurePosixPath(manifest.location).name,
        location=manifest.location,
        rows=manifest.rows,
        bytes=manifest.bytes,
        committed=store.written(key) or 0.0,
        released=find_release(store, layout, manifest.result_id, manifest.epoch),
    )


def _has_read(task: _Task, id: IntermediateDataSetId) -> bool:
    return any(
        read.result_id == id for attempt in task.attempts if attempt.report is not None for read in attempt.report.reads
    )


def _data(store: StagingStore, layout: StagingLayout, files: Sequence[StoredFile]) -> Iterator[DataFolder]:
    sizes: Counter[str] = Counter()
    for file in files:
        sizes[_folder_of(layout, file)] += file.bytes
    for owner in store.folders(layout.results):
        for name in store.folders(f"{layout.results}/{owner}"):
            path = f"{layout.results}/{owner}/{name}"
            yield DataFolder(owner=owner, name=name, path=path, bytes=sizes[path])


def _folder_of(layout: StagingLayout, file: StoredFile) -> str:
    """Return the folder of the epoch or the sink of a file, or the folder above it if there is none."""
    parts = file.key.removeprefix(f"{layout.results}/").split("/")
    return "/".join([layout.results, *parts[:2]])


def _prepared(store: StagingStore, layout: StagingLayout, files: Sequence[StoredFile]) -> Iterator[PreparedRows]:
    for key in sorted(file.key for file in files if _is_preparation(file.key)):
        record = get_document(store, key, Preparation)
        if record is None:  # another collection is removing the run
            continue
        place = record.prepared
        if place.kind is PlaceKind.FOLDER:
            beside = store_beside(store, layout.root, place.place)
            folders = prepared_folders(place.place)
            is_there = any(map(beside.is_there, folders))
            size = sum(file.bytes for folder in folders for file in beside.files(folder))
        else:
            removed = f"{key.rpartition('/')[0]}/{record.operator_id}{REMOVED}"
            is_gone = store.is_there(removed) or is_published(store, layout, place.target, record.execution_id)
            is_there, size = not is_gone, 0
        yield PreparedRows(record=key, preparation=record, is_there=is_there, bytes=size)


def _is_preparation(key: str) -> bool:
    path = PurePosixPath(key)
    return (
        path.parent.name == PREPARED
        and path.suffix == ".json"
        and not path.name.startswith(".")
        and not path.name.endswith(REMOVED)
    )


def _stray(folder: str, files: Iterable[StoredFile]) -> Iterator[StrayDocument]:
    """Yield temporary files of documents: `.<name>.json.<letters>`."""
    for file in sorted(files, key=lambda found: found.key):
        path = PurePosixPath(file.key)
        is_data = path.relative_to(folder).parts[0] == "data"
        if not is_data and fnmatchcase(path.name, ".*.json.*"):
            yield StrayDocument(path=file.key, bytes=file.bytes, changed=file.written)
