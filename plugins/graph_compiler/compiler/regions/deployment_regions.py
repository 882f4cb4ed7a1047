"""JobGraph → deployment regions: which vertices run, commit and fail as a whole (decision 14).

Regions are the components over the edges that are not staged. Components that wait for each other are one region:
`cut_job_graph` leaves only those that may be merged, and the region reads back what is staged between them.
"""

from __future__ import annotations

from typing import NamedTuple

from graph_compiler.compiler.regions.cuts import components, waiting_vertices
from graph_compiler.compiler.tasks.region_groups import NamedRegion
from graph_compiler.declaration.operators import Source
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import DeploymentRegion, LogicalPipelinedRegion
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.graphs.topology import connected_components, post_order
from graph_compiler.identifiers import JobVertexId, RegionId, distinct, task_id


def deployment_regions(stream_graph: StreamGraph, graph: JobGraph) -> tuple[NamedRegion, ...]:
    """Return the regions of a cut job graph, in an order in which they can run: each has one slot sharing group."""
    groups = components(graph)
    if waiting := waiting_vertices(graph, groups):
        groups = components(graph, waiting)
    staged_nodes = {edge.stream_edge.source_id for edge in graph.staged_edges}
    names = name_regions(groups, staged_nodes, stream_graph, graph)
    named = [
        NamedRegion(
            region=DeploymentRegion.of(name.id, [graph.vertex[id] for id in group]),
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


class RegionName(NamedTuple):
    """The name of a region, the node it is named after, and whether that pins it as a task id."""

    id: RegionId
    node_id: int
    is_pinned: bool


def name_regions(
    groups: list[list[JobVertexId]], staged_nodes: set[int], stream_graph: StreamGraph, graph: JobGraph
) -> list[RegionName]:
    """Name each region after its pinned task id, or its first sink or staged operator in declaration order.

    It has the name of a source only if it stages nothing else.

    Raises InvalidPipelineError if one region has two pins, or two regions have the same one.
    """
    pins: dict[str, StreamNode] = {}
    names: dict[int, str] = {}  # by the first node with the name, so that suffixes follow the declaration
    first_nodes: list[int] = []
    for group in groups:
        nodes = [stream_graph.node[id] for vertex_id in group for id in graph.vertex[vertex_id].node_ids]
        nodes.sort(key=lambda node: node.id)
        pinned = [node for node in nodes if node.settings.task_id is not None]
        if pinned:
            _check_pins(pinned, pins, stream_graph.job_name)
            first_nodes.append(pinned[0].id)
            continue
        ends = [node for node in nodes if node.id in staged_nodes or not stream_graph.out_edges[node.id]]
        # A source that is staged for another task is not what this one is for.
        end = min(ends, key=lambda node: (isinstance(node.operator, Source), node.id))
        first_nodes.append(end.id)
        names[end.id] = task_id(end.settings.uid or end.declared_name)
    ordered = sorted(names)
    free = distinct([*pins, *(names[id] for id in ordered)])[len(pins) :]
    found = dict(zip(ordered, free, strict=True)) | {node.id: str(node.settings.task_id) for node in pins.values()}
    pinned_ids = {node.id for node in pins.values()}
    return [RegionName(RegionId(found[id]), id, id in pinned_ids) for id in first_nodes]


def _check_pins(pinned: list[StreamNode], pins: dict[str, StreamNode], pipeline: str) -> None:
    """Check that a region has at most one pinned task id, and that no other region has the same one."""
    first, *others = pinned
    called = str(first.settings.task_id)
    differing = (node for node in others if node.settings.task_id != called)
    other = next(differing, None) or pins.get(called)
    if other is not None:
        theirs = (
            f"'{other.declared_name}', which is in another region, has the same one"
            if other.settings.task_id == called
            else f"'{other.declared_name}', which is in the same region, has '{other.settings.task_id}'"
        )
        problem = Problem(
            operator=first.declared_name,
            message=f"its task_id is '{called}'; {theirs}",
            hint="pin one task_id for each region; `explain` shows which operators share one",
            declared_at=first.declared_at,
        )
        raise InvalidPipelineError(pipeline, [problem])
    pins[called] = first


def logical_pipelined_regions(graph: JobGraph) -> tuple[LogicalPipelinedRegion, ...]:
    """Group vertices without merging cycles, in topological order of the groups' first vertices."""
    links = [(edge.source_id, edge.target_id) for edge in graph.edges if edge.result_type.must_be_pipelined_consumed]
    ids = [vertex.id for vertex in graph.vertices]
    return tuple(LogicalPipelinedRegion(tuple(group)) for group in connected_components(ids, links))
