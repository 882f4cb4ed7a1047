"""ExecutionGraph: subtasks, the partitions they produce and the groups they consume. Values only.

Subtasks are counted, not listed: a vertex with 16,000 subtasks is one value, an edge of 16,000 × 16,000 one group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.graphs.coordination import InputSplitAssigner
from graph_compiler.graphs.job_graph import JobEdge, ResultPartitionType
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId

# The partitions that a consumer subtask reads: Flink's arithmetic (`EdgeManagerBuildUtil`).
#
# POINTWISE, 4 producers, 2 consumers     ALL_TO_ALL
# 0 1 2 3                                 0 1 2
# └┬┘ └┬┘                                 ├─┼─┤   every consumer reads its own
#  0   1                                  0   1   subpartition of every partition


@dataclass(frozen=True, slots=True)
class PartitionGroup:
    """All `consumers` (subtasks) read exactly `partitions`: Flink's ConsumedPartitionGroup with its consumers."""

    partitions: range
    consumers: range


def partition_groups(pattern: DistributionPattern, *, producers: int, consumers: int) -> tuple[PartitionGroup, ...]:
    """Group consumers by the partitions they read; O(producers + consumers), groups in order of consumers."""
    if pattern is DistributionPattern.ALL_TO_ALL:
        return (PartitionGroup(range(producers), range(consumers)),)
    if producers >= consumers:
        return tuple(
            PartitionGroup(
                range(consumer * producers // consumers, (consumer + 1) * producers // consumers),
                range(consumer, consumer + 1),
            )
            for consumer in range(consumers)
        )
    starts = [-(-partition * consumers // producers) for partition in range(producers + 1)]
    return tuple(
        PartitionGroup(range(partition, partition + 1), range(starts[partition], starts[partition + 1]))
        for partition in range(producers)
    )


class ExecutionVertexId(NamedTuple):
    """Subtask `subtask` (from 0) of a job vertex."""

    vertex_id: JobVertexId
    subtask: int


class PartitionId(NamedTuple):
    """The output of subtask `partition` (from 0) of a data set's producer."""

    data_set_id: IntermediateDataSetId
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionJobVertex:
    """A job vertex with its parallelism decided: `parallelism` execution vertices.

    `input_splits` are those of its sources whose connector knows them in advance.
    """

    id: JobVertexId
    name: str
    parallelism: int
    max_parallelism: int
    produced: tuple[IntermediateDataSetId, ...]
    input_splits: tuple[InputSplitAssigner, ...] = ()

    def execution_vertices(self) -> Iterator[ExecutionVertexId]:
        """Return the subtasks in order."""
        return (ExecutionVertexId(self.id, subtask) for subtask in range(self.parallelism))

    def task_name(self, subtask: int) -> str:
        """Return Flink's task name: `flown (1/4)`."""
        return f"{self.name} ({subtask + 1}/{self.parallelism})"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntermediateResult:
    """A data set as `partitions` partitions, one for each subtask of its producer."""

    id: IntermediateDataSetId
    producer_id: JobVertexId
    result_type: ResultPartitionType
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEdge:
    """A job edge with its consumers grouped by the partitions they read.

    `subpartition_count`: how many each partition has, if that is decided before its consumers are known, as in a
    dynamic graph. None: one for each consumer of the partition.
    """

    job_edge: JobEdge
    groups: tuple[PartitionGroup, ...]
    subpartition_count: int | None = None

    def group_of(self, consumer: int) -> PartitionGroup:
        """Return the partitions that a consumer subtask reads."""
        if self.job_edge.distribution_pattern is DistributionPattern.ALL_TO_ALL:
            return self.groups[0]
        return next(group for group in self.groups if consumer in group.consumers)

    def subpartitions(self, consumer: int) -> tuple[int, int]:
        """Return the first and the last subpartition that a consumer reads of each of its partitions.

        Flink takes the subtask's number modulo the number of the partition's consumers, not its place among them.
        """
        consumers = len(self.group_of(consumer).consumers)
        index, count = consumer % consumers, self.subpartition_count
        if count is None:
            return index, index
        if self.job_edge.stream_edge.partitioner.is_broadcast:
            return 0, 0
        return index * count // consumers, (index + 1) * count // consumers - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionGraph:
    """Job vertices in topological order; edges by target in that order, then by input."""

    vertices: tuple[ExecutionJobVertex, ...]
    results: tuple[IntermediateResult, ...]
    edges: tuple[ExecutionEdge, ...]
