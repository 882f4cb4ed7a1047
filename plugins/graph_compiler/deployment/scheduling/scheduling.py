"""The order in which regions are deployed, and when partitions may be released, as pure steps of a progress.

It follows Flink's PipelinedRegionSchedulingStrategy and RegionPartitionGroupReleaseStrategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from graph_compiler.graphs.execution_graph import ExecutionVertexId
from graph_compiler.graphs.scheduling_topology import ConsumedPartitionGroup, RegionIndex, SchedulingTopology


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The regions that were deployed, and the subtasks that have finished."""

    deployed: frozenset[RegionIndex] = frozenset()
    finished: frozenset[ExecutionVertexId] = frozenset()


def start_scheduling(topology: SchedulingTopology) -> tuple[Progress, tuple[RegionIndex, ...]]:
    """Deploy the regions that wait for nothing, and those that may run concurrently, in topological order."""
    sources = [region for region in range(len(topology.regions)) if not _awaited_groups(topology, region)]
    return _deploy(topology, Progress(), sources)


def finish_vertex(
    topology: SchedulingTopology, progress: Progress, vertex: ExecutionVertexId
) -> tuple[Progress, tuple[RegionIndex, ...]]:
    """Record that a subtask has finished; return the regions that can be deployed now, in topological order."""
    progress = replace(progress, finished=progress.finished | {vertex})
    complete = [
        group
        for group in topology.produced[topology.region_of[vertex]]
        if group.producer_id == vertex.vertex_id
        and vertex.subtask in group.group.partitions
        and group.result_type.is_blocking
        and not any(_unfinished(group, progress))
    ]
    candidates = sorted({region for group in complete for region in group.consumers})
    return _deploy(topology, progress, candidates)


def releasable_groups(
    topology: SchedulingTopology, progress: Progress, vertex: ExecutionVertexId
) -> tuple[ConsumedPartitionGroup, ...]:
    """Return the partition groups that are no longer needed when `vertex`, the last of its region, has finished."""
    region = topology.region_of[vertex]
    if not _is_finished(topology, progress, region):
        return ()
    return tuple(
        group
        for group in topology.consumed[region]
        if group.result_type.is_released_by_scheduler
        and all(_is_finished(topology, progress, consumer) for consumer in group.consumers)
    )


def _deploy(
    topology: SchedulingTopology, progress: Progress, candidates: Iterable[RegionIndex]
) -> tuple[Progress, tuple[RegionIndex, ...]]:
    deployed = set(progress.deployed)
    chosen: list[RegionIndex] = []
    current = list(candidates)
    while current:
        following: dict[RegionIndex, None] = {}
        for region in current:
            if region in deployed or not _inputs_are_consumable(topology, progress, region, deployed):
                continue
            deployed.add(region)
            chosen.append(region)
            beside = [group for group in topology.produced[region] if not group.result_type.is_blocking]
            following.update(dict.fromkeys(consumer for group in beside for consumer in sorted(group.consumers)))
        current = list(following)
    return replace(progress, deployed=frozenset(deployed)), tuple(sorted(chosen))


def _awaited_groups(topology: SchedulingTopology, region: RegionIndex) -> list[ConsumedPartitionGroup]:
    """Return the groups that a region reads from others, except those that tie it to their producers."""
    return [
        group
        for group in topology.consumed[region]
        if not group.result_type.must_be_pipelined_consumed and group.producers != {region}
    ]


def _inputs_are_consumable(
    topology: SchedulingTopology, progress: Progress, region: RegionIndex, deployed: Set[RegionIndex]
) -> bool:
    """Whether all inputs of a region are consumable, except the partitions that it produces itself."""
    return all(
        all(topology.region_of[producer] == region for producer in _unfinished(group, progress))
        if group.result_type.is_blocking
        else all(producer in deployed or producer == region for producer in group.producers)
        for group in _awaited_groups(topology, region)
    )


def _unfinished(group: ConsumedPartitionGroup, progress: Progress) -> Iterator[ExecutionVertexId]:
    """Return the subtasks whose partitions of a group are not finished yet."""
    producers = (group.producer(partition) for partition in group.partitions())
    return (producer for producer in producers if producer not in progress.finished)


def _is_finished(topology: SchedulingTopology, progress: Progress, region: RegionIndex) -> bool:
    return all(task in progress.finished for task in topology.regions[region])
