"""The job graph as a picture: vertices in their tasks; edges with ship strategy, result type and reason if staged."""

from __future__ import annotations

from graph_compiler.compiler.regions.cuts import pipelining_words
from graph_compiler.explain.pictures.picture import Edge, Picture, PictureNode
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge, JobVertex
from graph_compiler.identifiers import counted


def job_picture(compiled: CompiledPipeline) -> Picture:
    """Draw vertices; a group is a task."""
    graph, tasks = compiled.job_graph, compiled.deployment.tasks
    vertices = [
        [id for region_id in task.region_ids for id in compiled.deployment.region[region_id].vertex_ids]
        for task in tasks
    ]
    return Picture(
        title=" · ".join(
            (
                compiled.pipeline.name,
                "job graph",
                counted(len(graph.vertices), "vertex", "vertices"),
                counted(len(tasks), "task"),
            )
        ),
        groups=tuple(f"task {task.id}" for task in tasks),
        nodes=tuple(
            PictureNode(id=id, words=_vertex_words(graph.vertex[id]), group=number)
            for number, ids in enumerate(vertices)
            for id in ids
        ),
        edges=tuple(_edge(edge) for ids in vertices for id in ids for edge in graph.in_edges[id]),
    )


def _vertex_words(vertex: JobVertex) -> tuple[str, ...]:
    if vertex.parallelism_configured:
        return vertex.name, f"parallelism: {vertex.parallelism}"
    return (vertex.name,)


def _edge(edge: JobEdge) -> Edge:
    tag, staging = edge.stream_edge.output_tag, edge.staging
    words = (
        edge.stream_edge.partitioner.label,
        f"side output {tag}" if tag else None,
        edge.result_type.value,
        "staged" if staging else None,
        "source read again" if edge.reads_source_again else None,
    )
    return Edge(
        source=edge.source_id,
        target=edge.target_id,
        words=tuple(word for word in words if word),
        reason=staging.explanation if staging else pipelining_words(edge.stream_edge),
        is_staged=staging is not None,
    )
