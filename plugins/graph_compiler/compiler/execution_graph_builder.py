"""JobGraph → ExecutionGraph: decide maximum parallelism and connect subtasks to partitions."""

from __future__ import annotations

from graph_compiler.graphs.distribution import partition_groups
from graph_compiler.graphs.execution_graph import (
    ExecutionEdge,
    ExecutionGraph,
    ExecutionJobVertex,
    IntermediateResult,
)
from graph_compiler.graphs.job_graph import JobGraph

_MAX_PARALLELISM_BOUNDS = (128, 32768)


def build_execution_graph(graph: JobGraph) -> ExecutionGraph:
    """Expand a job graph; sizes stay linear in the parallelism, whatever the pattern."""
    return ExecutionGraph(
        vertices=tuple(
            ExecutionJobVertex(
                id=vertex.id,
                name=vertex.name,
                parallelism=vertex.parallelism,
                max_parallelism=vertex.max_parallelism
                or default_max_parallelism(vertex.parallelism),
                produced=tuple(data_set.id for data_set in graph.produced[vertex.id]),
            )
            for vertex in graph.vertices
        ),
        results=tuple(
            IntermediateResult(
                id=data_set.id,
                producer_id=data_set.producer_id,
                partitions=graph.vertex[data_set.producer_id].parallelism,
            )
            for data_set in graph.data_sets
        ),
        edges=tuple(
            ExecutionEdge(
                job_edge=edge,
                groups=partition_groups(
                    edge.distribution_pattern,
                    producers=graph.vertex[edge.source_id].parallelism,
                    consumers=graph.vertex[edge.target_id].parallelism,
                ),
            )
            for edge in graph.edges
        ),
    )


def default_max_parallelism(parallelism: int) -> int:
    """Give Flink's default: one and a half times the parallelism, rounded up to a power of two, within 128 to 32768."""
    lowest, highest = _MAX_PARALLELISM_BOUNDS
    rounded = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(rounded, lowest), highest)
