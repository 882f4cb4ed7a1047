"""Tasks that have finished after reading a staged result, and whether their outputs match its latest epoch.

Flink restarts the consumers of a recomputed partition, unless it is known to be equal (the third rule of its region
failover). Here consumers are Airflow tasks: they are reported, and cleared if possible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.manifest import Manifest, StagedRead
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempts import last_descriptor, last_execution
from graph_compiler.staging.results.manifest_log import ManifestLog


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedReader:
    """A task that has read epochs of a result and finished, and whose outputs still count."""

    region_id: RegionId
    epochs: tuple[int, ...]


def finished_readers(
    log: ManifestLog,
    result_id: IntermediateDataSetId,
    consumers: Collection[RegionId],
    *,
    recomputing: Collection[IntermediateDataSetId] = (),
) -> tuple[FinishedReader, ...]:
    """Return the consumers of a result whose last execution has read it and finished.

    `recomputing` are results that do not count as outputs.
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
    """Return the readers of a result that have read, or may have read, other rows than those of a manifest."""
    return tuple(
        reader.region_id
        for reader in readers
        if not all(is_read_again(log, manifest, epoch) for epoch in reader.epochs)
    )


def is_read_again(log: ManifestLog, manifest: Manifest, epoch: int) -> bool:
    """Whether the readers of an epoch have read the rows of a manifest; a lost epoch may have had other rows."""
    if epoch == manifest.epoch:
        return True
    read = log.find(manifest.result_id, epoch)
    return read is not None and manifest.replaces(read)


def stale_readers(
    log: ManifestLog, consumers: Mapping[IntermediateDataSetId, Collection[RegionId]]
) -> tuple[RegionId, ...]:
    """Return the consumers that have read, or may have read, other rows than the latest epochs of these results."""
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
    """Return the epochs of a result from which a consumer's sinks were computed, and its results by any task."""
    task = last_descriptor(log.store, log.layout, region_id)
    last = last_execution(log.store, log.layout, region_id)
    if task is None or last is None:
        return ()
    reads: list[StagedRead] = []
    operators = [one.operator for vertex in task.region.vertices for one in vertex.operators]
    has_finished = last.is_finished
    if has_finished and any(isinstance(one, Sink) for one in operators):
        reads += _reads_of(log, last, result_id)
    for result in task.region.results:
        if result.id in recomputing or not log.epochs(result.id):
            continue
        manifest = log.latest(result.id)
        if manifest is None:  # lost: its inputs are those that the last finished execution has read
            reads += _reads_of(log, last, result_id) if has_finished else ()
        elif has_finished or manifest.attempt.execution_id != last.execution_id:
            reads += manifest.inputs
    return tuple(sorted({read.epoch for read in reads if read.result_id == result_id}))


def _reads_of(
    log: ManifestLog, last: Attempt, result_id: IntermediateDataSetId
) -> tuple[StagedRead, ...]:
    """Return what a finished execution has read; if its report is unreadable, that may be any epoch."""
    if last.report is not None:
        return last.report.reads
    return tuple(StagedRead(result_id=result_id, epoch=epoch) for epoch in log.epochs(result_id))
