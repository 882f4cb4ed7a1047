"""In which order regions are deployed, and when partitions may go: pure steps over what has happened so far.

Follows Flink's PipelinedRegionSchedulingStrategy and RegionPartitionGroupReleaseStrategy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from graph_compiler.graphs.execution_graph import ExecutionVertexId
from graph_compiler.graphs.scheduling_topology import (
    ConsumedPartitionGroup,
    RegionIndex,
    SchedulingTopology,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Which regions were deployed, and which subtasks have finished."""

    deployed: frozenset[RegionIndex] = frozenset()
    finished: frozenset[ExecutionVertexId] = frozenset()


def start_scheduling(topology: SchedulingTopology) -> tuple[Progress, tuple[RegionIndex, ...]]:
    """Deploy the regions that wait for nothing, and those that may run beside them; in topological order."""
    sources = [
        region for region in range(len(topology.regions)) if not _awaited_groups(topology, region)
    ]
    return _deploy(topology, Progress(), sources)


def finish_vertex(
    topology: SchedulingTopology, progress: Progress, vertex: ExecutionVertexId
) -> tuple[Progress, tuple[RegionIndex, ...]]:
    """Take in that a subtask has finished; gives the regions that can be deployed now, in topological order."""
    progress = replace(progress, finished=progress.finished | {vertex})
    complete = [
        group
        for group in topology.produced[topology.region_of[vertex]]
        if group.job_edge.source_id == vertex.vertex_id
        and vertex.subtask in group.group.partitions
        and group.result_type.is_blocking
        and _is_complete(group, progress)
    ]
    candidates = sorted({region for group in complete for region in group.consumers})
    return _deploy(topology, progress, candidates)


def releasable_groups(
    topology: SchedulingTopology, progress: Progress, vertex: ExecutionVertexId
) -> tuple[ConsumedPartitionGroup, ...]:
    """Give the partition groups nobody needs any more now that `vertex`, the last of its region, has finished."""
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
    chosen: dict[RegionIndex, None] = {}
    current = list(candidates)
    while current:
        following: dict[RegionIndex, None] = {}
        for region in current:
            known = progress.deployed | chosen.keys()
            if region in known or not _inputs_are_consumable(topology, progress, region, known):
                continue
            chosen[region] = None
            beside = [
                group for group in topology.produced[region] if not group.result_type.is_blocking
            ]
            following.update(
                dict.fromkeys(consumer for group in beside for consumer in sorted(group.consumers))
            )
        current = list(following)
    return replace(progress, deployed=progress.deployed | chosen.keys()), tuple(sorted(chosen))


def _awaited_groups(
    topology: SchedulingTopology, region: RegionIndex
) -> list[ConsumedPartitionGroup]:
    """Give the groups a region reads from others, but for those that tie it to their producers."""
    return [
        group
        for group in topology.consumed[region]
        if not group.result_type.must_be_pipelined_consumed and group.producers != {region}
    ]


def _inputs_are_consumable(
    topology: SchedulingTopology,
    progress: Progress,
    region: RegionIndex,
    deployed: frozenset[RegionIndex],
) -> bool:
    return all(
        _is_complete(group, progress, without=region, topology=topology)
        if group.result_type.is_blocking
        else group.producers <= deployed | {region}
        for group in _awaited_groups(topology, region)
    )


def _is_complete(
    group: ConsumedPartitionGroup,
    progress: Progress,
    *,
    without: RegionIndex | None = None,
    topology: SchedulingTopology | None = None,
) -> bool:
    """Say whether all partitions are there; those that region `without` makes itself need not be."""
    for partition in group.partitions():
        producer = group.producer(partition)
        is_own = topology is not None and topology.region_of[producer] == without
        if producer not in progress.finished and not is_own:
            return False
    return True


def _is_finished(topology: SchedulingTopology, progress: Progress, region: RegionIndex) -> bool:
    return all(task in progress.finished for task in topology.regions[region])
