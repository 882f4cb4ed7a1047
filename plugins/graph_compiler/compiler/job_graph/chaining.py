"""Group stream nodes into chains, with the reason for every edge that is not inside one.

    flights → flown ─hash─▶ with_weather ─hash─▶ delays → sink
    becomes {flights, flown} {with_weather} {delays, sink}

The rules are those of Flink's `StreamingJobGraphGenerator.isChainable`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from graph_compiler.compiler.job_graph.exchange_modes import why_declared_staged
from graph_compiler.declaration.operators import ChainingStrategy, Source
from graph_compiler.declaration.partitioners import ForwardForConsecutiveHashPartitioner
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph, StreamNode
from graph_compiler.options.model import PipelineOptions


class ChainBreak(StrEnum):
    """Why the two ends of an edge are in different chains; the value completes "a new vertex, because …"."""

    NO_FACTORY = "the head or tail of an iteration is never chained"
    YIELDS_BEHIND_LEGACY_SOURCE = "it can block, and a legacy source must never be blocked"
    SEVERAL_INPUTS = "it has several inputs"
    CHAINING_DISABLED = "pipeline.operator-chaining.enabled is false"
    SLOT_SHARING_GROUP_DIFFERS = "it is in a different slot sharing group"
    PRODUCER_NEVER_CHAINS = "the operator before it disables chaining"
    CONSUMER_STARTS_A_CHAIN = "it starts a chain"
    MAX_PARALLELISM_DIFFERS = "it has a different maximum parallelism"
    PARALLELISM_DIFFERS = "it has a different parallelism"
    NOT_FORWARD = "rows are redistributed before it"
    STAGED = "its input is staged"


@dataclass(frozen=True, slots=True)
class OperatorChain:
    """Nodes that run as one: `node_ids` in post-order as in Flink, so the head is last.

    `out_edges` are the edges that leave the chain, in Flink's order. `source_ids` are the sources that the head has
    absorbed: they run in the chain, but are not members of it. `after_end` are the nodes without output before the end
    of their input.
    """

    head_id: int
    node_ids: tuple[int, ...]
    source_ids: tuple[int, ...]
    out_edges: tuple[StreamEdge, ...]
    after_end: frozenset[int]


Breaks = Mapping[str, ChainBreak | None]
"""For every edge, by id, why it is not inside a chain; None if it is."""


def why_not_chainable(
    edge: StreamEdge, graph: StreamGraph, options: PipelineOptions, known: Breaks | None = None
) -> ChainBreak | None:
    """Return the first rule that the edge breaks, None if its ends may be chained.

    `known` are the results for edges upstream, if there are any, so that they are not computed again.
    """
    if len(graph.in_edges[edge.target_id]) != 1:
        return ChainBreak.SEVERAL_INPUTS
    return why_not_joined(edge, graph, options, known)


def why_not_joined(
    edge: StreamEdge, graph: StreamGraph, options: PipelineOptions, known: Breaks | None = None
) -> ChainBreak | None:
    """Return the first rule that the edge breaks, except the number of inputs: with several, it may absorb a source."""
    source, target = graph.node[edge.source_id], graph.node[edge.target_id]
    same_max = source.max_parallelism == target.max_parallelism or options.chaining_across_max_parallelism
    broken = (
        (not options.chaining_enabled, ChainBreak.CHAINING_DISABLED),
        (graph.changes_group(edge), ChainBreak.SLOT_SHARING_GROUP_DIFFERS),
        (not (source.operator.has_factory and target.operator.has_factory), ChainBreak.NO_FACTORY),
        (source.chaining_strategy is ChainingStrategy.NEVER, ChainBreak.PRODUCER_NEVER_CHAINS),
        (not edge.partitioner.is_forward, ChainBreak.NOT_FORWARD),
        (not _may_follow(source, target), ChainBreak.CONSUMER_STARTS_A_CHAIN),
        (source.parallelism != target.parallelism, ChainBreak.PARALLELISM_DIFFERS),
        (not same_max, ChainBreak.MAX_PARALLELISM_DIFFERS),
        (_is_staged(edge, graph, options), ChainBreak.STAGED),
        (_shares_input_number(edge, graph), ChainBreak.SEVERAL_INPUTS),
    )
    reason = next((reason for is_broken, reason in broken if is_broken), None)
    if (
        reason is None
        and target.operator.attributes.is_yielding
        and _is_driven_by_legacy_source(source, graph, options, known or {})
    ):
        return ChainBreak.YIELDS_BEHIND_LEGACY_SOURCE
    return reason


def _may_follow(source: StreamNode, target: StreamNode) -> bool:
    if target.chaining_strategy is ChainingStrategy.HEAD_WITH_SOURCES:
        return _is_new_source(source)
    return target.chaining_strategy is ChainingStrategy.ALWAYS


def _is_staged(edge: StreamEdge, graph: StreamGraph, options: PipelineOptions) -> bool:
    # A forward edge between operators with the same hash is chained in any mode, since it replaces an exchange.
    is_consecutive = isinstance(edge.partitioner, ForwardForConsecutiveHashPartitioner)
    return not is_consecutive and why_declared_staged(edge, graph, options) is not None


def _shares_input_number(edge: StreamEdge, graph: StreamGraph) -> bool:
    """Whether the edge belongs to a union: a chain cannot absorb a source below a union."""
    others = graph.in_edges[edge.target_id]
    return any(other is not edge and other.type_number == edge.type_number for other in others)


def _is_new_source(node: StreamNode) -> bool:
    return isinstance(node.operator, Source) and not node.operator.is_legacy


def _is_driven_by_legacy_source(node: StreamNode, graph: StreamGraph, options: PipelineOptions, known: Breaks) -> bool:
    """Whether the head of the chain is a legacy source; checked last, since it follows the whole chain."""
    while graph.in_edges[node.id]:
        edge = graph.in_edges[node.id][0]
        reason = known[edge.id] if edge.id in known else why_not_chainable(edge, graph, options)
        if reason is not None:
            return False
        node = graph.node[edge.source_id]
    return isinstance(node.operator, Source) and node.operator.is_legacy


def chain_breaks(graph: StreamGraph, options: PipelineOptions) -> dict[str, ChainBreak | None]:
    """Return the result of `why_not_chainable` for every edge, by edge id."""
    found: dict[str, ChainBreak | None] = {}
    for node in graph.nodes:  # inputs before their consumers, except the feedback of an iteration
        for edge in graph.in_edges[node.id]:
            found[edge.id] = why_not_chainable(edge, graph, options, found)
    return found


def absorbed_sources(graph: StreamGraph, options: PipelineOptions) -> dict[int, int]:
    """Return the sources that an operator with several inputs absorbs into its chain, with that operator's node id."""
    return {
        edges[0].source_id: edges[0].target_id
        for node in graph.nodes
        if _is_new_source(node) and len(edges := graph.out_edges[node.id]) == 1
        if graph.node[edges[0].target_id].chaining_strategy is ChainingStrategy.HEAD_WITH_SOURCES
        if why_not_joined(edges[0], graph, options) is None
    }


def find_chains(graph: StreamGraph, breaks: Breaks, absorbed: Mapping[int, int]) -> tuple[OperatorChain, ...]:
    """Build chains from the sources, in the order in which Flink creates job vertices: consumers before producers.

    Depth-first from each head: first along the edges inside the chain, then along those that leave it, whose targets
    are heads of other chains; then the node itself is done. It uses a stack, since a chain may be long.
    """
    heads = {absorbed.get(node.id, node.id) for node in graph.nodes if not graph.in_edges[node.id]}
    chains: dict[int, _OpenChain] = {}
    for start_id in sorted(heads):
        if start_id in chains:
            continue
        open_chains = {start_id: _OpenChain()}
        stack = [(start_id, start_id, _steps(start_id, start_id, graph, breaks))]
        while stack:
            node_id, head_id, steps = stack[-1]
            step = next((step for step in steps if step[1] not in chains), None)
            if step is not None:
                open_chains.setdefault(step[1], _OpenChain())
                stack.append((*step, _steps(*step, graph, breaks)))
                continue
            stack.pop()
            open_chains[head_id].finish(node_id, graph, breaks)
            if node_id == head_id:
                chains[head_id] = open_chains.pop(head_id)
    return tuple(chain.close(head_id, graph, breaks, absorbed) for head_id, chain in chains.items())


@dataclass(slots=True)
class _OpenChain:
    """A chain while it is built: finished nodes, and for each node the edges that leave at or below it."""

    node_ids: list[int] = field(default_factory=list)
    leaving: dict[int, list[StreamEdge]] = field(default_factory=dict)

    def finish(self, node_id: int, graph: StreamGraph, breaks: Breaks) -> None:
        """Add a node whose chained children are finished: their edges come before its own."""
        edges = graph.out_edges[node_id]
        below = [edge for inner in edges if breaks[inner.id] is None for edge in self.leaving.pop(inner.target_id)]
        self.leaving[node_id] = below + [edge for edge in edges if breaks[edge.id] is not None]
        self.node_ids.append(node_id)

    def close(self, head_id: int, graph: StreamGraph, breaks: Breaks, absorbed: Mapping[int, int]) -> OperatorChain:
        """Return the finished chain."""
        return OperatorChain(
            head_id=head_id,
            node_ids=tuple(self.node_ids),
            source_ids=tuple(e.source_id for e in graph.in_edges[head_id] if absorbed.get(e.source_id) == head_id),
            out_edges=tuple(self.leaving[head_id]),
            after_end=self._after_end(graph, breaks),
        )

    def _after_end(self, graph: StreamGraph, breaks: Breaks) -> frozenset[int]:
        """Propagate "no output before the end" down the chain, and from each node up to those before it."""
        found = {id for id in self.node_ids if graph.node[id].operator.attributes.outputs_only_after_end}
        if not found:
            return frozenset()
        inside = [
            (e.source_id, e.target_id) for id in self.node_ids for e in graph.out_edges[id] if breaks[e.id] is None
        ]
        for source_id, target_id in reversed(inside):  # starting at the head
            if source_id in found:
                found.add(target_id)
        for source_id, target_id in inside:  # starting at the ends
            if target_id in found:
                found.add(source_id)
        return frozenset(found)


def _steps(node_id: int, head_id: int, graph: StreamGraph, breaks: Breaks) -> Iterator[tuple[int, int]]:
    """Return (node, head of its chain) for each out-edge: chained ones first."""
    edges = graph.out_edges[node_id]
    inside = [(edge.target_id, head_id) for edge in edges if breaks[edge.id] is None]
    outside = [(edge.target_id, edge.target_id) for edge in edges if breaks[edge.id] is not None]
    return iter(inside + outside)
