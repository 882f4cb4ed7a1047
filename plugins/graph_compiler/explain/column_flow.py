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
    given: dict[int, list[Known]] = {}
    found: dict[int, Known] = {}
    for node in graph.nodes:
        inputs: dict[int, list[Known]] = {}
        for edge in graph.in_edges[node.id]:
            columns = found.get(edge.source_id)
            if edge.output_tag is not None and edge.source_id in given:
                columns = graph.node[edge.source_id].operator.columns_aside(given[edge.source_id])
            inputs.setdefault(edge.type_number, []).append(columns)
        given[node.id] = [common(each) for each in inputs.values()]
        is_sink = isinstance(node.operator, Sink)
        found[node.id] = (
            given[node.id][0] if is_sink else node.operator.columns_after(given[node.id])
        )
    return found


def column_words(known: Known) -> str | None:
    """Return columns in one line, without the types that are unknown; None if nothing is known."""
    if not known:
        return None
    words = [str(each) for each in known[:_MOST]]
    words = [each if len(each) <= _LONGEST else f"{each[:_LONGEST]}…" for each in words]
    more = [f"and {len(known) - _MOST} more"] if len(known) > _MOST else []
    return ", ".join([*words, *more])
