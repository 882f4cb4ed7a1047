"""Declarations that no deployment can satisfy. These checks are ours: they run after Flink's graphs are built."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from graph_compiler.compiler.checks.sink_checks import unordered
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.row_order import row_orders
from graph_compiler.declaration.varying_rows import called_in
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.job_graph import JobGraph, JobVertex
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph, StreamNode
from graph_compiler.identifiers import OperatorId


def check_deployment(pipeline: Pipeline, stream_graph: StreamGraph, graph: JobGraph) -> None:
    """Check a compiled pipeline; raises InvalidPipelineError with all problems."""
    problems = [
        *_shared_result_ids(stream_graph, graph),
        *_staged_though_pipelined(stream_graph, graph),
        *_shared_though_pipelined(stream_graph),
        *_unordered(pipeline, graph),
    ]
    if problems:
        raise InvalidPipelineError(graph.job_name, problems)


def why_fixed(node: StreamNode) -> str | None:
    """Return why two readers could see different rows, as far as the declaration shows; Spark's plan decides finally.

    Such rows are staged once for all their readers (decision 9).
    """
    if reason := node.operator.why_unrepeatable():
        return reason
    called = called_in(node.operator.expressions())
    if called is None or node.settings.deterministic:
        return None
    name, row = called
    return f"of {name}(…): {row.reason}"


def _unordered(pipeline: Pipeline, job_graph: JobGraph) -> Iterator[Problem]:
    """Find sinks whose sorted rows are staged on the way, and cannot be sorted again."""
    staged = {
        (edge.stream_edge.source_id, edge.stream_edge.target_id): edge.staging.explanation
        for edge in job_graph.edges
        if edge.staging is not None
    }
    for sink, order in row_orders(pipeline):
        path = [each.id for each in (*order.operators, sink)]
        reasons = [staged[pair] for pair in pairwise(path) if pair in staged]
        if reasons and order.lost_at is not None:
            yield unordered(sink, order, f"staged on the way, {reasons[0]}")


def _staged_though_pipelined(graph: StreamGraph, job_graph: JobGraph) -> Iterator[Problem]:
    for edge in job_graph.edges:
        if edge.staging is not None and edge.stream_edge.pipelining_text is not None:
            words = f"has to be staged, {edge.staging.explanation}"
            yield _pipelined_problem(edge.stream_edge, graph, words)


def _shared_though_pipelined(graph: StreamGraph) -> Iterator[Problem]:
    for edge in graph.edges:
        readers = {other.target_id for other in graph.out_edges[edge.source_id]}
        if edge.pipelining_text is None or len(readers) == 1:
            continue
        if reason := why_fixed(graph.node[edge.source_id]):
            words = f"has to be staged once for its {len(readers)} readers, because {reason}"
            yield _pipelined_problem(edge, graph, words)


def _pipelined_problem(edge: StreamEdge, graph: StreamGraph, words: str) -> Problem:
    source, target = graph.node[edge.source_id], graph.node[edge.target_id]
    asked = f"its input from '{source.declared_name}' is declared pipelined (\"{edge.pipelining_text}\")"
    return Problem(
        operator=target.declared_name,
        message=f"{asked}, but {words}",
        hint="remove pipelined(…), or what makes staging necessary",
        declared_at=target.declared_at,
    )


def _shared_result_ids(stream_graph: StreamGraph, graph: JobGraph) -> Iterator[Problem]:
    """Find uid hashes that give two vertices the same id: their staged results would be confused."""
    vertices = sorted(graph.vertices, key=lambda vertex: vertex.user_hashes[-1] is not None)
    first: dict[OperatorId, StreamNode] = {}
    for vertex in vertices:  # own ids first: a uid hash may equal one
        head = _head(vertex, stream_graph)
        other = first.setdefault(vertex.result_id, head)
        if other is not head:
            yield Problem(
                operator=head.declared_name,
                message=f"its uid hash '{vertex.result_id}' is already the id of '{other.declared_name}'",
                hint="a uid hash is the id that one operator had in an older version; give each its own",
                declared_at=head.declared_at,
            )


def _head(vertex: JobVertex, graph: StreamGraph) -> StreamNode:
    return graph.node[vertex.node_ids[-len(vertex.operator_ids)]]
