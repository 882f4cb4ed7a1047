"""Tasks that have finished from a staged result, and whether what they left goes with its latest epoch.

Flink restarts the consumers of a partition that is computed again, unless it is known to be the same (the third rule of
its region failover). Here consumers are Airflow tasks: they are named, and cleared by whoever can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.executions import RegionExecution, executions
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.manifest_log import ManifestLog
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedReader:
    """A task that has finished from one epoch of a result, and left something that still counts."""

    region_id: RegionId
    epoch: int


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
    run = Path(log.layout.run)
    found = []
    for region_id in consumers:
        *_, last = executions(run, region_id) or [None]
        if last is None or last.state is not ExecutionState.FINISHED or last.report is None:
            continue
        epochs = [read.epoch for read in last.report.reads if read.result_id == result_id]
        if epochs and _left_something(_region(log, region_id, last), last, log, recomputing):
            found.append(FinishedReader(region_id=region_id, epoch=min(epochs)))
    return tuple(found)


def differing_readers(
    log: ManifestLog, manifest: Manifest, readers: Collection[FinishedReader]
) -> tuple[RegionId, ...]:
    """Give those of a result's readers that have read other rows than a manifest holds, or may have."""
    return tuple(
        reader.region_id
        for reader in readers
        if reader.epoch != manifest.epoch
        and not manifest.replaces(log.manifest(manifest.result_id, reader.epoch))
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


def _region(log: ManifestLog, region_id: RegionId, execution: RegionExecution) -> RegionDescriptor:
    path = log.layout.descriptor(region_id, execution.execution_id)
    return TaskDeploymentDescriptor.from_json(Path(path).read_text()).region


def _left_something(
    region: RegionDescriptor,
    execution: RegionExecution,
    log: ManifestLog,
    recomputing: Collection[IntermediateDataSetId],
) -> bool:
    """Say whether a sink, or a result that no other execution has computed since, is this execution's."""
    operators = [one.operator for vertex in region.vertices for one in vertex.operators]
    if any(isinstance(operator, Sink) for operator in operators):
        return True
    return any(
        manifest.attempt.execution_id == execution.execution_id
        for result in region.results
        if result.id not in recomputing and (manifest := log.latest(result.id))
    )
