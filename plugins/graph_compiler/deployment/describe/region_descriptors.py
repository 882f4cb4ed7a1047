"""CompiledPipeline → one RegionDescriptor for each deployment region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from graph_compiler.declaration.connectors.file_uris import staging_place
from graph_compiler.declaration.operators import Aggregate, IntervalJoin, Sink, Source, WindowAggregate
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.retention import Retention
from graph_compiler.declaration.row_order import row_orders
from graph_compiler.declaration.sql_text import bound_names
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.describe.deployability import check_deployable
from graph_compiler.deployment.describe.fingerprints import OwnFacts, digests_of, facts_of, fingerprints
from graph_compiler.deployment.describe.templates import values_of_places
from graph_compiler.deployment.documents.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    RegionDescriptor,
    ResultDescriptor,
    RunValues,
    SharedResult,
    StagedInput,
    VertexDescriptor,
)
from graph_compiler.deployment.documents.heartbeat import ContinuousExecution
from graph_compiler.deployment.documents.jvm_settings import RECORDED, STRICT_SOURCES
from graph_compiler.deployment.documents.position import ReachedSink, SourcePosition
from graph_compiler.deployment.documents.stream import KeptState, SavepointRestoreSettings, StreamQuery, UnboundedSource
from graph_compiler.deployment.documents.wire import digest, to_wire
from graph_compiler.deployment.plans.plan_record import PlanRecord, plan_record
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge, JobVertex
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.graphs.shared_results import SharedReads, computed_once
from graph_compiler.graphs.stream_graph import StreamEdge, StreamNode
from graph_compiler.graphs.stream_queries import StreamQueries
from graph_compiler.graphs.topology import post_order
from graph_compiler.identifiers import IntermediateDataSetId, JobEdgeId, JobVertexId, OperatorId, RegionId, TaskName
from graph_compiler.options.model import PipelineOptions

_WHOLE = (Aggregate, WindowAggregate, IntervalJoin)
"""Operators whose state Spark would keep in part, by what is read behind them; for others it keeps keys, or all."""
Output = tuple[int, str | None]
"""A node and the tag of its output, None for the main one."""


def result_consumers(compiled: CompiledPipeline) -> dict[Output, tuple[RegionId, ...]]:
    """Return the regions that read each staged output."""
    found: dict[Output, dict[RegionId, None]] = {}
    for staged in compiled.job_graph.staged_edges:
        edge = staged.stream_edge
        readers = found.setdefault((edge.source_id, edge.output_tag), {})
        readers[region_of(compiled, edge.target_id)] = None
    return {output: tuple(readers) for output, readers in found.items()}


def compared_results(compiled: CompiledPipeline, consumers: Mapping[Output, tuple[RegionId, ...]]) -> frozenset[Output]:
    """Return the staged outputs whose recomputation may come after a consumer has finished.

    The task that recomputes a result has not finished. So either the result has other consumers; or the task reads from
    the only consumer, whose own result is also lost, and which has other outputs.
    """
    staged = Counter(region_of(compiled, node_id) for node_id, _ in consumers)
    sinks = Counter(
        region_of(compiled, node.id) for node in compiled.stream_graph.nodes if isinstance(node.operator, Sink)
    )
    found = set()
    for output, readers in consumers.items():
        others = [reader for reader in readers if reader != region_of(compiled, output[0])]
        left_beside = [reader for reader in others if staged[reader] and staged[reader] + sinks[reader] > 1]
        if len(others) > 1 or left_beside:
            found.add(output)
    return frozenset(found)


def region_of(compiled: CompiledPipeline, node_id: int) -> RegionId:
    """Return the region of a node."""
    vertex = compiled.job_graph.vertex_of_node[node_id]
    return compiled.deployment.region_of_vertex[vertex.id].id


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineDescriptor:
    """A pipeline as it is deployed: its regions, in an order in which they can run, and what its plan computes.

    `own_facts` are those of each node, by its id.
    """

    regions: tuple[RegionDescriptor, ...]
    plan: PlanRecord
    own_facts: Mapping[int, OwnFacts]

    def tasks(self) -> Mapping[TaskName, tuple[RegionDescriptor, ...]]:
        """Return the regions of each task, in an order in which they can run."""
        found: dict[TaskName, list[RegionDescriptor]] = {}
        for region in self.regions:
            found.setdefault(region.task_name, []).append(region)
        return {name: tuple(regions) for name, regions in found.items()}


def describe_pipeline(compiled: CompiledPipeline) -> PipelineDescriptor:
    """Describe every region, and their plan.

    Raises InvalidPipelineError for what can be compiled, but not deployed: iterations, what has no end on a stream.
    """
    try:
        check_deployable(compiled)
    except InvalidPipelineError as error:
        raise compiled.pipeline.placed(error) from None
    facts = _facts(compiled)
    plan_id = _plan_id(facts)
    return PipelineDescriptor(
        regions=tuple(_describe_region(region, plan_id, facts) for region in compiled.deployment.regions),
        plan=plan_record(
            compiled.stream_graph,
            plan_id=plan_id,
            session=_settings(compiled),
            digests=facts.digests,
            results={id: node_id for (node_id, _), id in facts.staged_results.items()},
        ),
        own_facts=facts.own,
    )


def describe_regions(compiled: CompiledPipeline) -> tuple[RegionDescriptor, ...]:
    """Describe only the regions; raises like `describe_pipeline`."""
    return describe_pipeline(compiled).regions


def _facts(compiled: CompiledPipeline) -> _Facts:
    own = facts_of(compiled.stream_graph, compiled.pipeline.artifacts.found)
    digests = digests_of(own)
    execution_graph = compiled.execution_graph
    consumers = result_consumers(compiled)
    assert execution_graph is not None, "a pipeline with an undecided parallelism is not deployed"
    return _Facts(
        compiled=compiled,
        staged_results=staged_results(compiled),
        consumers=consumers,
        compared=compared_results(compiled, consumers) if compiled.options.staging_checksum else frozenset(),
        own=own,
        digests=digests,
        fingerprints=fingerprints(compiled.stream_graph, digests, _settings(compiled)),
        subtasks={vertex.id: vertex.parallelism for vertex in execution_graph.vertices},
        operator_ids=operator_ids(compiled),
        positions=tuple(_positions(compiled)),
        streams=StreamQueries(compiled.stream_graph),
        shared=computed_once(compiled),
        values=_run_values(compiled),
        orders={sink.id: order.order_by for sink, order in row_orders(compiled.pipeline) if order.lost_at is None},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The graphs and digests from which all regions of a pipeline are described."""

    compiled: CompiledPipeline
    staged_results: Mapping[Output, IntermediateDataSetId]
    consumers: Mapping[Output, tuple[RegionId, ...]]
    compared: frozenset[Output]
    own: Mapping[int, OwnFacts]
    digests: Mapping[int, str]
    fingerprints: Mapping[int, str]
    subtasks: Mapping[JobVertexId, int]
    operator_ids: Mapping[int, OperatorId]
    orders: Mapping[int, tuple[str, ...]]
    """The order of each sink whose rows are in one, if it can still be computed."""
    positions: tuple[SourcePosition, ...]
    streams: StreamQueries
    shared: Mapping[int, SharedReads]
    values: Mapping[int, RunValues]
    """What the rows of each node depend on in a run."""

    def staged_input(self, edge: StreamEdge) -> StagedInput | None:
        """Return the staged result that an edge reads, None if the edge stays in memory."""
        job_edge = self.compiled.job_graph.edge.get(JobEdgeId(edge.id))
        if job_edge is None or job_edge.staging is None:
            return None
        output = (edge.source_id, edge.output_tag)
        return StagedInput(
            id=self.staged_results[output],
            fingerprint=self.fingerprint(output),
            producer=region_of(self.compiled, edge.source_id),
            consumers=self.consumers[output],
            values=self.values[output[0]],
        )

    def fingerprint(self, output: Output) -> str:
        """Return the fingerprint of a node's output with this tag."""
        return digest([self.fingerprints[output[0]], output[1]])

    def parallelism(self, node: StreamNode) -> int | None:
        """Return the number of subtasks of its vertex in the ExecutionGraph, if the operator's declaration sets it."""
        vertex = self.compiled.job_graph.vertex_of_node[node.id]
        return None if node.settings.parallelism is None else self.subtasks[vertex.id]


def _positions(compiled: CompiledPipeline) -> Iterator[SourcePosition]:
    """Yield each source that has a position, with the sinks that its rows reach, in whatever region."""
    graph, ids = compiled.stream_graph, operator_ids(compiled)
    for source in graph.nodes:
        if not isinstance(source.operator, Source) or not source.operator.has_position:
            continue
        reached, pending = {source.id}, [source.id]
        while pending:
            new = [edge.target_id for edge in graph.out_edges[pending.pop()] if edge.target_id not in reached]
            reached.update(new)
            pending += new
        assert source.settings.uid is not None, "the compiler refuses one without"
        sinks = (node for node in graph.nodes if node.id in reached and isinstance(node.operator, Sink))
        yield SourcePosition(
            node_id=source.id,
            uid=source.settings.uid,
            name=source.declared_name,
            sinks=tuple(
                ReachedSink(region_id=region_of(compiled, node.id), operator_id=ids[node.id], name=node.declared_name)
                for node in sinks
            ),
        )


def _run_values(compiled: CompiledPipeline) -> dict[int, RunValues]:
    graph = compiled.stream_graph
    names = Counter(node.declared_name for node in graph.nodes)
    found: dict[int, RunValues] = {}
    ids = [node.id for node in graph.nodes]
    for id in post_order(ids, lambda id: [edge.source_id for edge in graph.in_edges[id]]):
        node = graph.node[id]
        before = [found[edge.source_id] for edge in graph.in_edges[id]]
        if isinstance(node.operator, Source):
            name = node.declared_name if names[node.declared_name] == 1 else f"{node.declared_name}.{node.id}"
            before.append(values_of_places(name, node.operator))
        bound = {parameter for each in before for parameter in each.parameters}
        found[id] = RunValues(
            parameters=tuple(sorted(bound.union(_parameters([node])))),
            places=tuple(sorted({place for each in before for place in each.places})),
        )
    return found


def staged_results(compiled: CompiledPipeline) -> dict[Output, IntermediateDataSetId]:
    """Return one result for each staged output, however many data sets the job graph has for it.

    In Flink, two consumers that hash by different keys have two data sets, each with its own partitioning. Staged data
    are written once, in the producer's partitioning (decision 7), and have the id of the first data set.
    """
    found: dict[Output, IntermediateDataSetId] = {}
    for staged in compiled.job_graph.staged_edges:
        edge = staged.stream_edge
        found.setdefault((edge.source_id, edge.output_tag), staged.data_set_id)
    return found


def operator_ids(compiled: CompiledPipeline) -> dict[int, OperatorId]:
    """Return the operator id of every node that has one."""
    pairs = (
        zip(vertex.node_ids[-len(vertex.operator_ids) :], reversed(vertex.operator_ids), strict=True)
        for vertex in compiled.job_graph.vertices
    )
    return {node_id: operator_id for vertex in pairs for node_id, operator_id in vertex}


def _plan_id(facts: _Facts) -> str:
    """Return a digest of the regions, the cuts and what every operator computes, without line numbers.

    The id of a staged result is included if it is a uid hash; any other id follows from its vertex.
    """
    compiled = facts.compiled
    regions = [[region.id, list(region.vertex_ids)] for region in compiled.deployment.regions]
    staged = [
        [edge.id, edge.staging.reason.value, *_own_name(edge)]
        for edge in compiled.job_graph.edges
        if edge.staging is not None
    ]
    return digest({"regions": regions, "staged": staged, "operators": to_wire(dict(facts.fingerprints))})[:32]


def _own_name(edge: JobEdge) -> tuple[str, ...]:
    is_of_its_vertex = edge.data_set_id.startswith(f"{edge.source_id}-")
    return () if is_of_its_vertex else (edge.data_set_id,)


def _describe_region(region: DeploymentRegion, plan_id: str, facts: _Facts) -> RegionDescriptor:
    task = facts.compiled.deployment.task_of_region[region.id]
    vertices = [facts.compiled.job_graph.vertex[id] for id in region.vertex_ids]
    node_ids = {node_id for vertex in vertices for node_id in vertex.node_ids}
    again = tuple(_sources_read_again(region, facts))
    read = node_ids | {operator.node_id for vertex in again for operator in vertex.operators}
    described = RegionDescriptor(
        pipeline=facts.compiled.pipeline.name,
        plan_id=plan_id,
        region_id=region.id,
        vertices=(*again, *(_describe_vertex(vertex, facts) for vertex in vertices)),
        results=tuple(
            _describe_result(output, id, facts) for output, id in facts.staged_results.items() if output[0] in node_ids
        ),
        session=tuple(_settings(facts.compiled).items()),
        resource_profile=region.resource_profile,
        retention=Retention(
            release=facts.compiled.options.staging_release,
            ttl=facts.compiled.options.staging_ttl.total_seconds(),
            attempts_history_size=facts.compiled.options.attempts_history_size,
        ),
        artifacts=facts.compiled.pipeline.artifacts.found,
        shares_task=None if task.id == TaskName(region.id) else task.id,
        positions=tuple(
            position
            for position in facts.positions
            if position.node_id in read or any(sink.region_id == region.id for sink in position.sinks)
        ),
        computed_once=tuple(
            SharedResult(node_id=id, readers=reads.readers, names=reads.names)
            for id, reads in facts.shared.items()
            if id in node_ids
        ),
    )
    query = _stream_query(node_ids, described, facts)
    if query is None:
        return described
    options = facts.compiled.options
    return replace(
        described,
        stream=query,
        savepoint=_savepoint(facts.compiled),
        continuous=_continuous(options),
        flush=options.flush if facts.streams.waits(node_ids) else Flush.NONE,
        state_backend=options.state_backend if query.state else None,
    )


def _continuous(options: PipelineOptions) -> ContinuousExecution | None:
    """Return how a stream runs until it is stopped, None if each run publishes what has arrived."""
    if not options.continuous:
        return None
    longest = options.max_run_time.total_seconds()
    return ContinuousExecution(interval_ms=options.interval_ms, longest_seconds=longest or None)


def _savepoint(compiled: CompiledPipeline) -> SavepointRestoreSettings | None:
    """Return the savepoint that a pipeline starts from."""
    path, options = compiled.options.savepoint_path, compiled.options
    place = None if path is None else staging_place(path)
    if place is None:
        return None
    return SavepointRestoreSettings(path=place, allow_non_restored_state=options.ignore_unclaimed_state)


def _stream_query(node_ids: Set[int], region: RegionDescriptor, facts: _Facts) -> StreamQuery | None:
    """Return the query of a region, None if its rows end."""
    queries = facts.streams
    sources = queries.sources(node_ids)
    if not sources:
        return None
    uids = {each.id: str(each.settings.uid) for each in sources}
    stateful = [each for each in queries.stateful if each.id in node_ids]
    kept = {each.id: facts.operator_ids[each.id] for each in stateful}
    read, keeping = _places_in_order(region, queries.unbounded)
    return StreamQuery(
        sources=tuple(
            UnboundedSource(node_id=each.id, uid=str(each.settings.uid), name=each.declared_name) for each in sources
        ),
        state=tuple(
            KeptState(
                operator_id=facts.operator_ids[each.id],
                name=each.declared_name,
                fingerprint=facts.fingerprints[each.id],
                parameters=_parameters((each, *queries.before(each.id))),
                is_whole=isinstance(each.operator, _WHOLE),
            )
            for each in stateful
        ),
        updates=queries.updates(node_ids),
        reads=tuple(uids[id] for id in read if id in uids),
        keeps=tuple(kept[id] for id in keeping if id in kept),
    )


def _parameters(nodes: Sequence[StreamNode]) -> tuple[str, ...]:
    """Return the parameters that are bound in nodes, but the date of the run."""
    bound = {name for each in nodes for name in each.operator.bound_parameters()}
    named = {name for each in nodes for text in each.operator.expressions() for name in bound_names(text)}
    return tuple(sorted((bound | named) - {RUN_DATE}))


def _places_in_order(region: RegionDescriptor, unbounded: Set[int]) -> tuple[list[int], list[int]]:
    """Return the nodes that Spark meets in the query of all sinks, and those by which it may keep a state.

    Both are in Spark's order, and what several operators read is there once for each. Late rows are read where a window
    reads them, by a part of the query that keeps nothing.
    """
    by_node = {operator.node_id: operator for operator in region.operators if operator.node_id in unbounded}
    read: list[int] = []
    keeping: list[int] = []

    def visit(id: int, tag: str | None) -> None:
        if (described := by_node.get(id)) is None:
            return
        for edge in described.inputs:
            visit(edge.node_id, edge.output_tag)
        read.append(id)
        operator = described.operator
        if not isinstance(operator, WindowAggregate) or tag is None or tag != operator.late_data:
            keeping.append(id)

    for id, tag in region.batch_inputs:
        visit(id, tag)
    return read, keeping


def _sources_read_again(region: DeploymentRegion, facts: _Facts) -> Iterator[VertexDescriptor]:
    """Describe each source of another region that this one reads itself: its vertex, with only the source."""
    graph = facts.compiled.job_graph
    again = {
        edge.stream_edge.source_id: graph.vertex[edge.source_id]
        for id in region.vertex_ids
        for edge in graph.in_edges[id]
        if edge.reads_source_again
    }
    for node_id, vertex in again.items():
        source = _describe_vertex(vertex, facts).only({node_id})
        yield replace(source, name=source.operators[0].name)


def _describe_vertex(vertex: JobVertex, facts: _Facts) -> VertexDescriptor:
    nodes = [facts.compiled.stream_graph.node[id] for id in vertex.node_ids]
    return VertexDescriptor(
        vertex_id=vertex.id,
        name=vertex.name,
        parallelism=facts.subtasks[vertex.id],
        initialize_on_master=vertex.initialize_on_master,
        coordinators=vertex.coordinators,
        operators=tuple(_describe_operator(node, facts) for node in nodes),
    )


def _describe_operator(node: StreamNode, facts: _Facts) -> OperatorDescriptor:
    return OperatorDescriptor(
        node_id=node.id,
        operator_id=facts.operator_ids[node.id],
        name=node.declared_name,
        operator=node.operator,
        settings=node.settings.runtime,
        inputs=tuple(
            InputDescriptor(
                node_id=edge.source_id,
                output_tag=edge.output_tag,
                type_number=edge.type_number,
                partitioner=edge.partitioner,
                producer_parallelism=facts.parallelism(facts.compiled.stream_graph.node[edge.source_id]),
                staged=facts.staged_input(edge),
            )
            for edge in facts.compiled.stream_graph.in_edges[node.id]
        ),
        declared_at=node.declared_at,
        order_by=facts.orders.get(node.id, ()),
    )


def _describe_result(output: Output, id: IntermediateDataSetId, facts: _Facts) -> ResultDescriptor:
    node = facts.compiled.stream_graph.node[output[0]]
    return ResultDescriptor(
        id=id,
        node_id=node.id,
        output_tag=output[1],
        fingerprint=facts.fingerprint(output),
        partitions=facts.parallelism(node),
        consumers=facts.consumers[output],
        is_compared=output in facts.compared,
        deterministic=node.settings.deterministic,
        values=facts.values[node.id],
    )


def _settings(compiled: CompiledPipeline) -> Mapping[str, str]:
    """Return the settings that are pinned for the application."""
    return RECORDED if compiled.options.strict_sources else {**RECORDED, STRICT_SOURCES: "false"}
