"""StreamGraph → StreamGraph: which edges should be staged for an expensive operator or a contract.

    scored ─┬▒▶ by_day       scored is expensive: a failure after it does not recompute it.
            └▒▶ by_user      Not staged if its only reader is one sink of files: that would write it twice.

    checked ─▶ cleaned ─┬▒▶ by_day      a violation of the contract in checked fails the task: the first result after
                        └▒▶ by_user     it with several readers is staged, so that none of them starts before it holds

If an earlier edge is staged, that commits the contract, and the search ends there. An edge with its own declaration
(`.stage(reason)`, an exchange mode) keeps it. An edge with `.pipelined(reason)` after a contract is marked too, so that
`deployment_checks` refuses it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.graphs.staging_reasons import StagingReason
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph, StreamNode


def with_staging_wishes(graph: StreamGraph) -> StreamGraph:
    """Mark outputs of expensive operators, and outputs with several readers after a contract that may fail the task."""
    marked = _marked(graph, _behind_expensive(graph), StagingReason.EXPENSIVE)
    return _marked(marked, _behind_contracts(marked), StagingReason.CONTRACT)


def contracts_before(node_id: int, graph: StreamGraph) -> tuple[str, ...]:
    """Return the contracts that may fail the task and are committed with this operator's output."""
    found: set[int] = set()
    pending = [node_id]
    while pending:
        id = pending.pop()
        if id not in found:
            found.add(id)
            pending += [e.source_id for e in graph.in_edges[id] if not _is_committed(e, graph)]
    contracts = (node.operator.refusing_contract() for node in graph.nodes if node.id in found)
    return tuple(contract for contract in contracts if contract is not None)


def _marked(graph: StreamGraph, ids: Collection[str], reason: StagingReason) -> StreamGraph:
    if not ids:
        return graph
    edges = tuple(
        replace(edge, staging_wish=reason) if edge.id in ids and _is_open(edge, reason) else edge
        for edge in graph.edges
    )
    return replace(graph, edges=edges)


def _is_open(edge: StreamEdge, reason: StagingReason) -> bool:
    is_refused = edge.pipelining_reason is not None and reason is StagingReason.CONTRACT
    return edge.staging_wish is None and (
        is_refused or edge.exchange_mode is ExchangeMode.UNDEFINED
    )


def _behind_expensive(graph: StreamGraph) -> frozenset[str]:
    return frozenset(
        edge.id
        for node in graph.nodes
        if node.settings.expensive and not _is_copied(node, graph)
        for edge in graph.out_edges[node.id]
    )


def _is_copied(node: StreamNode, graph: StreamGraph) -> bool:
    readers = [graph.node[edge.target_id].operator for edge in graph.out_edges[node.id]]
    return len(readers) == 1 and readers[0].copies_what_it_reads()


def _behind_contracts(graph: StreamGraph) -> frozenset[str]:
    """Follow rows from each contract to the first output with several readers; producers come before consumers."""
    found: set[str] = set()
    uncommitted: set[str] = set()
    for node in graph.nodes:
        is_behind = any(edge.id in uncommitted for edge in graph.in_edges[node.id])
        if not is_behind and node.operator.refusing_contract() is None:
            continue
        for edges in _outputs(graph.out_edges[node.id]):
            if len({edge.target_id for edge in edges}) > 1:
                found.update(edge.id for edge in edges)
            else:
                uncommitted.update(edge.id for edge in edges if not _is_committed(edge, graph))
    return frozenset(found)


def _outputs(edges: Iterable[StreamEdge]) -> Collection[list[StreamEdge]]:
    """Group edges that leave an operator by the output they read: the main one, or a side output."""
    found: dict[str | None, list[StreamEdge]] = {}
    for edge in edges:
        found.setdefault(edge.output_tag, []).append(edge)
    return found.values()


def _is_committed(edge: StreamEdge, graph: StreamGraph) -> bool:
    """Whether the edge is staged in any case."""
    source, target = graph.node[edge.source_id], graph.node[edge.target_id]
    return (
        edge.staging_wish is not None
        or edge.exchange_mode is ExchangeMode.BATCH
        or source.slot_sharing_group != target.slot_sharing_group
    )
