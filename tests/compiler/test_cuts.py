"""Staged edges are BLOCKING in the compiled job graph, whatever they are in Flink's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.checks.validation import validated_options
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.compiler.regions.deployment_regions import logical_pipelined_regions
from graph_compiler.compiler.stream_graph.stream_graph_generator import generate_stream_graph
from graph_compiler.declaration.operators import Filter, OperatorAttributes
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.explain.documents.graph_json import stream_graph_json
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.graphs.job_graph import JobGraph, ResultPartitionType
from graph_compiler.graphs.stream_graph import StagingReason
from graph_compiler.identifiers import IntermediateDataSetId, JobEdgeId
from pipelines.flights import env as flights
from tests.conftest import staged_detour, with_options

PIPELINED, BLOCKING = ResultPartitionType.PIPELINED_BOUNDED, ResultPartitionType.BLOCKING
HYBRID = ResultPartitionType.HYBRID_FULL


def as_flink_makes_it(pipeline: Pipeline) -> JobGraph:
    options = validated_options(pipeline)
    return generate_job_graph(generate_stream_graph(pipeline, options), options)


def other_group() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    a = env.from_source(Csv("/a"), "a").filter("x > 0").name("a")
    a.filter("x > 1").slot_sharing_group("big").sink_to(Parquet("/out")).slot_sharing_group("big")
    return env


@pytest.mark.parametrize(
    ("pipeline", "reason"),
    [
        (staged_detour().pipeline(), StagingReason.WOULD_CYCLE),
        (other_group().pipeline(), StagingReason.SLOT_SHARING_GROUP_DIFFERS),
    ],
)
def test_edges_cut_for_deployment_are_pipelined_in_flinks_graph_and_blocking_here(
    pipeline: Pipeline, reason: StagingReason
) -> None:
    compiled = compile_pipeline(pipeline).job_graph
    (cut,) = (e for e in compiled.edges if e.staging is not None and e.staging.reason is reason)
    flinks = as_flink_makes_it(pipeline)
    assert flinks.edge[cut.id].result_type is PIPELINED
    assert flinks.data_set[cut.data_set_id].result_type is PIPELINED
    assert cut.result_type is BLOCKING
    assert compiled.data_set[cut.data_set_id].result_type is BLOCKING


@pytest.mark.parametrize("env", [flights, staged_detour(), other_group()])
def test_every_staged_edge_is_blocking_and_every_other_is_not(env: StreamExecutionEnvironment) -> None:
    compiled = compile_pipeline(env.pipeline())
    graph = compiled.job_graph
    assert graph.staged_edges
    for edge in graph.edges:
        assert edge.result_type.is_blocking == (edge.staging is not None)
        assert graph.data_set[edge.data_set_id].result_type is edge.result_type
    assert compiled.execution_graph is not None
    types = {result.id: result.result_type for result in compiled.execution_graph.results}
    assert types == {data_set.id: data_set.result_type for data_set in graph.data_sets}


def test_flinks_own_graph_stages_nothing_and_has_the_same_edges_vertices_and_data_sets() -> None:
    flinks, compiled = (as_flink_makes_it(flights.pipeline()), compile_pipeline(flights.pipeline()).job_graph)
    assert flinks.staged_edges == ()
    assert flinks.vertices == compiled.vertices
    assert [edge.id for edge in flinks.edges] == [edge.id for edge in compiled.edges]
    assert [one.id for one in flinks.data_sets] == [one.id for one in compiled.data_sets]


def test_a_region_is_a_logical_pipelined_region_of_the_compiled_graph_where_none_is_merged() -> None:
    compiled = compile_pipeline(flights.pipeline())
    regions = {region.vertex_ids for region in compiled.deployment.regions}
    assert {one.vertex_ids for one in logical_pipelined_regions(compiled.job_graph)} == regions


def test_a_hybrid_data_set_that_one_reader_has_staged_is_two(env: StreamExecutionEnvironment) -> None:
    a = env.from_source(Csv("/a"), "a").set_parallelism(2)
    c = a.stage("expensive").key_by("x").aggregate(n="count(*)").set_parallelism(3)
    for name, read in (("near", a.rebalance()), ("far", a.rebalance().union(c.rebalance()))):
        rows = read.filter("x > 0").name(name).set_parallelism(3)
        rows.sink_to(Parquet(f"/{name}")).set_parallelism(3)
    hybrid = with_options(env.pipeline(), shuffle_mode="ALL_EXCHANGES_HYBRID_FULL")
    flinks, graph = as_flink_makes_it(hybrid), compile_pipeline(hybrid).job_graph
    (shared,) = (one for one in flinks.data_sets if len(readers(one.id, flinks)) == 2)
    assert shared.result_type is HYBRID
    assert len(readers(shared.id, graph)) == 1
    (cut,) = (e for e in graph.edges if e.staging and e.staging.reason is StagingReason.WOULD_CYCLE)
    assert cut.data_set_id not in flinks.data_set
    assert graph.data_set[cut.data_set_id].result_type is BLOCKING


def readers(id: IntermediateDataSetId, graph: JobGraph) -> list[JobEdgeId]:
    return [edge.id for edge in graph.edges if edge.data_set_id == id]


def test_operators_with_output_only_after_the_end_are_staged() -> None:
    last = Filter("x", attributes=OperatorAttributes(outputs_only_after_end=True))
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").apply(last).rebalance().sink_to(Parquet("/out"))
    (edge,) = compile_pipeline(env.pipeline()).job_graph.edges
    assert edge.staging is not None
    assert edge.staging.reason is StagingReason.OUTPUT_ONLY_AFTER_END


def test_operators_chained_after_it_also_have_output_only_after_the_end() -> None:
    last = Filter("x", attributes=OperatorAttributes(outputs_only_after_end=True))
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in"), "in").apply(last).filter("y").filter("z")
    rows.rebalance().sink_to(Parquet("/out"))
    (edge,) = compile_pipeline(env.pipeline()).job_graph.edges
    assert edge.staging is not None
    assert edge.staging.reason is StagingReason.OUTPUT_ONLY_AFTER_END


ORDERED: dict[str, Callable[[DataStream], DataStream]] = {
    "sort": lambda rows: rows.sort("x"),
    "top_n": lambda rows: rows.top_n(3, "x"),
}


@pytest.mark.parametrize("mode", ["AUTO", "ALL_EXCHANGES_PIPELINED"])
@pytest.mark.parametrize("order", ORDERED.values(), ids=ORDERED)
def test_sorts_say_that_they_emit_at_the_end_and_cut_nothing(
    order: Callable[[DataStream], DataStream], mode: str
) -> None:
    env = StreamExecutionEnvironment("p", config={"execution.batch-shuffle-mode": mode})
    ordered = order(env.from_source(Csv("/in", schema="x INT"), "in")).name("ordered")
    ordered.key_by("x").aggregate(n="count(*)").limit(2).sink_to(Parquet("/out"))
    compiled = compile_pipeline(env.pipeline())
    assert not compiled.job_graph.staged_edges
    assert all(edge.result_type is not BLOCKING for edge in compiled.job_graph.edges)
    nodes = stream_graph_json(compiled.stream_graph, compiled.options)["nodes"]
    assert isinstance(nodes, list)
    said = {node["name"]: node["output_only_after_eos"] for node in nodes if isinstance(node, dict)}
    assert [name for name, at_end in said.items() if at_end] == ["ordered"]
    assert "ordered: emits rows when it has read all its input" in explain_text(plan_of(compiled))
