"""JobGraph → ExecutionGraph: decide maximum parallelism and connect subtasks to partitions."""

from __future__ import annotations

from graph_compiler.compiler.job_graph.coordinators import input_splits
from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.execution_graph import (
    ExecutionEdge,
    ExecutionGraph,
    ExecutionJobVertex,
    IntermediateResult,
    partition_groups,
)
from graph_compiler.graphs.job_graph import JobEdge, JobGraph

_MAX_PARALLELISM_BOUNDS = (128, 32768)


def build_execution_graph(graph: JobGraph) -> ExecutionGraph | None:
    """Expand a job graph; sizes stay linear in the parallelism, whatever the pattern.

    Edges are in the order in which Flink attaches their targets, so a partition that several vertices read lists its
    consumer groups in that order. Returns None if a dynamic graph leaves a parallelism open. Raises
    InvalidPipelineError for a parallelism over its maximum.
    """
    parallelism = {vertex.id: vertex.parallelism for vertex in graph.vertices if vertex.parallelism is not None}
    if len(parallelism) < len(graph.vertices):
        return None
    vertices = tuple(
        ExecutionJobVertex(
            id=vertex.id,
            name=vertex.name,
            parallelism=parallelism[vertex.id],
            max_parallelism=vertex.max_parallelism or default_max_parallelism(parallelism[vertex.id]),
            produced=tuple(data_set.id for data_set in graph.produced[vertex.id]),
            input_splits=input_splits(vertex, parallelism[vertex.id]),
        )
        for vertex in graph.vertices
    )
    problems = [
        Problem(
            operator=vertex.name,
            message=f"parallelism {vertex.parallelism} is higher than its maximum of {vertex.max_parallelism}",
        )
        for vertex in vertices
        if vertex.parallelism > vertex.max_parallelism
    ]
    if problems:
        raise InvalidPipelineError(graph.job_name, problems)
    return ExecutionGraph(
        vertices=vertices,
        results=tuple(
            IntermediateResult(
                id=data_set.id,
                producer_id=data_set.producer_id,
                result_type=data_set.result_type,
                partitions=parallelism[data_set.producer_id],
            )
            for data_set in graph.data_sets
        ),
        edges=tuple(
            ExecutionEdge(
                job_edge=edge,
                groups=partition_groups(
                    edge.distribution_pattern,
                    producers=parallelism[edge.source_id],
                    consumers=parallelism[edge.target_id],
                ),
                subpartition_count=_subpartition_count(
                    edge, producers=parallelism[edge.source_id], consumers=parallelism[edge.target_id]
                )
                if graph.is_dynamic
                else None,
            )
            for vertex in graph.vertices
            for edge in graph.in_edges[vertex.id]
        ),
    )


def _subpartition_count(edge: JobEdge, *, producers: int, consumers: int) -> int:
    """Return the number of subpartitions in a dynamic graph; all consumers read the one of a broadcast result."""
    if edge.stream_edge.partitioner.is_broadcast:
        return 1
    if edge.distribution_pattern is DistributionPattern.ALL_TO_ALL:
        return consumers
    return -(-consumers // producers)


def default_max_parallelism(parallelism: int) -> int:
    """Return Flink's default: 1.5 times the parallelism, rounded up to a power of two, from 128 to 32768."""
    lowest, highest = _MAX_PARALLELISM_BOUNDS
    rounded = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(rounded, lowest), highest)
