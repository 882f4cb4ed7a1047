"""The subtasks that run again after a failure: Flink's RestartPipelinedRegionFailoverStrategy.

1. The region of the failed subtask.
2. The regions that produce a partition which it needs and which is unavailable.
3. All regions that consume what any of these produce: a new copy may differ from the one that they have read.
"""

from __future__ import annotations

from collections.abc import Set

from graph_compiler.graphs.execution_graph import ExecutionVertexId, PartitionId
from graph_compiler.graphs.scheduling_topology import ConsumedPartitionGroup, RegionIndex, SchedulingTopology


def restart_set(
    topology: SchedulingTopology, failed: ExecutionVertexId, unavailable: Set[PartitionId] | None = None
) -> tuple[ExecutionVertexId, ...]:
    """Return the subtasks to restart, in topological order.

    `unavailable` are lost partitions; None means all are. A partition that can be read only once always counts as
    lost.
    """
    start = topology.region_of[failed]
    found: dict[RegionIndex, None] = {start: None}
    pending = [start]
    visited: set[int] = set()  # groups by identity: each is visited once, however many regions it connects
    while pending:
        region = pending.pop()
        following: list[RegionIndex] = []
        for group in topology.consumed[region]:
            if id(group) not in visited:
                visited.add(id(group))
                following += _producers_of_lost(group, topology, unavailable)
        for group in topology.produced[region]:
            following += group.consumers
        for next_region in following:
            if next_region not in found:
                found[next_region] = None
                pending.append(next_region)
    return tuple(task for region in sorted(found) for task in topology.regions[region])


def _producers_of_lost(
    group: ConsumedPartitionGroup, topology: SchedulingTopology, unavailable: Set[PartitionId] | None
) -> list[RegionIndex]:
    if unavailable is None or not group.result_type.is_reconsumable:
        return list(group.producers)
    lost = unavailable & set(group.partitions()) if unavailable else ()
    return [topology.region_of[group.producer(partition)] for partition in lost]
