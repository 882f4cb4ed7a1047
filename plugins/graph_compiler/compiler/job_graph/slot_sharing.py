"""The job vertices that may share slots: Flink's slot sharing groups after chaining.

A named group is one group. The default group is one group in a streaming job. In a batch job it is one group for each
logical pipelined region, since regions run one after the other and need not fit side by side.
"""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.compiler.regions.deployment_regions import logical_pipelined_regions
from graph_compiler.compiler.stream_graph.stream_graph_draft import DEFAULT_SLOT_SHARING_GROUP
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.stream_graph import JobType
from graph_compiler.identifiers import JobVertexId


def slot_sharing_groups(graph: JobGraph) -> Mapping[JobVertexId, str]:
    """Return a name for the group of each vertex; vertices share slots if their names are equal."""
    region_of: dict[JobVertexId, int] = {}
    if graph.job_type is JobType.BATCH:
        regions = logical_pipelined_regions(graph)
        region_of = {
            id: number for number, region in enumerate(regions) for id in region.vertex_ids
        }
    return {
        vertex.id: vertex.slot_sharing_group
        if vertex.slot_sharing_group != DEFAULT_SLOT_SHARING_GROUP
        else f"{DEFAULT_SLOT_SHARING_GROUP}/{region_of.get(vertex.id, 0)}"
        for vertex in graph.vertices
    }
