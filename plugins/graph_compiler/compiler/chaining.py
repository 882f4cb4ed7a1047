"""Group stream nodes into chains, and say for every edge that is not inside one why.

    flights → flown ─hash─▶ with_weather ─hash─▶ delays → sink
    becomes {flights, flown} {with_weather} {delays, sink}

The rules are those of Flink's `StreamingJobGraphGenerator.isChainable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.compiler.exchange_modes import is_declared_staged
from graph_compiler.declaration.operators import ChainingStrategy
from graph_compiler.declaration.options import PipelineOptions
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph


class ChainBreak(StrEnum):
    """Why the two ends of an edge are in different chains; the value completes "a new vertex, because …"."""

    SEVERAL_INPUTS = "it has several inputs"
    CHAINING_DISABLED = "pipeline.operator-chaining.enabled is false"
    SLOT_SHARING_GROUP_DIFFERS = "its slot sharing group is another"
    PRODUCER_NEVER_CHAINS = "the operator before it disables chaining"
    CONSUMER_STARTS_A_CHAIN = "it starts a chain"
    PARALLELISM_DIFFERS = "its parallelism is another"
    NOT_FORWARD = "rows are redistributed on the way"
    DECLARED_STAGED = "it is declared to be staged"


@dataclass(frozen=True, slots=True)
class OperatorChain:
    """Nodes that run as one: `node_ids` in post-order as Flink lists them, so the head is last.

    `out_edges` are the edges that leave the chain, in Flink's order.
    """

    head_id: int
    node_ids: tuple[int, ...]
    out_edges: tuple[StreamEdge, ...]


def why_not_chainable(
    edge: StreamEdge, graph: StreamGraph, options: PipelineOptions
) -> ChainBreak | None:
    """Give the first rule the edge breaks, None when its ends may be chained."""
    source, target = graph.node[edge.source_id], graph.node[edge.target_id]
    broken = (
        (len(graph.in_edges[target.id]) != 1, ChainBreak.SEVERAL_INPUTS),
        (not options.chaining_enabled, ChainBreak.CHAINING_DISABLED),
        (
            source.slot_sharing_group != target.slot_sharing_group,
            ChainBreak.SLOT_SHARING_GROUP_DIFFERS,
        ),
        (source.chaining_strategy is ChainingStrategy.NEVER, ChainBreak.PRODUCER_NEVER_CHAINS),
        (not edge.partitioner.is_forward, ChainBreak.NOT_FORWARD),
        (
            target.chaining_strategy is not ChainingStrategy.ALWAYS,
            ChainBreak.CONSUMER_STARTS_A_CHAIN,
        ),
        (source.parallelism != target.parallelism, ChainBreak.PARALLELISM_DIFFERS),
        (is_declared_staged(edge, options), ChainBreak.DECLARED_STAGED),
    )
    return next((reason for is_broken, reason in broken if is_broken), None)


def chain_breaks(graph: StreamGraph, options: PipelineOptions) -> dict[str, ChainBreak | None]:
    """Answer `why_not_chainable` for every edge, by edge id."""
    return {edge.id: why_not_chainable(edge, graph, options) for edge in graph.edges}


def find_chains(
    graph: StreamGraph, breaks: dict[str, ChainBreak | None]
) -> tuple[OperatorChain, ...]:
    """Build chains from the sources on, in the order Flink creates job vertices: consumers before producers.

    Depth-first from each head: first through the edges inside the chain, then through those that leave it, whose
    targets are heads of chains of their own; then the node itself is done. (Written with a stack: a chain may be long.)
    """
    chains: dict[int, OperatorChain] = {}
    for source_id in sorted(node.id for node in graph.nodes if not graph.in_edges[node.id]):
        if source_id in chains:
            continue
        open_chains: dict[int, tuple[list[int], dict[int, list[StreamEdge]]]] = {
            source_id: ([], {})
        }
        stack = [(source_id, source_id, _steps(source_id, source_id, graph, breaks))]
        while stack:
            node_id, head_id, steps = stack[-1]
            step = next((step for step in steps if step[1] not in chains), None)
            if step is not None:
                next_id, next_head_id = step
                open_chains.setdefault(next_head_id, ([], {}))
                stack.append((next_id, next_head_id, _steps(next_id, next_head_id, graph, breaks)))
                continue
            stack.pop()
            node_ids, leaving = open_chains[head_id]
            node_ids.append(node_id)
            leaving[node_id] = _leaving_edges(node_id, graph, breaks, leaving)
            if node_id == head_id:
                chains[head_id] = OperatorChain(head_id, tuple(node_ids), tuple(leaving[node_id]))
    return tuple(chains.values())


def _steps(
    node_id: int, head_id: int, graph: StreamGraph, breaks: dict[str, ChainBreak | None]
) -> Iterator[tuple[int, int]]:
    """Give (node, head of its chain) for each out-edge: chained ones first."""
    edges = graph.out_edges[node_id]
    inside = [(edge.target_id, head_id) for edge in edges if breaks[edge.id] is None]
    outside = [(edge.target_id, edge.target_id) for edge in edges if breaks[edge.id] is not None]
    return iter(inside + outside)


def _leaving_edges(
    node_id: int,
    graph: StreamGraph,
    breaks: dict[str, ChainBreak | None],
    leaving: dict[int, list[StreamEdge]],
) -> list[StreamEdge]:
    """Give the edges that leave the chain at or below a node: those of its chained children first."""
    edges = graph.out_edges[node_id]
    below = [
        edge for inner in edges if breaks[inner.id] is None for edge in leaving.pop(inner.target_id)
    ]
    return below + [edge for edge in edges if breaks[edge.id] is not None]
