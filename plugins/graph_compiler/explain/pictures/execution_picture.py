"""The execution graph as a picture: the subtasks of each job vertex, and which of them read from which.

A vertex with many subtasks is one box: on an ALL_TO_ALL edge, every subtask reads from every subtask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.explain.pictures.picture import Edge, Picture, PictureNode
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.execution_graph import ExecutionEdge, ExecutionGraph, ExecutionJobVertex
from graph_compiler.identifiers import JobVertexId, counted

_DRAWN = 8
"""The maximum number of a vertex's subtasks that are drawn separately."""


def known_execution_graph(compiled: CompiledPipeline) -> ExecutionGraph:
    """Return the execution graph; raises InvalidPipelineError if it is only known at run time."""
    if compiled.execution_graph is not None:
        return compiled.execution_graph
    problem = Problem(
        message="it has no execution graph before it runs: jobmanager.scheduler is AdaptiveBatch",
        allowed="--graph stream, --graph job",
    )
    raise InvalidPipelineError(compiled.pipeline.name, [problem])


def execution_picture(compiled: CompiledPipeline) -> Picture:
    """Draw subtasks; a group is a job vertex. Raises InvalidPipelineError if they are not known yet."""
    graph = known_execution_graph(compiled)
    subtasks = sum(vertex.parallelism for vertex in graph.vertices)
    size = {vertex.id: vertex.parallelism for vertex in graph.vertices}
    return Picture(
        title=" · ".join(
            (
                compiled.pipeline.name,
                "execution graph",
                counted(len(graph.vertices), "vertex", "vertices"),
                counted(subtasks, "subtask"),
            )
        ),
        groups=tuple(vertex.name for vertex in graph.vertices),
        nodes=tuple(node for number, vertex in enumerate(graph.vertices) for node in _subtasks(vertex, number)),
        edges=tuple(found for edge in graph.edges for found in _edges(edge, size)),
    )


def _subtasks(vertex: ExecutionJobVertex, group: int) -> Iterator[PictureNode]:
    if vertex.parallelism > _DRAWN:
        words = (f"{vertex.name} (1…{vertex.parallelism})",)
        yield PictureNode(id=vertex.id, words=words, group=group)
        return
    for subtask in range(vertex.parallelism):
        id = _box(vertex.id, subtask, vertex.parallelism)
        yield PictureNode(id=id, words=(vertex.task_name(subtask),), group=group)


def _edges(edge: ExecutionEdge, size: Mapping[JobVertexId, int]) -> Iterator[Edge]:
    """Yield an arrow for each pair of boxes where one reads from the other."""
    job_edge, staging = edge.job_edge, edge.job_edge.staging
    words = (
        job_edge.distribution_pattern.value,
        job_edge.result_type.value,
        *(["staged"] if staging else []),
        *(["source read again"] if job_edge.reads_source_again else []),
    )
    pairs = dict.fromkeys(
        (source, target)
        for group in edge.groups
        for source in _boxes(job_edge.source_id, group.partitions, size)
        for target in _boxes(job_edge.target_id, group.consumers, size)
    )
    for source, target in pairs:
        yield Edge(
            source=source,
            target=target,
            words=words,
            reason=staging.explanation if staging else None,
            is_staged=staging is not None,
        )


def _boxes(id: JobVertexId, subtasks: range, size: Mapping[JobVertexId, int]) -> list[str]:
    some = subtasks[:1] if size[id] > _DRAWN else subtasks
    return [_box(id, subtask, size[id]) for subtask in some]


def _box(id: JobVertexId, subtask: int, parallelism: int) -> str:
    return id if parallelism > _DRAWN else f"{id}:{subtask}"
