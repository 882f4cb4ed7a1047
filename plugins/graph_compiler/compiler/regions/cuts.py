"""Flink's JobGraph → the JobGraph that is deployed: edges that must be staged are BLOCKING, with their reason.

    A ─────▶ B           A and B would share an application, but B waits for C, which waits for A:
    └─▒▒─▶ C ┘           A → B is also staged (WOULD_CYCLE), and the tasks are {A} → {C, B}

1. Cut the edges that are BLOCKING, and those between two slot sharing groups.
2. What is still connected is a component: one Spark application.
3. Components may wait for each other. `deployment_regions` merges them if they have the same group, and no cut among
   them must separate tasks. Otherwise the edges that close the cycle are cut. Repeat until there is no such cycle.
Under ALL_EXCHANGES_BLOCKING none are merged: each vertex is a task, except where the declaration keeps vertices
together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from graph_compiler.compiler.job_graph.exchange_modes import why_declared_staged
from graph_compiler.compiler.stream_graph.stream_graph_generator import contracts_before
from graph_compiler.graphs.job_graph import JobEdge, JobGraph, ResultPartitionType
from graph_compiler.graphs.stream_graph import Staging, StagingReason, StreamEdge, StreamGraph
from graph_compiler.graphs.topology import connected_components, strongly_connected_components
from graph_compiler.identifiers import IntermediateDataSetId, JobEdgeId, JobVertexId, listing
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import ShuffleMode


def cut_job_graph(stream_graph: StreamGraph, graph: JobGraph, options: PipelineOptions) -> JobGraph:
    """Stage what must be staged; components that still wait for each other may then be merged into one task."""
    merges = options.shuffle_mode is not ShuffleMode.ALL_EXCHANGES_BLOCKING
    reasons = {edge.id: reason for edge in graph.edges if (reason := why_staged(edge, stream_graph, options))}
    cut = _staged(reasons, stream_graph, graph)
    while closing := _closing_edges(cut, merges=merges):
        cut = _staged(dict.fromkeys(closing, StagingReason.WOULD_CYCLE), stream_graph, cut)
    return _with_data_sets(cut)


def why_staged(edge: JobEdge, stream_graph: StreamGraph, options: PipelineOptions) -> StagingReason | None:
    """Return the reason why the edge itself must be staged; None if it can stay in memory."""
    if reason := why_declared_staged(edge.stream_edge, stream_graph, options):
        return reason
    if edge.result_type.is_blocking and options.shuffle_mode is ShuffleMode.ALL_EXCHANGES_BLOCKING:
        return StagingReason.ALL_EXCHANGES_BLOCKING
    if edge.result_type.is_blocking:
        return StagingReason.OUTPUT_ONLY_AFTER_END
    if stream_graph.changes_group(edge.stream_edge):
        return StagingReason.SLOT_SHARING_GROUP_DIFFERS
    return None


def _staged(reasons: Mapping[JobEdgeId, StagingReason], stream_graph: StreamGraph, graph: JobGraph) -> JobGraph:
    """Return the graph in which the edges with a reason are staged."""
    if not reasons:
        return graph

    def staged(edge: JobEdge) -> JobEdge:
        if (reason := reasons.get(edge.id)) is None:
            return edge
        words = staging_words(edge, reason, stream_graph, graph)
        staging = Staging(reason=reason, explanation=words)
        return replace(edge, staging=staging, result_type=ResultPartitionType.BLOCKING)

    return replace(graph, edges=tuple(map(staged, graph.edges)))


def _closing_edges(graph: JobGraph, *, merges: bool) -> list[JobEdgeId]:
    """Return edges that close a cycle of components which may not be merged; none if all cycles may be merged."""
    merged: frozenset[frozenset[JobVertexId]] = frozenset()
    while found := waiting_vertices(graph, components(graph, merged)):
        closing = [
            id
            for inside in found
            if not (merges and _may_merge(inside, graph))
            for id in _closing_edges_inside(inside, graph)
        ]
        if closing:
            return closing
        merged |= frozenset(found)
    return []


def _may_merge(inside: frozenset[JobVertexId], graph: JobGraph) -> bool:
    return graph.is_one_group(inside) and not any(edge.parts_regions for edge in _edges_inside(inside, graph))


def _closing_edges_inside(inside: frozenset[JobVertexId], graph: JobGraph) -> list[JobEdgeId]:
    """Return the edges between vertices that can only run in different rounds."""
    edges = _edges_inside(inside, graph)
    ordered = [vertex.id for vertex in graph.vertices if vertex.id in inside]
    round_of = _rounds(ordered, edges)
    closing = [edge.id for edge in edges if not _is_cut(edge) and round_of[edge.source_id] != round_of[edge.target_id]]
    assert closing, "a component that waits for itself spans several rounds"
    return closing


def _rounds(ordered: list[JobVertexId], edges: list[JobEdge]) -> dict[JobVertexId, int]:
    """Return the round of each vertex: the number of cuts on the longest path to it.

    A vertex that only later rounds read (a small source that is joined at the end) moves to the earliest of these, so
    that nothing is cut needlessly. The ends of an edge declared pipelined are in one round, if possible.
    """
    tied = [e for e in edges if e.stream_edge.pipelining_text and not _is_cut(e)]
    round_of = _raised(dict.fromkeys(ordered, 0), edges, tied)
    for id in reversed(ordered):
        leaving = [round_of[edge.target_id] - _is_cut(edge) for edge in edges if edge.source_id == id]
        round_of[id] = max(round_of[id], min(leaving, default=0))
    return _raised(round_of, edges, tied)


def _raised(round_of: dict[JobVertexId, int], edges: list[JobEdge], tied: list[JobEdge]) -> dict[JobVertexId, int]:
    """Raise rounds until each vertex comes after its inputs, and tied vertices are in one round if possible."""
    found = dict(round_of)
    while max(found.values()) <= 2 * len(edges):  # impossible ties would raise each other forever
        before = dict(found)
        for edge in edges:
            earliest = found[edge.source_id] + _is_cut(edge)
            found[edge.target_id] = max(found[edge.target_id], earliest)
        for edge in tied:
            found[edge.source_id] = found[edge.target_id] = max(found[edge.source_id], found[edge.target_id])
        if found == before:
            return found
    return _raised(round_of, edges, [])


def _edges_inside(inside: frozenset[JobVertexId], graph: JobGraph) -> list[JobEdge]:
    return [edge for edge in graph.edges if edge.source_id in inside and edge.target_id in inside]


def _is_cut(edge: JobEdge) -> bool:
    return edge.staging is not None


def _with_data_sets(graph: JobGraph) -> JobGraph:
    """Return the graph in which the data sets of staged edges are BLOCKING, too.

    If other edges read one in memory (only a hybrid data set may have several readers), the staged edges read a
    separate data set: in Flink, edges of different result types do not share a data set, either.
    """
    data_sets, edges, added = list(graph.data_sets), list(graph.edges), Counter[JobVertexId]()
    readers_of: dict[IntermediateDataSetId, list[int]] = {one.id: [] for one in data_sets}
    for number, edge in enumerate(edges):
        readers_of[edge.data_set_id].append(number)
    for place, data_set in enumerate(graph.data_sets):
        readers = readers_of[data_set.id]
        staged = [number for number in readers if _is_cut(edges[number])]
        if not staged or data_set.result_type.is_blocking:
            continue
        blocking = replace(data_set, result_type=ResultPartitionType.BLOCKING)
        if staged == readers:
            data_sets[place] = blocking
        else:
            producer_id = data_set.producer_id
            number = len(graph.produced[producer_id]) + added[producer_id]
            added[producer_id] += 1
            id = IntermediateDataSetId(f"{graph.vertex[producer_id].result_id}-{number}")
            data_sets.append(replace(blocking, id=id))
            for reader in staged:
                edges[reader] = replace(edges[reader], data_set_id=id)
    return replace(graph, data_sets=tuple(data_sets), edges=tuple(edges))


def pipelining_words(edge: StreamEdge) -> str | None:
    """Return the end of "in memory, …", if the declaration requests that."""
    asked = edge.pipelining_text
    return None if asked is None else f'because you asked: "{asked}"'


_OF_OPERATORS = {
    StagingReason.EXPENSIVE: "is expensive: a later failure does not repeat it",
    StagingReason.PREVIOUS_VERSION: "reads what a sink then replaces: retries read this copy of all its rows",
}


def staging_words(edge: JobEdge, reason: StagingReason, stream_graph: StreamGraph, graph: JobGraph) -> str:
    """Return the end of "staged, …"."""
    source, target = graph.vertex[edge.source_id], graph.vertex[edge.target_id]
    match reason:
        case StagingReason.DECLARED | StagingReason.DECLARED_IN_TASK:
            asked = edge.stream_edge.staging_text
            words = f'you asked: "{asked}"' if asked else "its exchange mode is BATCH"
        case StagingReason.EXPENSIVE | StagingReason.PREVIOUS_VERSION:
            operator = stream_graph.node[edge.stream_edge.source_id].declared_name
            words = f"'{operator}' {_OF_OPERATORS[reason]}"
        case StagingReason.CONTRACT:
            words = _contract_words(edge.stream_edge, stream_graph)
        case StagingReason.ALL_EXCHANGES_BLOCKING:
            words = "execution.batch-shuffle-mode is ALL_EXCHANGES_BLOCKING"
        case StagingReason.OUTPUT_ONLY_AFTER_END:
            words = f"'{source.name}' produces no rows until it has read all its input"
        case StagingReason.SLOT_SHARING_GROUP_DIFFERS:
            one, other = stream_graph.group_names(edge.stream_edge)
            words = f"slot sharing group '{one}' ends and '{other}' begins"
        case StagingReason.WOULD_CYCLE:
            words = f"'{target.name}' waits for staged rows, which one region with '{source.name}' would stage itself"
        case _:
            assert_never(reason)
    return f"because {words}"


def _contract_words(edge: StreamEdge, graph: StreamGraph) -> str:
    readers = {each.target_id for each in graph.out_edges[edge.source_id] if each.output_tag == edge.output_tag}
    contracts = [f"'{contract}'" for contract in contracts_before(edge.source_id, graph)]
    return f"{len(readers)} operators read it, and {listing(contracts)} must hold before any of them starts"


Component = list[JobVertexId]


def components(graph: JobGraph, merged: Iterable[frozenset[JobVertexId]] = ()) -> list[Component]:
    """Group vertices that are connected by unstaged edges; the vertices of each `merged` set are one group."""
    links = [(edge.source_id, edge.target_id) for edge in graph.edges if edge.staging is None]
    links += [(id, other) for group in merged for id in group for other in group]
    return connected_components([vertex.id for vertex in graph.vertices], links)


def waiting_vertices(graph: JobGraph, found: list[Component]) -> list[frozenset[JobVertexId]]:
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
