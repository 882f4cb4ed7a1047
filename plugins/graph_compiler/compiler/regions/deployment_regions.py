"""JobGraph → deployment regions: which vertices one Spark application runs (decision 14).

    A ─────▶ B           A and B would share an application, but B waits for C, which waits for A:
    └─▒▒─▶ C ┘           A → B is staged too (WOULD_CYCLE), and the tasks are {A} → {C, B}

1. Cut the edges that are BLOCKING, and those between two slot sharing groups.
2. Regions are the components over the other edges.
3. A region that waits for itself through other regions is merged with these if they share a group and no cut
   among them parts tasks; else the edges that close the cycle are cut. Repeat until there is none. Under
   ALL_EXCHANGES_BLOCKING none is merged: each vertex is a task, but for what the declaration keeps together.
4. An edge that was cut and lies inside one region all the same is staged and read back there.
"""

from __future__ import annotations

from graph_compiler.compiler.job_graph.exchange_modes import why_declared_staged
from graph_compiler.compiler.regions.region_names import name_regions
from graph_compiler.compiler.regions.staging_words import staging_words
from graph_compiler.graphs.job_graph import JobEdge, JobGraph
from graph_compiler.graphs.regions import Deployment, DeploymentRegion, StagedEdge
from graph_compiler.graphs.staging_reasons import StagingReason
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.graphs.topology import (
    connected_components,
    post_order,
    strongly_connected_components,
)
from graph_compiler.identifiers import JobVertexId, RegionId
from graph_compiler.options.model import PipelineOptions, ShuffleMode

_Reasons = dict[str, StagingReason]  # by stream edge id: a job edge has none of its own


def deployment_regions(
    stream_graph: StreamGraph, graph: JobGraph, options: PipelineOptions
) -> Deployment:
    """Cut a job graph into Spark applications; the graph of regions is acyclic, each has one slot sharing group."""
    reasons: _Reasons = {
        edge.stream_edge.id: reason
        for edge in graph.edges
        if (reason := why_staged(edge, stream_graph, graph, options))
    }
    merges = options.shuffle_mode is not ShuffleMode.ALL_EXCHANGES_BLOCKING
    groups = _acyclic_components(graph, reasons, merges=merges)
    staged_nodes = {edge.stream_edge.source_id for edge in graph.edges if _is_cut(edge, reasons)}
    names = name_regions(groups, staged_nodes, stream_graph, graph)
    regions = [
        DeploymentRegion(
            id=name,
            vertex_ids=tuple(group),
            slot_sharing_group=graph.vertex[group[0]].slot_sharing_group,
        )
        for name, group in zip(names, groups, strict=True)
    ]
    staged = [
        StagedEdge(
            edge=edge,
            reason=reasons[edge.stream_edge.id],
            explanation=staging_words(edge, reasons[edge.stream_edge.id], stream_graph, graph),
        )
        for edge in graph.edges
        if edge.stream_edge.id in reasons
    ]
    return Deployment(regions=tuple(_runnable_order(regions, staged)), staged_edges=tuple(staged))


def why_staged(
    edge: JobEdge, stream_graph: StreamGraph, graph: JobGraph, options: PipelineOptions
) -> StagingReason | None:
    """Give the reason to stage a job edge that lies in the edge itself; None if it can stay in memory."""
    if reason := why_declared_staged(edge.stream_edge, stream_graph, options):
        return reason
    if edge.result_type.is_blocking and options.shuffle_mode is ShuffleMode.ALL_EXCHANGES_BLOCKING:
        return StagingReason.ALL_EXCHANGES_BLOCKING
    if edge.result_type.is_blocking:
        return StagingReason.OUTPUT_ONLY_AFTER_END
    if (
        graph.vertex[edge.source_id].slot_sharing_group
        != graph.vertex[edge.target_id].slot_sharing_group
    ):
        return StagingReason.SLOT_SHARING_GROUP_DIFFERS
    return None


def _acyclic_components(
    graph: JobGraph, reasons: _Reasons, *, merges: bool
) -> list[list[JobVertexId]]:
    """Give components over the edges without a reason; adds WOULD_CYCLE to `reasons` where that is needed."""
    ids = [vertex.id for vertex in graph.vertices]
    merged: set[frozenset[JobVertexId]] = set()
    while True:
        links = [
            (edge.source_id, edge.target_id)
            for edge in graph.edges
            if edge.stream_edge.id not in reasons
        ]
        links += [(id, other) for group in merged for id in group for other in group]
        components = connected_components(ids, links)
        cycles = _cycles(graph, components, reasons)
        if not cycles:
            return components
        for inside in cycles:
            merged = {group for group in merged if not group <= inside}
            if merges and _may_merge(inside, graph, reasons):
                merged.add(inside)
            else:
                _cut_closing_edges(inside, graph, reasons)


def _cycles(
    graph: JobGraph, components: list[list[JobVertexId]], reasons: _Reasons
) -> list[frozenset[JobVertexId]]:
    """Give the sets of vertices whose components wait for each other, or for themselves where a cut parts tasks."""
    component_of = {id: number for number, group in enumerate(components) for id in group}
    successors: dict[int, list[int]] = {number: [] for number in range(len(components))}
    waits_for_itself: set[int] = set()
    for edge in graph.edges:
        source, target = component_of[edge.source_id], component_of[edge.target_id]
        if source != target:
            successors[source].append(target)
        elif _parts_tasks(edge, reasons):
            waits_for_itself.add(source)
    return [
        frozenset(id for number in group for id in components[number])
        for group in strongly_connected_components(successors)
        if len(group) > 1 or group[0] in waits_for_itself
    ]


def _may_merge(inside: frozenset[JobVertexId], graph: JobGraph, reasons: _Reasons) -> bool:
    groups = {graph.vertex[id].slot_sharing_group for id in inside}
    return len(groups) == 1 and not any(
        _parts_tasks(edge, reasons) for edge in _edges_inside(inside, graph)
    )


def _cut_closing_edges(inside: frozenset[JobVertexId], graph: JobGraph, reasons: _Reasons) -> None:
    """Cut the edges that join vertices which can only run in different rounds."""
    edges = _edges_inside(inside, graph)
    ordered = [vertex.id for vertex in graph.vertices if vertex.id in inside]
    round_of = _rounds(ordered, edges, reasons)
    closing = [
        edge.stream_edge.id
        for edge in edges
        if not _is_cut(edge, reasons) and round_of[edge.source_id] != round_of[edge.target_id]
    ]
    assert closing, "a component that waits for itself spans several rounds"
    reasons.update(dict.fromkeys(closing, StagingReason.WOULD_CYCLE))


def _rounds(
    ordered: list[JobVertexId], edges: list[JobEdge], reasons: _Reasons
) -> dict[JobVertexId, int]:
    """Return each vertex' round: the number of cuts on the longest way to it.

    One that feeds later rounds only (a small source joined at the end) moves to the earliest of these, so that nothing
    is cut that need not be. The ends of an edge declared pipelined are in one round, where there is a way to.
    """
    tied = [e for e in edges if e.stream_edge.pipelining_reason and not _is_cut(e, reasons)]
    round_of = _raised(dict.fromkeys(ordered, 0), edges, tied, reasons)
    for id in reversed(ordered):
        leaving = [
            round_of[edge.target_id] - _is_cut(edge, reasons)
            for edge in edges
            if edge.source_id == id
        ]
        round_of[id] = max(round_of[id], min(leaving, default=0))
    return _raised(round_of, edges, tied, reasons)


def _raised(
    round_of: dict[JobVertexId, int],
    edges: list[JobEdge],
    tied: list[JobEdge],
    reasons: _Reasons,
) -> dict[JobVertexId, int]:
    """Raise rounds until each vertex comes behind what it reads, and what is tied is in one round if it can be."""
    found = dict(round_of)
    while max(found.values()) <= 2 * len(edges):  # ties that cannot hold raise each other forever
        before = dict(found)
        for edge in edges:
            earliest = found[edge.source_id] + _is_cut(edge, reasons)
            found[edge.target_id] = max(found[edge.target_id], earliest)
        for edge in tied:
            found[edge.source_id] = found[edge.target_id] = max(
                found[edge.source_id], found[edge.target_id]
            )
        if found == before:
            return found
    return _raised(round_of, edges, [], reasons)


def _edges_inside(inside: frozenset[JobVertexId], graph: JobGraph) -> list[JobEdge]:
    return [edge for edge in graph.edges if edge.source_id in inside and edge.target_id in inside]


def _parts_tasks(edge: JobEdge, reasons: _Reasons) -> bool:
    reason = reasons.get(edge.stream_edge.id)
    return reason is not None and reason.parts_tasks


def _is_cut(edge: JobEdge, reasons: _Reasons) -> bool:
    return edge.stream_edge.id in reasons


def _runnable_order(
    regions: list[DeploymentRegion], staged: list[StagedEdge]
) -> list[DeploymentRegion]:
    region_of = {vertex_id: region for region in regions for vertex_id in region.vertex_ids}
    producers: dict[RegionId, list[RegionId]] = {region.id: [] for region in regions}
    for cut in staged:
        source, target = region_of[cut.edge.source_id], region_of[cut.edge.target_id]
        if source.id != target.id:
            producers[target.id].append(source.id)
    by_id = {region.id: region for region in regions}
    return [by_id[id] for id in post_order(by_id, lambda id: producers[id])]
