"""Execution pipelined regions and the partition groups between them: what scheduling and failover ask. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graph_compiler.graphs.distribution import PartitionGroup
from graph_compiler.graphs.execution_graph import ExecutionGraph, ExecutionVertexId, PartitionId
from graph_compiler.graphs.job_graph import JobEdge, ResultPartitionType

RegionIndex = int
"""A region's place in `SchedulingTopology.regions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedPartitionGroup:
    """Partitions that the same subtasks consume, with the regions at both ends."""

    job_edge: JobEdge
    group: PartitionGroup
    producers: frozenset[RegionIndex]
    consumers: frozenset[RegionIndex]

    @property
    def result_type(self) -> ResultPartitionType:
        """Give the type of the partitions."""
        return self.job_edge.result_type

    def partitions(self) -> Iterator[PartitionId]:
        """Give the partitions in order."""
        return (
            PartitionId(self.job_edge.data_set_id, partition) for partition in self.group.partitions
        )

    def producer(self, partition: PartitionId) -> ExecutionVertexId:
        """Give the subtask that produces a partition."""
        return ExecutionVertexId(self.job_edge.source_id, partition.partition)


@dataclass(frozen=True)
class SchedulingTopology:
    """Regions in topological order, each with its subtasks in topological order."""

    graph: ExecutionGraph
    regions: tuple[tuple[ExecutionVertexId, ...], ...]
    region_of: Mapping[ExecutionVertexId, RegionIndex]
    groups: tuple[ConsumedPartitionGroup, ...]

    @cached_property
    def consumed(self) -> Sequence[Sequence[ConsumedPartitionGroup]]:
        """Groups by region that consumes them."""
        found: list[list[ConsumedPartitionGroup]] = [[] for _ in self.regions]
        for group in self.groups:
            for region in group.consumers:
                found[region].append(group)
        return found

    @cached_property
    def produced(self) -> Sequence[Sequence[ConsumedPartitionGroup]]:
        """Groups by region that produces a partition of them."""
        found: list[list[ConsumedPartitionGroup]] = [[] for _ in self.regions]
        for group in self.groups:
            for region in group.producers:
                found[region].append(group)
        return found
