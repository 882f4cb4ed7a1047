"""Declarations that no deployment can satisfy. These checks are ours: they run after Flink's graphs are built."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from graph_compiler.compiler.checks.column_checks import column_flow
from graph_compiler.compiler.checks.sink_checks import unordered
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.row_order import row_orders
from graph_compiler.declaration.sql_text import tokens_of
from graph_compiler.declaration.varying_rows import NAMES_OF_FILES, called_in
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.job_graph import JobEdge, JobGraph, JobVertex
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph, StreamNode
from graph_compiler.identifiers import JobEdgeId, OperatorId


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


def check_named_files(pipeline: Pipeline, stream_graph: StreamGraph, graph: JobGraph) -> None:
    """Check what asks for the files of rows, where all regions' inputs are known; raises InvalidPipelineError."""
    if problems := list(_files_named_too_late(pipeline, stream_graph, graph)):
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


_METADATA = "_metadata"
_MAY_NAME_FILE = re.compile("input_file|_metadata", re.IGNORECASE)


def _files_named_too_late(pipeline: Pipeline, graph: StreamGraph, job_graph: JobGraph) -> Iterator[Problem]:
    """Find expressions that ask which file a row is from, and would name a staged file."""
    for node in graph.nodes:
        if not node.operator.sees_single_rows or not (named := _file_named_in(node)):
            continue
        if named == _METADATA and not _is_sparks(column_flow(pipeline).given.get(node.id, ())):
            continue
        if (edge := _staged_before(node, graph, job_graph)) is not None:
            assert edge.staging is not None
            producer = graph.node[edge.stream_edge.source_id].declared_name
            example = f"{_METADATA}.file_path" if named == _METADATA else named
            yield Problem(
                operator=node.declared_name,
                message=f"its {named} would name a file of the staging root: the output of '{producer}' is staged, "
                f"{edge.staging.explanation}",
                allowed=f"{named} behind a source, before rows are staged",
                hint=f'make it a column right behind the source: source.with_columns(file="{example}")',
                declared_at=node.declared_at,
            )


def _staged_before(node: StreamNode, graph: StreamGraph, job_graph: JobGraph) -> JobEdge | None:
    """Return a staged edge whose rows an operator reads as they are staged, but for what is made of single rows."""
    waiting = [node]
    while waiting:
        for edge in graph.in_edges[waiting.pop().id]:
            job_edge = job_graph.edge.get(JobEdgeId(edge.id))
            if job_edge is not None and job_edge.staging is not None:
                return job_edge
            if (producer := graph.node[edge.source_id]).operator.sees_single_rows:
                waiting.append(producer)
    return None


def _file_named_in(node: StreamNode) -> str | None:
    """Return what names the file of a row in an operator's expressions: a function, or Spark's `_metadata`."""
    for expression in node.operator.expressions():
        if not _MAY_NAME_FILE.search(expression):
            continue
        tokens = tokens_of(expression)
        for before, token, after in zip((None, *tokens), tokens, (*tokens[1:], None), strict=False):
            name = token.text.lower()
            if name in NAMES_OF_FILES and after is not None and after.text == "(" and not token.is_quoted:
                return f"{name}()"
            if name.strip("`") == _METADATA and (before is None or before.text != "."):
                return _METADATA
    return None


def _is_sparks(given: Iterable[Known]) -> bool:
    """Whether `_metadata` is certainly no column of what an operator reads."""
    return all(known is not None and _METADATA not in {each.name.lower() for each in known} for known in given)


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
