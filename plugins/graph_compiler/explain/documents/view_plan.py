"""A compiled pipeline for the web view: everything that its pictures need, without runs.

It is small, a function of the declaration alone, and the same on every host: Airflow keeps it in the Dag's versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from graph_compiler.compiler.job_graph.chaining import ChainBreak, chain_breaks
from graph_compiler.compiler.regions.cuts import pipelining_words
from graph_compiler.declaration.operators import Source
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.declaration.resources.slot_sharing_group import SPARK_SETTINGS, SlotSharingGroup
from graph_compiler.deployment.describe.region_descriptors import operator_ids, staged_results
from graph_compiler.errors import SourceLocation
from graph_compiler.explain.documents.graph_json import column_flow, column_words
from graph_compiler.explain.failure_cost import failure_costs
from graph_compiler.explain.text.option_words import changed_options
from graph_compiler.explain.text.plan_text import operator_details
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge, JobVertex, ResultPartitionType
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.graphs.stream_graph import StagingReason, StreamEdge, StreamNode
from graph_compiler.identifiers import PIPELINES, IntermediateDataSetId, JobVertexId, OperatorId, RegionId, TaskName

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOption:
    """An option whose value differs from the default."""

    key: str
    value: str
    set_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOperator:
    """One operator; `declared_at` has the file relative to its project, since hosts have different parent folders."""

    id: int
    name: str
    kind: str
    uid: str | None
    operator_id: OperatorId | None
    vertex: JobVertexId
    parallelism: int
    parallelism_configured: bool
    details: tuple[str, ...]
    declared_at: str | None
    expensive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStreamEdge:
    """An edge of two operators; partitioner and tag are Flink's virtual nodes."""

    id: str
    source: int
    target: int
    partitioner: str
    output_tag: str | None
    is_chained: bool
    why_not_chained: ChainBreak | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewVertex:
    """One job vertex; `parallelism` None is decided at run time."""

    id: JobVertexId
    index: int
    name: str
    operators: tuple[int, ...]
    region: RegionId
    parallelism: int | None
    parallelism_configured: bool
    max_parallelism: int | None
    slot_sharing_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewJobEdge:
    """One job edge; `result` and `reason` only where it is staged.

    `explanation` says why it is, or why it stays in memory if the declaration requests that.
    """

    id: str
    source: JobVertexId
    target: JobVertexId
    from_operator: int
    to_operator: int
    ship_strategy: str
    words: str
    result_type: ResultPartitionType
    distribution: DistributionPattern
    output_tag: str | None
    result: IntermediateDataSetId | None
    is_staged: bool
    reason: StagingReason | None
    explanation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewFailureCost:
    """What a failure at the end of a region repeats."""

    repeated: tuple[str, ...]
    expensive: tuple[str, ...]
    reread: tuple[str, ...]
    spared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRegion:
    """One region and the Airflow task that runs it; `resources` as text."""

    id: RegionId
    task: TaskName
    vertices: tuple[JobVertexId, ...]
    slot_sharing_group: str
    resources: tuple[str, ...]
    failure_cost: ViewFailureCost


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPlan:
    """One compiled pipeline. `plan_id` is None where it cannot be deployed."""

    version: int
    pipeline: str
    plan_id: str | None
    description: str | None
    options: tuple[ViewOption, ...]
    operators: tuple[ViewOperator, ...]
    stream_edges: tuple[ViewStreamEdge, ...]
    vertices: tuple[ViewVertex, ...]
    edges: tuple[ViewJobEdge, ...]
    regions: tuple[ViewRegion, ...]


def view_plan(compiled: CompiledPipeline, *, plan_id: str | None) -> ViewPlan:
    """Return the document; operators and edges as in the stream graph, vertices and regions in topological order."""
    graph, job = compiled.stream_graph, compiled.job_graph
    ids, breaks = operator_ids(compiled), chain_breaks(graph, compiled.options)
    results, columns = staged_results(compiled), column_flow(graph)
    return ViewPlan(
        version=VERSION,
        pipeline=compiled.pipeline.name,
        plan_id=plan_id,
        description=compiled.pipeline.description,
        options=tuple(
            ViewOption(key=option.key, value=option.value, set_by=option.origin.value)
            for option in changed_options(compiled)
        ),
        operators=tuple(
            _operator(node, ids.get(node.id), job.vertex_of_node[node.id], columns[node.id]) for node in graph.nodes
        ),
        stream_edges=tuple(_stream_edge(edge, job.vertex_of_node, breaks[edge.id]) for edge in graph.edges),
        vertices=tuple(_vertices(compiled)),
        edges=tuple(
            _edge(edge, results.get((edge.stream_edge.source_id, edge.stream_edge.output_tag))) for edge in job.edges
        ),
        regions=tuple(_regions(compiled)),
    )


def _operator(node: StreamNode, id: OperatorId | None, vertex: JobVertex, columns: Known) -> ViewOperator:
    words = None if isinstance(node.operator, Source) else column_words(columns)
    return ViewOperator(
        id=node.id,
        name=node.declared_name,
        kind=type(node.operator).__name__,
        uid=node.settings.uid,
        operator_id=id,
        vertex=vertex.id,
        parallelism=node.parallelism,
        parallelism_configured=node.parallelism_configured,
        details=(*operator_details(node.operator), *([f"output: {words}"] if words else [])),
        declared_at=_place(node.declared_at),
        expensive=node.settings.expensive,
    )


def _place(location: SourceLocation | None) -> str | None:
    """Return file and line relative to the project; only the file name if that is unknown: folders differ by host."""
    if location is None:
        return None
    parts = PurePath(location.file).parts
    below = max((number for number, part in enumerate(parts) if part == PIPELINES), default=-1)
    return f"{'/'.join(parts[below:])}:{location.line}"


def _stream_edge(edge: StreamEdge, vertex_of: Mapping[int, JobVertex], broken: ChainBreak | None) -> ViewStreamEdge:
    is_chained = vertex_of[edge.source_id].id == vertex_of[edge.target_id].id
    return ViewStreamEdge(
        id=edge.id,
        source=edge.source_id,
        target=edge.target_id,
        partitioner=edge.partitioner.label,
        output_tag=edge.output_tag,
        is_chained=is_chained,
        why_not_chained=None if is_chained else broken,
    )


def _vertices(compiled: CompiledPipeline) -> Iterator[ViewVertex]:
    region_of, graph = compiled.deployment.region_of_vertex, compiled.execution_graph
    decided = {vertex.id: vertex for vertex in graph.vertices} if graph else {}
    for index, vertex in enumerate(compiled.job_graph.vertices):
        own = decided.get(vertex.id, vertex)
        yield ViewVertex(
            id=vertex.id,
            index=index,
            name=vertex.name,
            operators=vertex.node_ids,
            region=region_of[vertex.id].id,
            parallelism=own.parallelism,
            parallelism_configured=vertex.parallelism_configured,
            max_parallelism=own.max_parallelism,
            slot_sharing_group=vertex.slot_sharing_group,
        )


def _edge(edge: JobEdge, result: IntermediateDataSetId | None) -> ViewJobEdge:
    staging = edge.staging
    return ViewJobEdge(
        id=edge.id,
        source=edge.source_id,
        target=edge.target_id,
        from_operator=edge.stream_edge.source_id,
        to_operator=edge.stream_edge.target_id,
        ship_strategy=edge.ship_strategy,
        words=edge.stream_edge.partitioner.label,
        result_type=edge.result_type,
        distribution=edge.distribution_pattern,
        output_tag=edge.stream_edge.output_tag,
        result=result if staging else None,
        is_staged=staging is not None,
        reason=staging.reason if staging else None,
        explanation=staging.explanation if staging else pipelining_words(edge.stream_edge),
    )


def _regions(compiled: CompiledPipeline) -> Iterator[ViewRegion]:
    costs, profile_of = failure_costs(compiled), compiled.job_graph.resource_profile
    for region in compiled.deployment.regions:
        cost = costs[region.id]
        yield ViewRegion(
            id=region.id,
            task=compiled.deployment.task_of_region[region.id].id,
            vertices=region.vertex_ids,
            slot_sharing_group=region.slot_sharing_group,
            resources=_resources(region, profile_of),
            failure_cost=ViewFailureCost(
                repeated=cost.repeated, expensive=cost.expensive, reread=cost.reread, spared=cost.spared
            ),
        )


def _resources(region: DeploymentRegion, profile_of: Mapping[str, SlotSharingGroup]) -> tuple[str, ...]:
    profile = profile_of.get(region.slot_sharing_group)
    if profile is None:
        return ()
    words = {key: name.replace("_", " ") for name, key in SPARK_SETTINGS.items()}
    return tuple(
        f"{words[key]} {value}" if key in words else f"{key}={value}" for key, value in profile.settings().items()
    )
