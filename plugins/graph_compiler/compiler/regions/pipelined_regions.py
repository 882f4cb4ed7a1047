"""JobGraph → Flink's logical pipelined regions: vertices connected by edges that must be pipelined."""

from __future__ import annotations

from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import LogicalPipelinedRegion
from graph_compiler.graphs.topology import connected_components


def logical_pipelined_regions(graph: JobGraph) -> tuple[LogicalPipelinedRegion, ...]:
    """Group vertices without merging cycles, in topological order of the groups' first vertices."""
    links = [
        (edge.source_id, edge.target_id)
        for edge in graph.edges
        if edge.result_type.must_be_pipelined_consumed
    ]
    ids = [vertex.id for vertex in graph.vertices]
    return tuple(LogicalPipelinedRegion(tuple(group)) for group in connected_components(ids, links))
