"""Flink's graphs of a plan as pictures: operators in chains, vertices in tasks, or the subtasks of vertices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.explain.pictures.picture import Edge, Picture, PictureNode
from graph_compiler.explain.plan.plan import Plan, PlanJobEdge, PlanOperator, PlanStreamEdge, PlanVertex
from graph_compiler.graphs.execution_graph import partition_groups
from graph_compiler.identifiers import JobVertexId, counted

_DRAWN = 8
"""The maximum number of a vertex's subtasks that are drawn separately."""


def stream_picture(plan: Plan) -> Picture:
    """Draw operators; a group is a chain, with the region it runs in. An edge between chains shows why it is one."""
    inputs: dict[int, list[PlanStreamEdge]] = {operator.id: [] for operator in plan.operators}
    for edge in plan.stream_edges:
        inputs[edge.target].append(edge)
    staged = {edge.id: edge.explanation for edge in plan.edges if edge.is_staged}
    sizes = counted(len(plan.operators), "operator"), counted(len(plan.vertices), "chain")
    return Picture(
        title=" · ".join((plan.pipeline, "stream graph", *sizes)),
        groups=tuple(f"chain {vertex.index} · region {vertex.region}" for vertex in plan.vertices),
        nodes=tuple(
            PictureNode(id=str(id), words=_operator_words(plan.operator[id]), group=vertex.index)
            for vertex in plan.vertices
            for id in vertex.operators
        ),
        edges=tuple(
            _stream_edge(edge, staged.get(edge.id))
            for vertex in plan.vertices
            for id in vertex.operators
            for edge in inputs[id]
        ),
    )


def _operator_words(operator: PlanOperator) -> tuple[str, ...]:
    settings = (
        f"parallelism: {operator.parallelism}" if operator.parallelism_configured else None,
        f"uid: {operator.uid}" if operator.uid else None,
        f"uid hash: {operator.uid_hash}" if operator.uid_hash else None,
        "expensive" if operator.expensive else None,
    )
    return (operator.display_name, *(words for words in settings if words))


def _stream_edge(edge: PlanStreamEdge, staged: str | None) -> Edge:
    words = (
        edge.partitioner,
        f"side output {edge.output_tag}" if edge.output_tag else None,
        None if edge.exchange_mode is ExchangeMode.UNDEFINED else edge.exchange_mode.value,
        "staged" if staged else None,
    )
    return Edge(
        source=str(edge.source),
        target=str(edge.target),
        words=tuple(word for word in words if word),
        reason=staged or (f"a new chain: {edge.why_not_chained.value}" if edge.why_not_chained else None),
        is_staged=staged is not None,
    )


def job_picture(plan: Plan) -> Picture:
    """Draw vertices; a group is a task. Edges have their ship strategy, result type, and why they are staged."""
    vertices = [[id for region_id in task.region_ids for id in plan.region[region_id].vertices] for task in plan.tasks]
    sizes = counted(len(plan.vertices), "vertex", "vertices"), counted(len(plan.tasks), "task")
    return Picture(
        title=" · ".join((plan.pipeline, "job graph", *sizes)),
        groups=tuple(f"task {task.id}" for task in plan.tasks),
        nodes=tuple(
            PictureNode(id=id, words=_vertex_words(plan.vertex[id]), group=number)
            for number, ids in enumerate(vertices)
            for id in ids
        ),
        edges=tuple(
            Edge(
                source=edge.source,
                target=edge.target,
                words=(
                    edge.words,
                    *([f"side output {edge.output_tag}"] if edge.output_tag else []),
                    *_result_words(edge),
                ),
                reason=edge.explanation,
                is_staged=edge.is_staged,
            )
            for ids in vertices
            for id in ids
            for edge in plan.inputs[id]
        ),
    )


def _vertex_words(vertex: PlanVertex) -> tuple[str, ...]:
    return (vertex.name, *([f"parallelism: {vertex.parallelism}"] if vertex.parallelism_configured else []))


def _result_words(edge: PlanJobEdge) -> Iterator[str]:
    yield edge.result_type.value
    if edge.is_staged:
        yield "staged"
    if edge.reads_source_again:
        yield "source read again"


def execution_picture(plan: Plan) -> Picture:
    """Draw subtasks, and which of them read from which; a group is a job vertex.

    A vertex with many subtasks is one box: on an ALL_TO_ALL edge, every subtask reads from every subtask. Raises
    InvalidPipelineError if the number of subtasks is only known at run time.
    """
    size = {vertex.id: vertex.parallelism for vertex in plan.vertices if vertex.parallelism is not None}
    if len(size) < len(plan.vertices):
        raise no_execution_graph(plan.pipeline)
    sizes = counted(len(plan.vertices), "vertex", "vertices"), counted(sum(size.values()), "subtask")
    return Picture(
        title=" · ".join((plan.pipeline, "execution graph", *sizes)),
        groups=tuple(vertex.name for vertex in plan.vertices),
        nodes=tuple(node for vertex in plan.vertices for node in _subtasks(vertex, size[vertex.id])),
        edges=tuple(found for id in size for edge in plan.inputs[id] for found in _subtask_edges(edge, size)),
    )


def no_execution_graph(pipeline: str) -> InvalidPipelineError:
    """Return the error for a pipeline whose execution graph is only known at run time."""
    problem = Problem(
        message="it has no execution graph before it runs: jobmanager.scheduler is AdaptiveBatch",
        allowed="--graph stream, --graph job",
    )
    return InvalidPipelineError(pipeline, [problem])


def _subtasks(vertex: PlanVertex, size: int) -> Iterator[PictureNode]:
    if size > _DRAWN:
        yield PictureNode(id=vertex.id, words=(f"{vertex.name} (1…{size})",), group=vertex.index)
        return
    for subtask in range(size):
        words = (f"{vertex.name} ({subtask + 1}/{size})",)  # Flink's task name
        yield PictureNode(id=_box(vertex.id, subtask, size), words=words, group=vertex.index)


def _subtask_edges(edge: PlanJobEdge, size: Mapping[JobVertexId, int]) -> Iterator[Edge]:
    """Yield an arrow for each pair of boxes where one reads from the other."""
    groups = partition_groups(edge.distribution, producers=size[edge.source], consumers=size[edge.target])
    pairs = dict.fromkeys(
        (source, target)
        for group in groups
        for source in _boxes(edge.source, group.partitions, size[edge.source])
        for target in _boxes(edge.target, group.consumers, size[edge.target])
    )
    for source, target in pairs:
        yield Edge(
            source=source,
            target=target,
            words=(edge.distribution.value, *_result_words(edge)),
            reason=edge.explanation if edge.is_staged else None,
            is_staged=edge.is_staged,
        )


def _boxes(id: JobVertexId, subtasks: range, size: int) -> list[str]:
    some = subtasks[:1] if size > _DRAWN else subtasks
    return [_box(id, subtask, size) for subtask in some]


def _box(id: JobVertexId, subtask: int, size: int) -> str:
    return id if size > _DRAWN else f"{id}:{subtask}"
