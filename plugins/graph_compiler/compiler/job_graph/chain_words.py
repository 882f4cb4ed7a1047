"""The name and the description of a chain's job vertex, as Flink writes them.

A -> (B, C -> D)        the name, and the description in CASCADING mode (with other separators)
A
:- B                    the description in TREE mode
+- C
   +- D
"""

from __future__ import annotations

from collections.abc import Callable

from graph_compiler.compiler.job_graph.chaining import Breaks, OperatorChain
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.options.modes import DescriptionMode

_Text = Callable[[StreamNode], str]


def chain_name(chain: OperatorChain, graph: StreamGraph, breaks: Breaks) -> str:
    """Return the operators' names: `M [Source: S1, Source: S2] -> A -> (B, C)`."""
    return _in_a_row(chain, graph, breaks, lambda node: node.name, comma=", ")


def chain_description(
    chain: OperatorChain, graph: StreamGraph, breaks: Breaks, mode: DescriptionMode
) -> str:
    """Return the operators' descriptions, on separate lines or in one line."""
    if mode is DescriptionMode.CASCADING:
        return _in_a_row(chain, graph, breaks, lambda node: node.description, comma=" , ")
    lines: list[str] = []
    pending = [(chain.head_id, "", "")]
    while pending:
        id, own, below = pending.pop()
        lines.append(
            f"{own}{_with_sources(id, chain, graph, lambda node: node.description, ', ')}\n"
        )
        children = _children(id, graph, breaks)
        for number, child in reversed(list(enumerate(children))):
            is_last = number == len(children) - 1
            pending.append(
                (
                    child,
                    below + ("+- " if is_last else ":- "),
                    below + ("   " if is_last else ":  "),
                )
            )
    return "".join(lines)


def _in_a_row(
    chain: OperatorChain, graph: StreamGraph, breaks: Breaks, text: _Text, *, comma: str
) -> str:
    written: dict[int, str] = {}
    for id in chain.node_ids:  # in post-order: the nodes after a node are already written
        own = _with_sources(id, chain, graph, text, ", ")
        match [written.pop(child) for child in _children(id, graph, breaks)]:
            case []:
                written[id] = own
            case [only]:
                written[id] = f"{own} -> {only}"
            case several:
                written[id] = f"{own} -> ({comma.join(several)})"
    return written[chain.head_id]


def _with_sources(
    id: int, chain: OperatorChain, graph: StreamGraph, text: _Text, comma: str
) -> str:
    own = text(graph.node[id])
    if id != chain.head_id or not chain.source_ids:
        return own
    return f"{own} [{comma.join(text(graph.node[source_id]) for source_id in chain.source_ids)}]"


def _children(id: int, graph: StreamGraph, breaks: Breaks) -> list[int]:
    return [edge.target_id for edge in graph.out_edges[id] if breaks[edge.id] is None]
