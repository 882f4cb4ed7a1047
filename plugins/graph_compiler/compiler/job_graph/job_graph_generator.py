"""StreamGraph → JobGraph: one vertex for each chain, one edge for each stream edge between chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from graph_compiler.compiler.checks.operator_checks import repeated_uids
from graph_compiler.compiler.checks.resource_checks import group_problems
from graph_compiler.compiler.job_graph.chaining import (
    Breaks,
    OperatorChain,
    absorbed_sources,
    chain_breaks,
    find_chains,
)
from graph_compiler.compiler.job_graph.coordinators import coordination
from graph_compiler.compiler.job_graph.exchange_modes import result_type
from graph_compiler.compiler.job_graph.hasher import hash_nodes
from graph_compiler.declaration.operators import IterationHead
from graph_compiler.declaration.partitioners import (
    ForwardForConsecutiveHashPartitioner,
    ForwardForUnspecifiedPartitioner,
    Partitioner,
    RescalePartitioner,
)
from graph_compiler.declaration.resources.resource_spec import merge_resources
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.job_graph import IntermediateDataSet, JobEdge, JobGraph, JobVertex, ResultPartitionType
from graph_compiler.graphs.stream_graph import JobType, StreamEdge, StreamGraph, StreamNode
from graph_compiler.graphs.topology import connected_components
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, OperatorId
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import DescriptionMode


def is_configured(chain: OperatorChain, graph: StreamGraph) -> bool:
    """Whether any operator of the chain sets a parallelism, including absorbed sources."""
    return any(graph.node[id].parallelism_configured for id in (*chain.node_ids, *chain.source_ids))


@dataclass(frozen=True, slots=True)
class VertexSize:
    """Parallelism and maximum of a vertex; None if not decided yet."""

    parallelism: int | None
    max_parallelism: int | None


def vertex_sizes(
    chains: Iterable[OperatorChain], edges: Iterable[StreamEdge], graph: StreamGraph, options: PipelineOptions
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
    ties = [(head_of[edge.source_id], edge.target_id) for edge in edges if edge.partitioner.is_forward]
    for group in connected_components(found, ties):
        decided = [number for head_id in group if (number := found[head_id].parallelism) is not None]
        bounds = [bound for head_id in group if (bound := found[head_id].max_parallelism) is not None]
        size = VertexSize(decided[0] if decided else None, min(bounds, default=None))
        found.update(dict.fromkeys(group, size))
    return found


def _declared_size(chain: OperatorChain, graph: StreamGraph, options: PipelineOptions) -> VertexSize:
    head = graph.node[chain.head_id]
    is_open = graph.is_dynamic and options.auto_parallelism and not is_configured(chain, graph)
    return VertexSize(None if is_open else head.parallelism, head.max_parallelism)


def generate_job_graph(graph: StreamGraph, options: PipelineOptions) -> JobGraph:
    """Chain nodes where allowed, and connect the chains; raises InvalidPipelineError for what Flink refuses here."""
    check_stream_graph(graph, options)
    facts = _chain(graph, options)
    vertices = {chain.head_id: _vertex(chain, facts) for chain in facts.chains}
    data_sets, edges = _connect(vertices, facts)
    creation_order = tuple(vertex.id for vertex in vertices.values())
    by_id = {vertex.id: vertex for vertex in vertices.values()}
    ordered = [by_id[id] for id in _topological_order(creation_order, data_sets, edges)]
    if options.vertex_index_prefix:
        ordered = [replace(vertex, name=f"[vertex-{index}]{vertex.name}") for index, vertex in enumerate(ordered)]
    job_graph = JobGraph(
        job_name=graph.job_name,
        job_type=graph.job_type,
        is_dynamic=graph.is_dynamic,
        vertices=tuple(ordered),
        data_sets=tuple(data_sets),
        edges=tuple(edges),
        creation_order=creation_order,
    )
    check_job_graph(graph, job_graph)
    return job_graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The inputs for vertices and edges. `sizes` are by chain head."""

    graph: StreamGraph
    options: PipelineOptions
    breaks: Breaks
    operator_ids: Mapping[int, OperatorId]
    chains: tuple[OperatorChain, ...]
    sizes: Mapping[int, VertexSize]


def _chain(graph: StreamGraph, options: PipelineOptions) -> _Facts:
    breaks = chain_breaks(graph, options)
    operator_ids = hash_nodes(graph, breaks)
    chains = tuple(
        replace(chain, out_edges=tuple(_settled(edge) for edge in chain.out_edges))
        for chain in find_chains(graph, breaks, absorbed_sources(graph, options))
    )
    between = [edge for chain in chains for edge in chain.out_edges]
    return _Facts(
        graph=graph,
        options=options,
        breaks=breaks,
        operator_ids=operator_ids,
        chains=chains,
        sizes=vertex_sizes(chains, between, graph, options),
    )


def _settled(edge: StreamEdge) -> StreamEdge:
    """Replace the partitioner that a dynamic graph left open on an edge between two chains."""
    partitioner: Partitioner = edge.partitioner
    if isinstance(partitioner, ForwardForConsecutiveHashPartitioner):
        partitioner = partitioner.hash_partitioner
    elif isinstance(partitioner, ForwardForUnspecifiedPartitioner):
        partitioner = RescalePartitioner()
    return edge if partitioner is edge.partitioner else replace(edge, partitioner=partitioner)


def _vertex(chain: OperatorChain, facts: _Facts) -> JobVertex:
    graph = facts.graph
    head, size = graph.node[chain.head_id], facts.sizes[chain.head_id]
    on_driver = coordination(chain, graph, facts.operator_ids)
    return JobVertex(
        id=JobVertexId(facts.operator_ids[head.id]),
        head=head,
        name=chain_name(chain, graph, facts.breaks),
        description=chain_description(chain, graph, facts.breaks, facts.options.description_mode),
        node_ids=(*chain.source_ids, *reversed(chain.node_ids)),
        operator_ids=tuple(facts.operator_ids[id] for id in chain.node_ids),
        user_hashes=tuple(graph.node[id].settings.uid_hash for id in chain.node_ids),
        parallelism=size.parallelism,
        # A forward edge that ties it to a set parallelism also sets its own.
        parallelism_configured=is_configured(chain, graph)
        or (graph.is_dynamic and facts.options.auto_parallelism and size.parallelism is not None),
        max_parallelism=size.max_parallelism,
        min_resources=merge_resources(graph.node[id].settings.min_resources for id in chain.node_ids),
        preferred_resources=merge_resources(graph.node[id].settings.preferred_resources for id in chain.node_ids),
        initialize_on_master=on_driver.on_master,
        coordinators=on_driver.coordinators,
        input_split_sources=on_driver.split_sources,
    )


def _connect(vertices: Mapping[int, JobVertex], facts: _Facts) -> tuple[list[IntermediateDataSet], list[JobEdge]]:
    """Make data sets and edges in the order vertices were created: a target's inputs follow that order."""
    data_sets: list[IntermediateDataSet] = []
    edges: list[JobEdge] = []
    for chain in facts.chains:
        producer_id, result_id = vertices[chain.head_id].id, vertices[chain.head_id].result_id
        produced: list[_Produced] = []
        for edge in chain.out_edges:
            kind = result_type(edge, facts.graph, facts.options, after_end=edge.source_id in chain.after_end)
            shared = next((index for index, other in enumerate(produced) if other.can_serve(edge, kind, facts)), None)
            if shared is None:
                produced.append(_Produced(edge, kind, []))
                shared = len(produced) - 1
            elif produced[shared].kind is not kind or kind is ResultPartitionType.HYBRID_SELECTIVE:
                # Two consumers read it, so each row must stay until both have read it.
                produced[shared].kind = ResultPartitionType.HYBRID_FULL
            produced[shared].edges.append(edge)
        for number, output in enumerate(produced):
            data_sets.append(
                IntermediateDataSet(
                    id=IntermediateDataSetId(f"{result_id}-{number}"),
                    producer_id=producer_id,
                    node_id=output.edge.source_id,
                    output_tag=output.edge.output_tag,
                    result_type=output.kind,
                )
            )
        of_edge = {edge.id: number for number, output in enumerate(produced) for edge in output.edges}
        edges.extend(
            JobEdge(
                data_set_id=IntermediateDataSetId(f"{result_id}-{of_edge[edge.id]}"),
                source_id=producer_id,
                target_id=vertices[edge.target_id].id,
                stream_edge=edge,
                result_type=produced[of_edge[edge.id]].kind,
            )
            for edge in chain.out_edges
        )
    return data_sets, edges


@dataclass(slots=True)
class _Produced:
    """A data set while it is built: the edge it was created for, and all edges that share it."""

    edge: StreamEdge
    kind: ResultPartitionType
    edges: list[StreamEdge]

    def can_serve(self, edge: StreamEdge, kind: ResultPartitionType, facts: _Facts) -> bool:
        """Whether another edge can also read this data set (Flink's output reuse)."""
        may_share = self.kind.is_reconsumable or self.kind.is_hybrid
        same_kind = self.kind is kind or (self.kind.is_hybrid and kind.is_hybrid)
        same_rows = (self.edge.source_id, self.edge.output_tag) == (edge.source_id, edge.output_tag)
        one, other = self.edge.target_id, edge.target_id
        same_split = self.edge.partitioner == edge.partitioner and facts.sizes[one] == facts.sizes[other]
        return may_share and same_kind and same_rows and same_split


def _topological_order(
    creation_order: tuple[JobVertexId, ...], data_sets: list[IntermediateDataSet], edges: list[JobEdge]
) -> list[JobVertexId]:
    """Order vertices as Flink's `getVerticesSortedTopologicallyFromSources`: depth-first as soon as inputs allow.

    Consumers are visited data set by data set, which differs from edge by edge if a data set is shared.
    """
    in_edges: dict[JobVertexId, list[JobEdge]] = {id: [] for id in creation_order}
    consumers: dict[IntermediateDataSetId, list[JobVertexId]] = {data_set.id: [] for data_set in data_sets}
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
            elif target_id not in order and all(edge.source_id in order for edge in in_edges[target_id]):
                order[target_id] = None
                stack.append(iter(following[target_id]))
    assert len(order) == len(creation_order), "the graph was checked for cycles"
    return list(order)


# The name and the description of a chain's job vertex, as Flink writes them.
#
# A -> (B, C -> D)        the name, and the description in CASCADING mode (with other separators)
# A
# :- B                    the description in TREE mode
# +- C
#    +- D

_Text = Callable[[StreamNode], str]


def chain_name(chain: OperatorChain, graph: StreamGraph, breaks: Breaks) -> str:
    """Return the operators' names: `M [Source: S1, Source: S2] -> A -> (B, C)`."""
    return _in_a_row(chain, graph, breaks, lambda node: node.name, comma=", ")


def chain_description(chain: OperatorChain, graph: StreamGraph, breaks: Breaks, mode: DescriptionMode) -> str:
    """Return the operators' descriptions, on separate lines or in one line."""
    if mode is DescriptionMode.CASCADING:
        return _in_a_row(chain, graph, breaks, lambda node: node.description, comma=" , ")
    lines: list[str] = []
    pending = [(chain.head_id, "", "")]
    while pending:
        id, own, below = pending.pop()
        lines.append(f"{own}{_with_sources(id, chain, graph, lambda node: node.description, ', ')}\n")
        children = _children(id, graph, breaks)
        for number, child in reversed(list(enumerate(children))):
            is_last = number == len(children) - 1
            pending.append((child, below + ("+- " if is_last else ":- "), below + ("   " if is_last else ":  ")))
    return "".join(lines)


def _in_a_row(chain: OperatorChain, graph: StreamGraph, breaks: Breaks, text: _Text, *, comma: str) -> str:
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


def _with_sources(id: int, chain: OperatorChain, graph: StreamGraph, text: _Text, comma: str) -> str:
    own = text(graph.node[id])
    if id != chain.head_id or not chain.source_ids:
        return own
    return f"{own} [{comma.join(text(graph.node[source_id]) for source_id in chain.source_ids)}]"


def _children(id: int, graph: StreamGraph, breaks: Breaks) -> list[int]:
    return [edge.target_id for edge in graph.out_edges[id] if breaks[edge.id] is None]


def check_stream_graph(graph: StreamGraph, options: PipelineOptions) -> None:
    """Check a stream graph before it becomes a job graph; raises InvalidPipelineError with all problems."""
    nodes = sorted(graph.nodes, key=lambda node: node.id)
    if problems := [
        *repeated_uids((node.settings.uid, node.declared_name, node.declared_at) for node in nodes),
        *_checkpoint_problems(graph, options),
        *_consecutive_hash_problems(graph),
    ]:
        raise InvalidPipelineError(graph.job_name, problems)


def check_job_graph(stream_graph: StreamGraph, graph: JobGraph) -> None:
    """Check for invalid hybrid results, and groups; raises InvalidPipelineError with all problems."""
    hybrid = [data_set for data_set in graph.data_sets if data_set.result_type.is_hybrid]
    problems = [
        Problem(
            operator=graph.vertex[data_set.producer_id].name,
            message=f"its result is {data_set.result_type}, but the job is STREAMING",
            allowed="hybrid results in BATCH jobs: execution.runtime-mode",
        )
        for data_set in hybrid
        if graph.job_type is JobType.STREAMING
    ]
    problems += group_problems(stream_graph, graph)
    if problems:
        raise InvalidPipelineError(graph.job_name, problems)


def _checkpoint_problems(graph: StreamGraph, options: PipelineOptions) -> Iterator[Problem]:
    if graph.job_type is JobType.BATCH or options.checkpointing_interval is None:
        return
    if not options.force_checkpointing and any(isinstance(node.operator, IterationHead) for node in graph.nodes):
        yield Problem(
            message="it has an iteration and takes checkpoints: rows in flight between its ends would be lost",
            hint="unset execution.checkpointing.interval, or accept it with execution.checkpointing.force",
        )
    for edge in graph.edges:
        if options.unaligned_checkpoints and edge.partitioner.is_custom:
            yield Problem(
                operator=graph.node[edge.target_id].declared_name,
                message="its input has a custom partitioner, which unaligned checkpoints do not support",
                hint="unset execution.checkpointing.unaligned.enabled",
            )


def _consecutive_hash_problems(graph: StreamGraph) -> Iterator[Problem]:
    for edge in graph.edges:
        if isinstance(edge.partitioner, ForwardForConsecutiveHashPartitioner) and not graph.is_dynamic:
            yield Problem(
                operator=graph.node[edge.target_id].declared_name,
                message="its input is forward in place of a hash, but the graph is not dynamic",
                allowed="a hash; or jobmanager.scheduler: AdaptiveBatch",
            )
