"""The last consumer of a staged result releases it (decision 13), if `staging.release` says so.

    report.json of this execution  →  have all its readers finished?   →  record  →  data is removed

A reader writes its report before it checks the others, so if two finish at once, at least one sees both. A reader
counts if its outputs come from the last epoch: one that was cleared, and has not started again, finished from an
earlier one. Nothing here can fail a task, and `graph-compiler staging gc` finds what a crash leaves. Once a release is
recorded, the data are not read again: a task that needs them recomputes them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.retention import StagingRelease
from graph_compiler.deployment.documents.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import Manifest, StagedRead
from graph_compiler.deployment.documents.report import ExecutionReport, RecomputedResult
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json, values_within
from graph_compiler.deployment.scheduling.region_topology import region_ids, region_topology, region_vertex
from graph_compiler.deployment.scheduling.scheduling import Progress, releasable_groups
from graph_compiler.errors import DamagedDocumentError, PartitionNotFoundError
from graph_compiler.graphs.execution_graph import ExecutionVertexId
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempts import last_descriptor, last_execution
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedResult:
    """The record of a release: which epoch, by which task, and when (seconds since the epoch). `bytes` was its size."""

    result_id: IntermediateDataSetId
    epoch: int
    region_id: RegionId
    execution_id: str
    time: float
    bytes: int

    def words(self) -> str:
        """Return it as one line."""
        return (
            f"epoch {self.epoch} of {self.result_id} was released by its last consumer, "
            f"'{self.region_id}' (execution {self.execution_id})"
        )


def release_inputs(
    task: TaskDeploymentDescriptor, report: ExecutionReport, store: StagingStore
) -> Iterator[ReleasedResult]:
    """Release the results that this execution has read or recomputed, and that no other reader needs."""
    if task.region.retention.release is not StagingRelease.LAST_CONSUMER or report.failure:
        return
    log = ManifestLog(store=store, layout=task.layout)
    for result_id in _releasable(log, task, report.recomputed):
        latest = log.latest(result_id)
        if latest and not latest.is_previous_version:  # nothing could read that version again
            yield from _release(task, latest, log)
    _remove_fixed_rows(task, store)


def find_release(
    store: StagingStore, layout: StagingLayout, result_id: IntermediateDataSetId, epoch: int
) -> ReleasedResult | None:
    """Return the record of a release, None if there is none.

    Raises PartitionNotFoundError if it is unreadable: the data are removed, or being removed.
    """
    try:
        return get_document(store, layout.released(result_id, epoch), ReleasedResult)
    except DamagedDocumentError as error:
        raise PartitionNotFoundError(
            f"epoch {epoch} of {result_id} was released; the record of the release cannot be read: {error}"
        ) from None


def _remove_fixed_rows(task: TaskDeploymentDescriptor, store: StagingStore) -> None:
    """Remove what this execution staged for itself (decision 9): only this execution read it, and it has ended."""
    for name in store.folders(task.layout.results):
        if name.endswith(f"-{task.attempt.execution_id}"):
            store.delete(f"{task.layout.results}/{name}")


def _releasable(
    log: ManifestLog, task: TaskDeploymentDescriptor, recomputed: tuple[RecomputedResult, ...]
) -> tuple[IntermediateDataSetId, ...]:
    """Return the results that this region has read or recomputed and that no task needs any more, by Flink's rule.

    An execution that recomputed a result also ran as its producer, so that producer counts as finished, too.
    """
    own = task.region
    told = (last_descriptor(log.store, task.layout, again.producer) for again in recomputed)
    ended = (own, *(producer.region for producer in told if producer))
    topology = region_topology(ended)
    touched = {staged.id for staged in values_within(own, StagedInput)}
    touched |= {again.result_id for again in recomputed}
    consumers = {
        group.data_set_id: region_ids(
            vertex for region in sorted(group.consumers) for vertex in topology.regions[region]
        )
        for group in topology.groups
        if group.data_set_id in touched
    }
    progress = Progress(finished=_finished(log, consumers))
    releasable = {
        group.data_set_id
        for region in ended
        for group in releasable_groups(topology, progress, region_vertex(region.region_id))
    }
    return tuple(result_id for result_id in consumers if result_id in releasable)


def _finished(
    log: ManifestLog, consumers: Mapping[IntermediateDataSetId, Collection[RegionId]]
) -> frozenset[ExecutionVertexId]:
    """Return the consumers whose outputs are all of the latest epochs, and that have no running attempt."""
    ids = {region_id for readers in consumers.values() for region_id in readers}
    last = {region_id: last_execution(log.store, log.layout, region_id) for region_id in ids}
    ended = {id for id, one in last.items() if one and one.is_finished}
    return frozenset(map(region_vertex, ended.difference(stale_readers(log, consumers))))


def _release(task: TaskDeploymentDescriptor, latest: Manifest, log: ManifestLog) -> Iterator[ReleasedResult]:
    """Record the release of the last epoch, then remove the data of all epochs: earlier ones are never read."""
    record = ReleasedResult(
        result_id=latest.result_id,
        epoch=latest.epoch,
        region_id=task.region.region_id,
        execution_id=task.attempt.execution_id,
        time=time.time(),
        bytes=latest.bytes,
    )
    key = log.layout.released(latest.result_id, latest.epoch)
    is_first = log.store.put_if_absent(key, to_json(record).encode())
    manifests = (log.find(latest.result_id, epoch) for epoch in log.epochs(latest.result_id))
    for location in [manifest.location for manifest in manifests if manifest]:
        if location.startswith(f"{log.layout.results}/"):
            log.store.delete(location)
    if is_first:
        yield record


# Tasks that have finished after reading a staged result, and whether their outputs match its latest epoch.
#
# Flink restarts the consumers of a recomputed partition, unless it is known to be equal (the third rule of its region
# failover). Here consumers are Airflow tasks: they are reported, and cleared if possible.


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


def _reads_of(log: ManifestLog, last: Attempt, result_id: IntermediateDataSetId) -> tuple[StagedRead, ...]:
    """Return what a finished execution has read; if its report is unreadable, that may be any epoch."""
    if last.report is not None:
        return last.report.reads
    return tuple(StagedRead(result_id=result_id, epoch=epoch) for epoch in log.epochs(result_id))
