"""Tasks that have finished from a staged result, and whether what they left goes with its latest epoch.

Flink restarts the consumers of a partition that is computed again, unless it is known to be the same (the third rule of
its region failover). Here consumers are Airflow tasks: they are named, and cleared by whoever can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.executions import last_descriptor, last_execution
from graph_compiler.deployment.manifest import Manifest, StagedRead
from graph_compiler.deployment.manifest_log import ManifestLog
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId


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
    """Give those of a result's consumers whose last execution finished from it.

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
    """Give those of a result's readers that have read other rows than a manifest holds, or may have."""
    return tuple(
        reader.region_id
        for reader in readers
        if any(
            epoch != manifest.epoch
            and not manifest.replaces(log.manifest(manifest.result_id, epoch))
            for epoch in reader.epochs
        )
    )


def stale_readers(
    log: ManifestLog, consumers: Mapping[IntermediateDataSetId, Collection[RegionId]]
) -> tuple[RegionId, ...]:
    """Give the consumers that finished from other rows than the latest epochs of these results hold, or may have."""
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
    """Give the epochs of a result that a consumer's sinks were written from, and its results, whoever made these."""
    task = last_descriptor(log.layout, region_id)
    last = last_execution(Path(log.layout.run), region_id)
    if task is None or last is None:
        return ()
    reads: list[StagedRead] = []
    operators = [one.operator for vertex in task.region.vertices for one in vertex.operators]
    has_finished = last.state is ExecutionState.FINISHED and last.report is not None
    if has_finished and last.report and any(isinstance(one, Sink) for one in operators):
        reads += last.report.reads
    for result in task.region.results:
        manifest = None if result.id in recomputing else log.latest(result.id)
        is_by_another = manifest is not None and manifest.attempt.execution_id != last.execution_id
        if manifest and (has_finished or is_by_another):
            reads += manifest.inputs
    return tuple(sorted({read.epoch for read in reads if read.result_id == result_id}))
