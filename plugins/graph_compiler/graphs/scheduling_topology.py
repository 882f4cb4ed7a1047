"""Pipelined regions and the partition groups between them, for scheduling and failover. Values only.

They are those of one job's subtasks (`compiler/execution_graph/scheduling_topology_builder.py`), or of one run's
deployment regions (`deployment/scheduling/region_topology.py`): both use the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graph_compiler.graphs.execution_graph import ExecutionVertexId, PartitionGroup, PartitionId
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId

RegionIndex = int
"""A region's index in `SchedulingTopology.regions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedPartitionGroup:
    """Partitions consumed by the same subtasks, with the regions at both ends."""

    data_set_id: IntermediateDataSetId
    producer_id: JobVertexId
    result_type: ResultPartitionType
    group: PartitionGroup
    producers: frozenset[RegionIndex]
    consumers: frozenset[RegionIndex]

    def partitions(self) -> Iterator[PartitionId]:
        """Return the partitions in order."""
        return (PartitionId(self.data_set_id, partition) for partition in self.group.partitions)

    def producer(self, partition: PartitionId) -> ExecutionVertexId:
        """Return the subtask that produces a partition."""
        return ExecutionVertexId(self.producer_id, partition.partition)


@dataclass(frozen=True)
class SchedulingTopology:
    """Regions, each with its subtasks in topological order; those of a job are in topological order, too."""

    regions: tuple[tuple[ExecutionVertexId, ...], ...]
    region_of: Mapping[ExecutionVertexId, RegionIndex]
    groups: tuple[ConsumedPartitionGroup, ...]

    @cached_property
    def consumed(self) -> Sequence[Sequence[ConsumedPartitionGroup]]:
        """The groups that each region consumes, by region."""
        found: list[list[ConsumedPartitionGroup]] = [[] for _ in self.regions]
        for group in self.groups:
            for region in group.consumers:
                found[region].append(group)
        return found

    @cached_property
    def produced(self) -> Sequence[Sequence[ConsumedPartitionGroup]]:
        """The groups of which each region produces a partition, by region."""
        found: list[list[ConsumedPartitionGroup]] = [[] for _ in self.regions]
        for group in self.groups:
            for region in group.producers:
                found[region].append(group)
        return found
