"""Tasks that have finished from a staged result, and whether what they left goes with its latest epoch.

Flink restarts the consumers of a partition that is computed again, unless it is known to be the same (the third rule of
its region failover). Here consumers are Airflow tasks: they are named, and cleared by anyone who can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.manifest import Manifest, StagedRead
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.executions.executions import (
    RegionExecution,
    last_descriptor,
    last_execution,
)
from graph_compiler.staging.results.manifest_log import ManifestLog


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedReader:
    """A task that has finished from epochs of a result, and left something that still counts."""

    region_id: RegionId
    epochs: tuple[int, ...]


def finished_readers(
    log: ManifestLog,
    result_id: IntermediateDataSetId,
    consumers: Collection[RegionId],
    *,
    recomputing: Collection[IntermediateDataSetId] = (),
) -> tuple[FinishedReader, ...]:
    """Return those of a result's consumers whose last execution finished from it.

    `recomputing` are results that will not count as left.
    """
    found = []
    for region_id in consumers:
        epochs = epochs_read(log, region_id, result_id, recomputing)
        if epochs:
            found.append(FinishedReader(region_id=region_id, epochs=epochs))
    return tuple(found)


def differing_readers(
    log: ManifestLog, manifest: Manifest, readers: Collection[FinishedReader]
) -> tuple[RegionId, ...]:
    """Return those of a result's readers that have read other rows than a manifest holds, or may have."""
    return tuple(
        reader.region_id
        for reader in readers
        if not all(is_read_again(log, manifest, epoch) for epoch in reader.epochs)
    )


def is_read_again(log: ManifestLog, manifest: Manifest, epoch: int) -> bool:
    """Whether who has read an epoch of a result has read the rows of a manifest; a lost one may have held others."""
    if epoch == manifest.epoch:
        return True
    read = log.find(manifest.result_id, epoch)
    return read is not None and manifest.replaces(read)


def stale_readers(
    log: ManifestLog, consumers: Mapping[IntermediateDataSetId, Collection[RegionId]]
) -> tuple[RegionId, ...]:
    """Return the consumers that finished from other rows than the latest epochs of these results hold, or may have."""
    found: dict[RegionId, None] = {}
    for result_id, readers_of_it in consumers.items():
        if manifest := log.latest(result_id):
            readers = finished_readers(log, result_id, readers_of_it)
            found |= dict.fromkeys(differing_readers(log, manifest, readers))
    return tuple(found)


def epochs_read(
    log: ManifestLog,
    region_id: RegionId,
    result_id: IntermediateDataSetId,
    recomputing: Collection[IntermediateDataSetId] = (),
) -> tuple[int, ...]:
    """Return the epochs of a result that the sinks of a consumer came from, and its results from any task."""
    task = last_descriptor(log.store, log.layout, region_id)
    last = last_execution(log.store, log.layout, region_id)
    if task is None or last is None:
        return ()
    reads: list[StagedRead] = []
    operators = [one.operator for vertex in task.region.vertices for one in vertex.operators]
    has_finished = last.state is ExecutionState.FINISHED
    if has_finished and any(isinstance(one, Sink) for one in operators):
        reads += _reads_of(log, last, result_id)
    for result in task.region.results:
        if result.id in recomputing or not log.epochs(result.id):
            continue
        manifest = log.latest(result.id)
        if manifest is None:  # lost: what it was made from was read by the last that finished
            reads += _reads_of(log, last, result_id) if has_finished else ()
        elif has_finished or manifest.attempt.execution_id != last.execution_id:
            reads += manifest.inputs
    return tuple(sorted({read.epoch for read in reads if read.result_id == result_id}))


def _reads_of(
    log: ManifestLog, last: RegionExecution, result_id: IntermediateDataSetId
) -> tuple[StagedRead, ...]:
    """Return what a finished execution has read; where its report cannot be read any more, that may be any epoch."""
    if last.report is not None:
        return last.report.reads
    return tuple(StagedRead(result_id=result_id, epoch=epoch) for epoch in log.epochs(result_id))
