"""Groups of job vertices that edges in memory connect, and groups that wait for each other."""

from __future__ import annotations

from collections.abc import Iterable

from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.topology import connected_components, strongly_connected_components
from graph_compiler.identifiers import JobVertexId

Component = list[JobVertexId]


def components(graph: JobGraph, merged: Iterable[frozenset[JobVertexId]] = ()) -> list[Component]:
    """Group vertices that are connected by unstaged edges; the vertices of each `merged` set are one group."""
    links = [(edge.source_id, edge.target_id) for edge in graph.edges if edge.staging is None]
    links += [(id, other) for group in merged for id in group for other in group]
    return connected_components([vertex.id for vertex in graph.vertices], links)


def cycles(graph: JobGraph, found: list[Component]) -> list[frozenset[JobVertexId]]:
    """Return the sets of vertices whose components wait for each other, or for themselves across two tasks."""
    component_of = {id: number for number, group in enumerate(found) for id in group}
    successors: dict[int, list[int]] = {number: [] for number in range(len(found))}
    waits_for_itself: set[int] = set()
    for edge in graph.edges:
        source, target = component_of[edge.source_id], component_of[edge.target_id]
        if source != target:
            successors[source].append(target)
        elif edge.parts_regions:
            waits_for_itself.add(source)
    return [
        frozenset(id for number in group for id in found[number])
        for group in strongly_connected_components(successors)
        if len(group) > 1 or group[0] in waits_for_itself
    ]
