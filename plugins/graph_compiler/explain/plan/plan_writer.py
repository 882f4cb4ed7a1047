"""CompiledPipeline → Plan: the only module that reads the graphs to explain or show them.

The cost of a failure is the work that is repeated when a region fails at its end, and what staged results save:

    flights → with_weather ▒▶ facts → lateness → out      the second task repeats 3 of 5 operators, and reads
                                                          with_weather again instead of computing 2 more

A retry runs all operators of its region, and reads again the sources that it shares with another region of its task;
results of other regions are committed, also those of the same task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields
from functools import cache
from pathlib import PurePath

from graph_compiler.compiler.checks.column_checks import column_flow
from graph_compiler.compiler.job_graph.chaining import chain_breaks
from graph_compiler.compiler.regions.cuts import pipelining_words
from graph_compiler.compiler.regions.deployment_checks import why_fixed
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import Sink, Source, TimestampsAndWatermarks, WindowAggregate
from graph_compiler.declaration.operators.contracts import why_counted_apart
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.declaration.parameters.parameter import json_value
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.slot_sharing_group import SPARK_SETTINGS, SlotSharingGroup
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.describe.fingerprints import fingerprints
from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor, operator_ids, staged_results
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.errors import SourceLocation
from graph_compiler.explain.plan.operator_words import column_words, flat, operator_details, operator_facts
from graph_compiler.explain.plan.plan import (
    SUMMARY_VERSION,
    VERSION,
    Facts,
    FailureCost,
    OperatorSummary,
    Plan,
    PlanJobEdge,
    PlanOperator,
    PlanOption,
    PlanRegion,
    PlanStreamEdge,
    PlanSummary,
    PlanVertex,
    ResultSummary,
    TaskSummary,
)
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobVertex
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.graphs.shared_results import ReadersHere, computed_once
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.graphs.stream_queries import StreamQueries
from graph_compiler.identifiers import PIPELINES, OperatorId, RegionId, TaskName, listing
from graph_compiler.options.effective_options import effective_options

_MOST_COLUMNS = 500
_FLUSHED = {
    Flush.NONE: "",
    Flush.DATA_INTERVAL_END: "; a run ends with that of the end of its data interval",
    Flush.END: "; a run ends with that of the end of time",
}
_CONTINUES = "continues its state from batch to batch"


def plan_of(compiled: CompiledPipeline, described: PipelineDescriptor | None = None, *, root: str = "") -> Plan:
    """Return the plan; without what is `described`, it has no id, and cannot be compared.

    `root` is the folder of the version: for comparisons, defaults that are paths below it are relative to it.
    """
    columns, ids = column_flow(compiled.pipeline).found, operator_ids(compiled)
    options = effective_options(compiled.options, compiled.pipeline.config, compiled.deployment_options)
    return Plan(
        version=VERSION,
        pipeline=compiled.pipeline.name,
        plan_id=described.plan.plan_id if described else None,
        description=compiled.pipeline.description,
        options=tuple(
            PlanOption(key=option.key, value=option.value, set_by=option.origin.value, default=option.default)
            for option in options
            if option.is_changed
        ),
        operators=tuple(_operators(compiled, columns, ids)),
        stream_edges=tuple(_stream_edges(compiled)),
        vertices=tuple(_vertices(compiled)),
        edges=tuple(_job_edges(compiled)),
        regions=tuple(_regions(compiled)),
        tasks=compiled.deployment.tasks,
        apart=compiled.deployment.apart,
        compared_by=_summary(compiled, described, columns, ids, root) if described else None,
    )


def _operators(
    compiled: CompiledPipeline, columns: Mapping[int, Known], ids: Mapping[int, OperatorId]
) -> Iterator[PlanOperator]:
    graph, apart, once = compiled.stream_graph, _counted_apart(compiled), _staged_once(compiled)
    queries = StreamQueries(graph)
    stateful = {node.id for node in queries.stateful}
    for node in graph.nodes:
        words = None if isinstance(node.operator, Source) else column_words(columns.get(node.id))
        delivery = node.operator.connector.delivery if isinstance(node.operator, Sink) else None
        yield PlanOperator(
            id=node.id,
            name=node.declared_name,
            kind=type(node.operator).__name__,
            uid=node.settings.uid,
            operator_id=ids.get(node.id),
            vertex=compiled.job_graph.vertex_of_node[node.id].id,
            parallelism=node.parallelism,
            parallelism_configured=node.parallelism_configured,
            details=(
                *operator_details(node.operator),
                *([f"counted: {apart[node.id]}"] if node.id in apart else []),
                *([f"delivered {delivery}"] if delivery else []),
                *([f"output: {words}"] if words else []),
            ),
            declared_at=_place(node.declared_at),
            expensive=node.settings.expensive,
            display_name=node.name,
            uid_hash=node.settings.uid_hash,
            sink_columns=words if isinstance(node.operator, Sink) else None,
            waits_for_end=node.operator.outputs_only_after_end(),
            staged_once=once.get(node.id),
            position=_position(node, stateful, queries.unbounded, compiled.options.flush),
            counted_apart=apart.get(node.id),
            delivery=delivery,
        )


def _position(node: StreamNode, stateful: Set[int], unbounded: Set[int], flush: Flush) -> str | None:
    """Return what depends on earlier runs: of sources, and of operators and sinks whose rows never end."""
    if isinstance(node.operator, Source):
        return node.operator.position_words()
    return _of_stream(node, stateful, flush) if node.id in unbounded else None


def _of_stream(node: StreamNode, stateful: Set[int], flush: Flush) -> str | None:
    match node.operator:
        case Sink(mode=SinkMode.MERGE):
            return f"merges each batch by {listing(node.operator.keys)}"
        case Sink():
            return "adds each batch"
        case TimestampsAndWatermarks(time=time, max_out_of_orderness=length):
            return f"its watermark is {length} behind the latest '{time}'{_FLUSHED[flush]}"
        case WindowAggregate(late_data=str(tag)):
            return f"{_CONTINUES}; rows that come too late are in '{tag}'"
    return _CONTINUES if node.id in stateful else None


def _counted_apart(compiled: CompiledPipeline) -> Mapping[int, str]:
    """Return that jobs of their own count contracts, and why: these read their inputs once more."""
    readers, nodes = ReadersHere(compiled), compiled.stream_graph.nodes
    found = ((node.id, why_counted_apart(node.operator, node.id, readers)) for node in nodes)
    return {id: f"by a job of its own, because {reason}" for id, reason in found if reason is not None}


def _staged_once(compiled: CompiledPipeline) -> Mapping[int, str]:
    """Return which operators' rows are staged once for all readers in their task, and why (decisions 9 and 45)."""
    found = {
        id: f"computed once for its {shared.readers} readers, and staged with the columns that they read"
        for id, shared in computed_once(compiled).items()
    }
    for node in compiled.stream_graph.nodes:
        readers = len(compiled.stream_graph.out_edges[node.id])
        if readers > 1 and (reason := why_fixed(node)):
            found[node.id] = f"staged once for its {readers} readers, because {reason}"
    return found


def _place(location: SourceLocation | None) -> str | None:
    """Return file and line relative to the project; only the file name if that is unknown: folders differ by host."""
    return f"{_below_project(location.file)}:{location.line}" if location else None


@cache
def _below_project(file: str) -> str:
    parts = PurePath(file).parts
    below = max((number for number, part in enumerate(parts) if part == PIPELINES), default=-1)
    return "/".join(parts[below:])


def _stream_edges(compiled: CompiledPipeline) -> Iterator[PlanStreamEdge]:
    graph, vertex_of = compiled.stream_graph, compiled.job_graph.vertex_of_node
    breaks = chain_breaks(graph, compiled.options)
    for edge in graph.edges:
        is_chained = vertex_of[edge.source_id].id == vertex_of[edge.target_id].id
        yield PlanStreamEdge(
            id=edge.id,
            source=edge.source_id,
            target=edge.target_id,
            partitioner=edge.partitioner.label,
            output_tag=edge.output_tag,
            is_chained=is_chained,
            why_not_chained=None if is_chained else breaks[edge.id],
            exchange_mode=edge.exchange_mode,
        )


def _vertices(compiled: CompiledPipeline) -> Iterator[PlanVertex]:
    region_of, graph = compiled.deployment.region_of_vertex, compiled.execution_graph
    decided = {vertex.id: vertex for vertex in graph.vertices} if graph else {}
    for index, vertex in enumerate(compiled.job_graph.vertices):
        own = decided.get(vertex.id)
        yield PlanVertex(
            id=vertex.id,
            index=index,
            name=vertex.name,
            operators=vertex.node_ids,
            region=region_of[vertex.id].id,
            parallelism=(own or vertex).parallelism,
            parallelism_configured=vertex.parallelism_configured,
            max_parallelism=(own or vertex).max_parallelism,
            slot_sharing_group=vertex.slot_sharing_group.name,
            needs=_needs(vertex, compiled.stream_graph),
            input_splits=sum(len(assigner.splits) for assigner in own.input_splits) if own else 0,
        )


def _needs(vertex: JobVertex, graph: StreamGraph) -> str | None:
    """Return the needs of the vertex; if only some of its operators declare any, why the sum is unknown."""
    least, preferred = vertex.min_resources, vertex.preferred_resources
    if least is not None:
        return f"needs {least}" + (f", prefers {preferred}" if preferred not in (None, least) else "")
    nodes = [graph.node[id] for id in vertex.node_ids[-len(vertex.operator_ids) :]]
    silent = [f"'{node.declared_name}'" for node in nodes if node.settings.min_resources is None]
    verb = "declares" if len(silent) == 1 else "declare"
    return f"needs: unknown, since {listing(silent)} {verb} none" if len(silent) < len(nodes) else None


def _job_edges(compiled: CompiledPipeline) -> Iterator[PlanJobEdge]:
    results = staged_results(compiled)
    for edge in compiled.job_graph.edges:
        stream_edge, staging = edge.stream_edge, edge.staging
        yield PlanJobEdge(
            id=edge.id,
            source=edge.source_id,
            target=edge.target_id,
            from_operator=stream_edge.source_id,
            to_operator=stream_edge.target_id,
            ship_strategy=edge.ship_strategy,
            words=stream_edge.partitioner.label,
            result_type=edge.result_type,
            distribution=edge.distribution_pattern,
            output_tag=stream_edge.output_tag,
            result=results[stream_edge.source_id, stream_edge.output_tag] if staging else None,
            is_staged=staging is not None,
            reason=staging.reason if staging else None,
            explanation=staging.explanation if staging else pipelining_words(stream_edge),
            reads_source_again=edge.reads_source_again,
        )


def _regions(compiled: CompiledPipeline) -> Iterator[PlanRegion]:
    costs, unbounded = failure_costs(compiled), StreamQueries(compiled.stream_graph).unbounded
    for region in compiled.deployment.regions:
        group = region.resource_profile
        yield PlanRegion(
            id=region.id,
            task=compiled.deployment.task_of_region[region.id].id,
            vertices=region.vertex_ids,
            slot_sharing_group=region.slot_sharing_group.name,
            resources=_resources(group) if group else (),
            failure_cost=costs[region.id],
            is_stream=any(compiled.job_graph.vertex_of_node[id].id in region.vertex_ids for id in unbounded),
            group_words=str(group) if group else None,
        )


def _resources(group: SlotSharingGroup) -> tuple[str, ...]:
    words = {key: name.replace("_", " ") for name, key in SPARK_SETTINGS.items()}
    return tuple(
        f"{words[key]} {value}" if key in words else f"{key}={value}" for key, value in group.settings().items()
    )


def failure_costs(compiled: CompiledPipeline) -> Mapping[RegionId, FailureCost]:
    """Return the cost for each region, in an order in which they can run."""
    before = _ancestors(compiled.stream_graph)
    return {region.id: _cost(region, compiled, before) for region in compiled.deployment.regions}


def _cost(region: DeploymentRegion, compiled: CompiledPipeline, before: Mapping[int, int]) -> FailureCost:
    graph, region_of = compiled.stream_graph, compiled.deployment.region_of_vertex
    job = compiled.job_graph
    inputs = [edge for vertex in region.vertex_ids for edge in job.in_edges[vertex]]
    again = dict.fromkeys(e.stream_edge.source_id for e in inputs if e.reads_source_again)
    ids = [*again, *(id for vertex in region.vertex_ids for id in job.vertex[vertex].node_ids)]
    nodes = [graph.node[id] for id in ids]
    reached = 0
    for id in ids:
        reached |= before[id]
    reread = dict.fromkeys(
        (edge.stream_edge.source_id, edge.stream_edge.output_tag)
        for edge in inputs
        if edge.staging is not None and region_of[edge.source_id].id != region.id
    )
    return FailureCost(
        region=region.id,
        repeated=tuple(node.declared_name for node in nodes),
        expensive=tuple(node.declared_name for node in nodes if node.settings.expensive),
        reread=tuple(graph.node[id].declared_name + (f".{tag}" if tag else "") for id, tag in reread),
        spared=reached.bit_count() - len(ids),
    )


def _ancestors(graph: StreamGraph) -> Mapping[int, int]:
    """Return for each node itself and its ancestors, as bits by the nodes' order: a set for each would be quadratic."""
    found: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        found[node.id] = 1 << number
        for edge in graph.in_edges[node.id]:
            found[node.id] |= found.get(edge.source_id, 0)  # not known yet if it is a feedback
    return found


def _summary(
    compiled: CompiledPipeline,
    described: PipelineDescriptor,
    columns: Mapping[int, Known],
    ids: Mapping[int, OperatorId],
    root: str,
) -> PlanSummary:
    graph, planned = compiled.stream_graph, described.plan
    digests = {node.id: operator.digest for node, operator in zip(graph.nodes, planned.operators, strict=True)}
    prints = fingerprints(graph, digests, dict(planned.session))
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    return PlanSummary(
        version=SUMMARY_VERSION,
        pipeline=compiled.pipeline.name,
        plan_id=planned.plan_id,
        session=planned.session,
        strict_sources=compiled.options.strict_sources,
        streams=tuple(region.stream for region in described.regions if region.stream is not None),
        run=tuple(
            (fact, value.replace(f"{root}/", "") if root else value) for fact, value in _run_facts(compiled.pipeline)
        ),
        operators=tuple(
            OperatorSummary(
                id=ids[node.id],
                name=node.declared_name,
                uid=node.settings.uid,
                digest=operator.digest,
                fingerprint=prints[node.id],
                facts=operator_facts(node, described.own_facts[node.id]),
                inputs=operator.inputs,
                columns=_sink_columns(node, columns.get(node.id)),
            )
            for node, operator in zip(graph.nodes, planned.operators, strict=True)
        ),
        results=tuple(
            ResultSummary(
                id=result.id,
                operator=places[result.node_id],
                output_tag=result.output_tag,
                fingerprint=result.fingerprint,
            )
            for region in described.regions
            for result in region.results
        ),
        tasks=tuple(_task(name, regions, places) for name, regions in described.tasks().items()),
    )


def _sink_columns(node: StreamNode, known: Known) -> Facts:
    """Return the columns of a sink; none if they are unknown, or too many for a document that Airflow keeps."""
    if known is None or not isinstance(node.operator, Sink) or len(known) > _MOST_COLUMNS:
        return ()
    return tuple((column.name, column.type or "") for column in known)


def _run_facts(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    for parameter in pipeline.parameters:
        yield f"params.{parameter.name}", repr(json_value(parameter.default))
        for keyword, said in parameter.keywords.items():
            yield f"params.{parameter.name}.{keyword}", str(said)
    if pipeline.schedule is not None:
        for each in fields(pipeline.schedule):
            value = getattr(pipeline.schedule, each.name)
            if value != each.default:
                yield f"schedule.{each.name}", str(value)


def _task(name: TaskName, regions: Sequence[RegionDescriptor], places: dict[int, int]) -> TaskSummary:
    settings: dict[str, Json] = {
        "vertices": sum(len(region.vertices) for region in regions),
        "slot sharing group": to_wire(regions[0].resource_profile),
        "staging": to_wire(regions[0].retention),
    }
    if len(regions) > 1:
        settings["shared by regions"] = [region.region_id for region in regions]
    operators = [operator for region in regions for operator in region.operators]
    stages = tuple(result.id for region in regions for result in region.results)
    edges = (edge for operator in operators for edge in operator.inputs)
    reads = (edge.staged.id for edge in edges if edge.staged is not None)
    return TaskSummary(
        id=name,
        operators=tuple(places[operator.node_id] for operator in operators),
        stages=stages,
        reads=tuple(dict.fromkeys(id for id in reads if id not in stages or len(regions) == 1)),
        settings=tuple(flat("", settings)),
    )
