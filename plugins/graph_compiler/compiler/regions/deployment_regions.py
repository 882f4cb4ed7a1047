"""JobGraph → deployment regions: which vertices run, commit and fail as a whole (decision 14).

Regions are the components over the edges that are not staged. Components that wait for each other are one region:
`cut_job_graph` leaves only those that may be merged, and the region reads back what is staged between them.
"""

from __future__ import annotations

from graph_compiler.compiler.regions.components import components, cycles
from graph_compiler.compiler.regions.region_names import name_regions
from graph_compiler.compiler.tasks.region_groups import NamedRegion
from graph_compiler.declaration.operators import Source
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.graphs.topology import post_order


def deployment_regions(stream_graph: StreamGraph, graph: JobGraph) -> tuple[NamedRegion, ...]:
    """Return the regions of a cut job graph, in an order in which they can run: each has one slot sharing group."""
    groups = components(graph)
    if waiting := cycles(graph, groups):
        groups = components(graph, waiting)
    staged_nodes = {edge.stream_edge.source_id for edge in graph.staged_edges}
    names = name_regions(groups, staged_nodes, stream_graph, graph)
    named = [
        NamedRegion(
            region=DeploymentRegion(
                id=name.id,
                vertex_ids=tuple(group),
                slot_sharing_group=graph.vertex[group[0]].slot_sharing_group,
            ),
            order=name.node_id,
            pin=name.id if name.is_pinned else None,
            stages_source=isinstance(stream_graph.node[name.node_id].operator, Source),
        )
        for name, group in zip(names, groups, strict=True)
    ]
    return _runnable_order(named, graph)


def _runnable_order(named: list[NamedRegion], graph: JobGraph) -> tuple[NamedRegion, ...]:
    number_of = {id: number for number, each in enumerate(named) for id in each.region.vertex_ids}
    producers: list[list[int]] = [[] for _ in named]
    for edge in graph.staged_edges:
        source, target = number_of[edge.source_id], number_of[edge.target_id]
        if source != target:
            producers[target].append(source)
    order = post_order(range(len(named)), lambda number: producers[number])
    return tuple(named[number] for number in order)
