"""The columns of each operator's output, as far as they are known without Spark, and in words for people."""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.operators.known_columns import Known, common
from graph_compiler.graphs.stream_graph import StreamGraph

_MOST = 20
_LONGEST = 60
"""Characters of a type: structs may have any number."""


def column_flow(graph: StreamGraph) -> Mapping[int, Known]:
    """Return the columns of each node's main output, None if they are unknown; of a sink, those that it is given."""
    found: dict[tuple[int, str | None], Known] = {}
    for node in graph.nodes:
        inputs: dict[int, list[Known]] = {}
        for edge in graph.in_edges[node.id]:
            origin = graph.node[edge.source_id].operator
            key = (edge.source_id, edge.output_tag)
            if key not in found and edge.output_tag is not None and (edge.source_id, None) in found:
                before = _inputs(graph, edge.source_id, found)
                found[key] = origin.columns_after(before, edge.output_tag)
            inputs.setdefault(edge.type_number, []).append(found.get(key))
        given = [common(each) for each in inputs.values()]
        is_sink = isinstance(node.operator, Sink)
        if given or not graph.in_edges[node.id]:
            found[node.id, None] = given[0] if is_sink else node.operator.columns_after(given)
    return {node.id: found.get((node.id, None)) for node in graph.nodes}


def column_words(known: Known) -> str | None:
    """Return columns in one line, without the types that are unknown; None if nothing is known."""
    if not known:
        return None
    words = [str(each) for each in known[:_MOST]]
    words = [each if len(each) <= _LONGEST else f"{each[:_LONGEST]}…" for each in words]
    more = [f"and {len(known) - _MOST} more"] if len(known) > _MOST else []
    return ", ".join([*words, *more])


def _inputs(
    graph: StreamGraph, node_id: int, found: Mapping[tuple[int, str | None], Known]
) -> list[Known]:
    inputs: dict[int, list[Known]] = {}
    for edge in graph.in_edges[node_id]:
        known = found.get((edge.source_id, edge.output_tag))
        inputs.setdefault(edge.type_number, []).append(known)
    return [common(each) for each in inputs.values()]
