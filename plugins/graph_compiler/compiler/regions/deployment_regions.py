"""JobGraph → deployment regions: which vertices one Spark application runs (decision 14).

Regions are the components over the edges that are not staged. Components that wait for each other are one region:
`cut_job_graph` leaves only those that may be merged, and the region reads back what is staged between them.
"""

from __future__ import annotations

from graph_compiler.compiler.regions.components import components, cycles
from graph_compiler.compiler.regions.region_names import name_regions
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import Deployment, DeploymentRegion
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.graphs.topology import post_order
from graph_compiler.identifiers import RegionId


def deployment_regions(stream_graph: StreamGraph, graph: JobGraph) -> Deployment:
    """Return the Spark applications of a cut job graph: each has one slot sharing group, and their graph is acyclic."""
    groups = components(graph)
    if waiting := cycles(graph, groups):
        groups = components(graph, waiting)
    staged_nodes = {edge.stream_edge.source_id for edge in graph.staged_edges}
    names = name_regions(groups, staged_nodes, stream_graph, graph)
    regions = tuple(
        DeploymentRegion(
            id=name,
            vertex_ids=tuple(group),
            slot_sharing_group=graph.vertex[group[0]].slot_sharing_group,
        )
        for name, group in zip(names, groups, strict=True)
    )
    return Deployment(regions=_runnable_order(Deployment(regions=regions), graph))


def _runnable_order(deployment: Deployment, graph: JobGraph) -> tuple[DeploymentRegion, ...]:
    by_id = {region.id: region for region in deployment.regions}
    producers: dict[RegionId, list[RegionId]] = {id: [] for id in by_id}
    for edge in filter(deployment.is_crossing, graph.staged_edges):
        source, target = (
            deployment.region_of_vertex[id] for id in (edge.source_id, edge.target_id)
        )
        producers[target.id].append(source.id)
    return tuple(by_id[id] for id in post_order(by_id, lambda id: producers[id]))
