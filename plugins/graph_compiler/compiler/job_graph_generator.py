"""StreamGraph → JobGraph: one vertex for each chain, one edge for each stream edge between chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.compiler.chaining import ChainBreak, OperatorChain, chain_breaks, find_chains
from graph_compiler.compiler.exchange_modes import result_type
from graph_compiler.compiler.hasher import hash_nodes
from graph_compiler.declaration.options import PipelineOptions
from graph_compiler.graphs.job_graph import IntermediateDataSet, JobEdge, JobGraph, JobVertex
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, OperatorId


def generate_job_graph(graph: StreamGraph, options: PipelineOptions) -> JobGraph:
    """Chain what may be chained and connect the rest."""
    breaks = chain_breaks(graph, options)
    operator_ids = hash_nodes(graph, breaks)
    chains = find_chains(graph, breaks)
    vertices = {chain.head_id: _vertex(chain, graph, breaks, operator_ids) for chain in chains}
    vertex_of_node = {id: vertices[chain.head_id].id for chain in chains for id in chain.node_ids}

    data_sets: list[IntermediateDataSet] = []
    edges: list[JobEdge] = []
    for chain in chains:
        produced: list[tuple[IntermediateDataSet, StreamEdge]] = []
        for edge in chain.out_edges:
            data_set = _shared_data_set(edge, produced, graph, options)
            if data_set is None:
                data_set = IntermediateDataSet(
                    id=IntermediateDataSetId(f"{vertices[chain.head_id].id}-{len(produced)}"),
                    producer_id=vertices[chain.head_id].id,
                    node_id=edge.source_id,
                    output_tag=edge.output_tag,
                    result_type=result_type(edge, options),
                )
                produced.append((data_set, edge))
                data_sets.append(data_set)
            edges.append(
                JobEdge(
                    data_set_id=data_set.id,
                    source_id=data_set.producer_id,
                    target_id=vertex_of_node[edge.target_id],
                    stream_edge=edge,
                    result_type=data_set.result_type,
                )
            )
    creation_order = tuple(vertex.id for vertex in vertices.values())
    by_id = {vertex.id: vertex for vertex in vertices.values()}
    return JobGraph(
        job_name=graph.job_name,
        job_type=graph.job_type,
        vertices=tuple(by_id[id] for id in _topological_order(creation_order, data_sets, edges)),
        data_sets=tuple(data_sets),
        edges=tuple(edges),
        creation_order=creation_order,
    )


def _vertex(
    chain: OperatorChain,
    graph: StreamGraph,
    breaks: Mapping[str, ChainBreak | None],
    operator_ids: Mapping[int, OperatorId],
) -> JobVertex:
    head = graph.node[chain.head_id]
    return JobVertex(
        id=JobVertexId(operator_ids[head.id]),
        name=_chain_name(chain, graph, breaks),
        node_ids=tuple(reversed(chain.node_ids)),
        operator_ids=tuple(operator_ids[id] for id in chain.node_ids),
        parallelism=head.parallelism,
        parallelism_configured=any(graph.node[id].parallelism_configured for id in chain.node_ids),
        max_parallelism=head.max_parallelism,
        slot_sharing_group=head.slot_sharing_group,
    )


def _chain_name(
    chain: OperatorChain, graph: StreamGraph, breaks: Mapping[str, ChainBreak | None]
) -> str:
    """Write the chain as Flink does: `A -> B`, and `A -> (B, C -> D)` where it forks."""
    names: dict[int, str] = {}
    for id in chain.node_ids:  # in post-order: what follows a node is already named
        following = [
            names[edge.target_id] for edge in graph.out_edges[id] if breaks[edge.id] is None
        ]
        name = graph.node[id].name
        match following:
            case []:
                names[id] = name
            case [only]:
                names[id] = f"{name} -> {only}"
            case several:
                names[id] = f"{name} -> ({', '.join(several)})"
    return names[chain.head_id]


def _shared_data_set(
    edge: StreamEdge,
    produced: list[tuple[IntermediateDataSet, StreamEdge]],
    graph: StreamGraph,
    options: PipelineOptions,
) -> IntermediateDataSet | None:
    """Find a staged data set of the same operator that this edge can read as well (Flink's output reuse)."""
    if not result_type(edge, options).is_blocking:
        return None
    target = graph.node[edge.target_id]
    for data_set, first in produced:
        first_target = graph.node[first.target_id]
        same_rows = (data_set.node_id, data_set.output_tag) == (edge.source_id, edge.output_tag)
        same_split = (
            first.partitioner == edge.partitioner
            and first_target.parallelism == target.parallelism
            and first_target.max_parallelism == target.max_parallelism
        )
        if data_set.result_type.is_blocking and same_rows and same_split:
            return data_set
    return None


def _topological_order(
    creation_order: tuple[JobVertexId, ...],
    data_sets: list[IntermediateDataSet],
    edges: list[JobEdge],
) -> list[JobVertexId]:
    """Order vertices as Flink's `getVerticesSortedTopologicallyFromSources`: depth-first as soon as inputs allow.

    Consumers are visited data set by data set, which differs from edge by edge where one is shared.
    """
    in_edges: dict[JobVertexId, list[JobEdge]] = {id: [] for id in creation_order}
    consumers: dict[IntermediateDataSetId, list[JobVertexId]] = {
        data_set.id: [] for data_set in data_sets
    }
    for edge in edges:
        in_edges[edge.target_id].append(edge)
        consumers[edge.data_set_id].append(edge.target_id)
    following: dict[JobVertexId, list[JobVertexId]] = {id: [] for id in creation_order}
    for data_set in data_sets:
        following[data_set.producer_id].extend(consumers[data_set.id])
    order: dict[JobVertexId, None] = {id: None for id in creation_order if not in_edges[id]}
    for start in list(order):
        stack: list[Iterator[JobVertexId]] = [iter(following[start])]
        while stack:
            target_id = next(stack[-1], None)
            if target_id is None:
                stack.pop()
            elif target_id not in order and all(
                edge.source_id in order for edge in in_edges[target_id]
            ):
                order[target_id] = None
                stack.append(iter(following[target_id]))
    assert len(order) == len(creation_order), "the graph was checked for cycles"
    return list(order)
