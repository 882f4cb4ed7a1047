"""The stream graph as a picture: operators in their chains, and for each edge between chains why it is there."""

from __future__ import annotations

from graph_compiler.compiler.job_graph.chaining import ChainBreak, chain_breaks
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.explain.pictures.picture import Edge, Picture, PictureNode
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StreamEdge, StreamNode
from graph_compiler.identifiers import counted


def stream_picture(compiled: CompiledPipeline) -> Picture:
    """Draw operators; a group is a chain, with the task it runs in."""
    graph, job, region_of = (compiled.stream_graph, compiled.job_graph, compiled.deployment.region_of_vertex)
    breaks = chain_breaks(graph, compiled.options)
    staged = {edge.stream_edge.id: edge.staging.explanation for edge in job.edges if edge.staging}
    return Picture(
        title=" · ".join(
            (
                compiled.pipeline.name,
                "stream graph",
                counted(len(graph.nodes), "operator"),
                counted(len(job.vertices), "chain"),
            )
        ),
        groups=tuple(
            f"chain {number} · region {region_of[vertex.id].id}" for number, vertex in enumerate(job.vertices)
        ),
        nodes=tuple(
            PictureNode(id=str(id), words=_node_words(graph.node[id]), group=number)
            for number, vertex in enumerate(job.vertices)
            for id in vertex.node_ids
        ),
        edges=tuple(
            _edge(edge, breaks[edge.id], staged.get(edge.id))
            for vertex in job.vertices
            for id in vertex.node_ids
            for edge in graph.in_edges[id]
        ),
    )


def _node_words(node: StreamNode) -> tuple[str, ...]:
    settings = (
        f"parallelism: {node.parallelism}" if node.parallelism_configured else None,
        f"uid: {node.settings.uid}" if node.settings.uid else None,
        f"uid hash: {node.settings.uid_hash}" if node.settings.uid_hash else None,
        "expensive" if node.settings.expensive else None,
    )
    return (node.name, *(words for words in settings if words))


def _edge(edge: StreamEdge, broken: ChainBreak | None, staged: str | None) -> Edge:
    words = (
        edge.partitioner.label,
        f"side output {edge.output_tag}" if edge.output_tag else None,
        None if edge.exchange_mode is ExchangeMode.UNDEFINED else edge.exchange_mode.value,
        "staged" if staged else None,
    )
    return Edge(
        source=str(edge.source_id),
        target=str(edge.target_id),
        words=tuple(word for word in words if word),
        reason=staged or (f"a new chain: {broken.value}" if broken else None),
        is_staged=staged is not None,
    )
