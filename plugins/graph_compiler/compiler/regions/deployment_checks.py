"""What a pipeline declares and no deployment can keep. Ours alone: Flink's graphs are made before it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.job_graph import JobGraph, JobVertex
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.identifiers import OperatorId


def check_deployment(stream_graph: StreamGraph, graph: JobGraph) -> None:
    """Refuse what cannot hold; raises InvalidPipelineError with all of it."""
    if problems := list(_shared_result_ids(stream_graph, graph)):
        raise InvalidPipelineError(graph.job_name, problems)


def _shared_result_ids(stream_graph: StreamGraph, graph: JobGraph) -> Iterator[Problem]:
    """Find uid hashes that give two vertices one id: their staged results would be taken for each other's."""
    vertices = sorted(graph.vertices, key=lambda vertex: vertex.user_hashes[-1] is not None)
    first: dict[OperatorId, StreamNode] = {}
    for (
        vertex
    ) in vertices:  # those that keep their own id come first: a uid hash may be one of these
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
