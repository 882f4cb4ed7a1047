"""Read a staging root into an inventory; nothing is changed.

Only folders that hold a run's documents are taken for runs: a root that was named by mistake shows none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
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
)
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId, name_of_segment
from graph_compiler.staging.executions.executions import (
    ALL,
    RegionExecution,
    executions,
    last_descriptor,
    regions_of,
    run_id_of,
)
from graph_compiler.staging.executions.run_marker import find_marker
from graph_compiler.staging.gc.inventory import (
    DataFolder,
    PreparedRows,
    StagedEpoch,
    StagedResult,
    StagedRun,
    StagingInventory,
    StrayDocument,
)
from graph_compiler.staging.gc.liveness import RunFacts
from graph_compiler.staging.publications.preparations import PlaceKind, Preparation
from graph_compiler.staging.publications.publications import is_published, undone_intents
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.bounded_read import folders_in
from graph_compiler.staging.store.commit_store import LocalCommitStore
from graph_compiler.staging.store.read_document import read_document

_STORE = LocalCommitStore()
_UNREADABLE = (GraphCompilerError, ValueError, KeyError, OSError)
"""What documents of another version, or half a disk, raise."""


class _Task(NamedTuple):
    """A task of a run: its attempts, and the last one's descriptor."""

    attempts: Sequence[RegionExecution]
    descriptor: TaskDeploymentDescriptor


def survey(root: str) -> StagingInventory:
    """Look at every run of every pipeline."""
    return StagingInventory(
        root=root,
        runs=tuple(survey_run(layout) for layout in _runs(root)),
        undone=tuple(undone_intents(_STORE, root)),
        trash=tuple(sorted(str(path) for path in Path(root, TRASH).glob("*"))),
        stray=tuple(_stray(Path(root, TARGETS))),
    )


def survey_run(layout: StagingLayout) -> StagedRun:
    """Look at one run."""
    run = Path(layout.run)
    bytes, changed = _extent(run)
    tasks, unreadable = _tasks(layout)
    results, prepared, ttl = list[StagedResult](), list[PreparedRows](), DEFAULT_TTL
    try:
        results.extend(_results(layout, tasks))
        prepared.extend(_prepared(layout))
        ttl = DEFAULT_TTL if (marker := find_marker(_STORE, layout)) is None else marker.ttl
    except _UNREADABLE as error:
        unreadable = f"its records cannot be read: {error}"
    return StagedRun(
        pipeline=layout.pipeline,
        run_id=layout.run_id,
        path=str(run),
        bytes=bytes,
        changed=changed,
        ttl=ttl,
        attempts=sum(1 for _ in run.glob(f"tasks/*/*/{DESCRIPTOR}")),
        facts=_facts(tasks, unreadable),
        results=tuple(results),
        data=tuple(_data(run)),
        prepared=tuple(prepared),
        stray=tuple(_stray(run)),
    )


def last_change(run: Path) -> float:
    """Give when anything in a folder last changed."""
    return _extent(run)[1]


def _runs(root: str) -> Iterator[StagingLayout]:
    """Give the runs of a root; one whose id was shortened, and that no document names, cannot be asked about."""
    for run in _run_folders(Path(root)):
        pipeline, run_id = name_of_segment(run.parent.name), run_id_of(run)
        if pipeline is not None and run_id is not None:
            yield StagingLayout(root=root, pipeline=pipeline, run_id=run_id)


def _run_folders(root: Path) -> Iterator[Path]:
    for pipeline in sorted(root.glob("*")):
        if pipeline.name.startswith(".") or not _is_own_folder(pipeline):
            continue
        for run in sorted(pipeline.iterdir()):
            if _is_own_folder(run) and (
                (run / MARKER).exists() or any(run.glob(f"tasks/*/*/{DESCRIPTOR}"))
            ):
                yield run


def _is_own_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _tasks(layout: StagingLayout) -> tuple[dict[RegionId, _Task], str | None]:
    """Give what can be read of a run's tasks, and why not all of it can be."""
    run, found, unreadable = Path(layout.run), dict[RegionId, _Task](), None
    for region_id in regions_of(run):
        try:
            attempts = executions(run, region_id, size=ALL)
            descriptor = last_descriptor(layout, region_id)
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


def _results(layout: StagingLayout, tasks: dict[RegionId, _Task]) -> Iterator[StagedResult]:
    owners = {
        result.id: (region_id, result.consumers)
        for region_id, task in tasks.items()
        for result in task.descriptor.region.results
    }
    log = ManifestLog(store=_STORE, layout=layout)
    for name in folders_in(str(Path(layout.run, "manifests"))):
        id = IntermediateDataSetId(name)
        owner, consumers = owners.get(id, (None, ()))
        manifests = (log.find(id, epoch) for epoch in log.epochs(id))
        yield StagedResult(
            id=id,
            owner=owner,
            consumers=consumers,
            readers=tuple(region_id for region_id, task in tasks.items() if _has_read(task, id)),
            epochs=tuple(_epoch(layout, manifest) for manifest in manifests if manifest),
        )


def _epoch(layout: StagingLayout, manifest: Manifest) -> StagedEpoch:
    path = Path(layout.manifest(manifest.result_id, manifest.epoch))
    return StagedEpoch(
        epoch=manifest.epoch,
        execution_id=manifest.attempt.execution_id,
        # By its name alone: the root may be called otherwise here than where it was written.
        folder=Path(manifest.location).name,
        location=manifest.location,
        rows=manifest.rows,
        bytes=manifest.bytes,
        committed=path.stat().st_mtime,
        released=find_release(_STORE, layout, manifest.result_id, manifest.epoch),
    )


def _has_read(task: _Task, id: IntermediateDataSetId) -> bool:
    return any(
        read.result_id == id
        for attempt in task.attempts
        if attempt.report is not None
        for read in attempt.report.reads
    )


def _data(run: Path) -> Iterator[DataFolder]:
    for path in sorted((run / "data").glob("*/*")):
        yield DataFolder(
            owner=path.parent.name, name=path.name, path=str(path), bytes=_extent(path)[0]
        )


def _prepared(layout: StagingLayout) -> Iterator[PreparedRows]:
    for path in sorted(Path(layout.run).glob(f"tasks/*/*/{PREPARED}/*.json")):
        if path.name.startswith(".") or path.name.endswith(REMOVED):
            continue
        record = read_document(str(path), Preparation)
        if record is None:  # another collection removes the run
            continue
        place = record.prepared
        if place.kind is PlaceKind.FOLDER:
            folder = Path(place.place)
            is_there, size = folder.is_dir(), _extent(folder)[0]
        else:
            is_gone = path.with_name(f"{record.operator_id}{REMOVED}").exists() or is_published(
                _STORE, layout, place.target, record.execution_id
            )
            is_there, size = not is_gone, 0
        yield PreparedRows(record=str(path), preparation=record, is_there=is_there, bytes=size)


def _stray(folder: Path) -> Iterator[StrayDocument]:
    """Give the documents that a commit store was writing: `.<name>.json.<letters>`."""
    for path in sorted(folder.rglob(".*.json.*")):
        if path.relative_to(folder).parts[0] != "data" and path.is_file():
            size, changed = _extent(path)
            yield StrayDocument(path=str(path), bytes=size, changed=changed)


def _extent(folder: Path) -> tuple[int, float]:
    """Give the bytes of all files below, and the time of the last change; what vanishes meanwhile is not counted."""
    size, changed = 0, 0.0
    for path in (folder, *folder.rglob("*")):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        changed = max(changed, found.st_mtime)
        size += found.st_size if path.is_file() else 0
    return size, changed
