"""The number of subtasks of a job vertex: its head's parallelism, or None while a dynamic graph leaves it open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph_compiler.compiler.job_graph.chaining import OperatorChain
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph
from graph_compiler.graphs.topology import connected_components
from graph_compiler.options.model import PipelineOptions


def is_configured(chain: OperatorChain, graph: StreamGraph) -> bool:
    """Whether any operator of the chain sets a parallelism, including absorbed sources."""
    return any(graph.node[id].parallelism_configured for id in (*chain.node_ids, *chain.source_ids))


@dataclass(frozen=True, slots=True)
class VertexSize:
    """Parallelism and maximum of a vertex; None if not decided yet."""

    parallelism: int | None
    max_parallelism: int | None


def vertex_sizes(
    chains: Iterable[OperatorChain],
    edges: Iterable[StreamEdge],
    graph: StreamGraph,
    options: PipelineOptions,
) -> Mapping[int, VertexSize]:
    """Return the size of each vertex by chain head; `edges` are those between chains, their partitioners settled.

    In a dynamic graph, an unset parallelism is None, unless a forward edge ties the vertex to one whose parallelism is
    set: rows of subtask i then stay in subtask i. Such vertices share their smallest maximum (Flink's forward groups).
    """
    chains = tuple(chains)
    found = {chain.head_id: _declared_size(chain, graph, options) for chain in chains}
    if not graph.is_dynamic:
        return found
    head_of = {id: chain.head_id for chain in chains for id in chain.node_ids}
    ties = [
        (head_of[edge.source_id], edge.target_id) for edge in edges if edge.partitioner.is_forward
    ]
    for group in connected_components(found, ties):
        decided = [
            number for head_id in group if (number := found[head_id].parallelism) is not None
        ]
        bounds = [
            bound for head_id in group if (bound := found[head_id].max_parallelism) is not None
        ]
        size = VertexSize(decided[0] if decided else None, min(bounds, default=None))
        found.update(dict.fromkeys(group, size))
    return found


def _declared_size(
    chain: OperatorChain, graph: StreamGraph, options: PipelineOptions
) -> VertexSize:
    head = graph.node[chain.head_id]
    is_open = graph.is_dynamic and options.auto_parallelism and not is_configured(chain, graph)
    return VertexSize(None if is_open else head.parallelism, head.max_parallelism)
