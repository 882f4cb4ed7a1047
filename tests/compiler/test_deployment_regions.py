from collections.abc import Callable

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StagingReason
from pipelines.flights import env as flights
from tests.conftest import staged_detour, with_options
from tests.harness.compiled_graphs import region_edges

Compile = Callable[[], CompiledPipeline]


def regions(compiled: CompiledPipeline) -> dict[str, list[str]]:
    vertex = compiled.job_graph.vertex
    return {region.id: [vertex[id].name for id in region.vertex_ids] for region in compiled.deployment.regions}


def test_flights_is_two_tasks_and_one_of_them_combines_several_vertices() -> None:
    assert regions(compile_pipeline(flights.pipeline())) == {
        "with_weather": [
            "Source: flights -> flown -> (arrival_is_known, Sink: cancelled)",
            "Source: weather",
            "with_weather",
        ],
        "late_routes": [
            "Source: carriers",
            "Source: planes -> built",
            "facts",
            "lateness",
            "with_carrier_name -> (regular_routes, Sink: late_routes)",
            "ten_worst -> Sink: worst_routes",
            "lateness_by_month -> Sink: by_month",
            "lateness_by_weather -> Sink: by_weather",
            "with_plane -> with_age",
            "lateness_by_age -> Sink: by_plane_age",
        ],
    }


def test_all_exchanges_blocking_gives_each_vertex_its_own_region() -> None:
    compiled = compile_pipeline(with_options(flights.pipeline(), shuffle_mode="ALL_EXCHANGES_BLOCKING"))
    assert [region.vertex_ids for region in compiled.deployment.regions] == [
        (vertex.id,) for vertex in compiled.job_graph.vertices
    ]
    assert region_edges(compiled) == compiled.job_graph.edges


def test_all_exchanges_pipelined_gives_one_region() -> None:
    compiled = compile_pipeline(with_options(flights.pipeline(), shuffle_mode="ALL_EXCHANGES_PIPELINED"))
    assert len(compiled.deployment.regions) == 1
    assert compiled.job_graph.staged_edges == ()


def test_auto_without_a_reason_to_cut_is_one_region(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    env.from_source(Csv("/in"), "in").key_by("x").aggregate(n="count(*)").sink_to(Parquet("/out"))
    assert len(compiled().deployment.regions) == 1


def test_a_staged_detour_cuts_the_direct_edge_too() -> None:
    compiled = compile_pipeline(staged_detour().pipeline())
    assert regions(compiled) == {"A": ["Source: a -> A"], "out": ["C", "B -> Sink: out"]}
    reasons = {edge.stream_edge.target_id: edge.staging.reason for edge in compiled.job_graph.edges if edge.staging}
    assert sorted(reasons.values()) == [StagingReason.DECLARED, StagingReason.WOULD_CYCLE]


def test_a_small_source_joined_late_is_not_cut_with_the_cycle(
    env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    a = env.from_source(Csv("/a"), "a").filter("x > 0").name("A")
    small = env.from_source(Csv("/small"), "small")
    c = a.stage("dear").key_by("x").aggregate(n="count(*)").name("C")
    a.join(c, on="x").name("B").join(small.broadcast(), on="x").name("D").sink_to(Parquet("/out")).name("out")
    assert "Source: small" in regions(compiled())["out"]


def test_each_slot_sharing_group_is_a_separate_task_in_every_mode(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x").slot_sharing_group("big")
    stream.sink_to(Parquet("/out")).name("out")
    for mode in ("AUTO", "ALL_EXCHANGES_PIPELINED"):
        compiled = compile_pipeline(with_options(env.pipeline(), shuffle_mode=mode))
        assert [(region.id, region.slot_sharing_group.name) for region in compiled.deployment.regions] == [
            ("in", "default"),
            ("out", "big"),
        ]
        (staging,) = (edge.staging for edge in compiled.job_graph.edges if edge.staging)
        assert staging.explanation == "because slot sharing group 'default' ends and 'big' begins"


def test_alternating_groups_make_no_cycle(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    """A(g1) → B(g2) → C(g1) beside A → C."""
    a = env.from_source(Csv("/in"), "A").slot_sharing_group("g1")
    b = a.filter("x").name("B").slot_sharing_group("g2")
    a.join(b, on="x").name("C").slot_sharing_group("g1").sink_to(Parquet("/out")).name("out")
    assert regions(compiled()) == {"A": ["Source: A"], "B": ["B"], "out": ["C -> Sink: out"]}
    assert [edge.staging.reason for edge in compiled().job_graph.edges if edge.staging].count(
        StagingReason.WOULD_CYCLE
    ) == 1


def test_a_task_is_named_by_uid_then_name_and_a_pinned_id_wins(
    env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    sink = env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("daily sales")
    assert list(regions(compiled())) == ["daily_sales"]
    sink.uid("sales-by-day")
    assert list(regions(compiled())) == ["sales-by-day"]
    sink.task_id("pinned")
    assert list(regions(compiled())) == ["pinned"]


def test_a_task_has_the_name_of_a_source_only_if_it_stages_nothing_else(
    env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    orders = env.from_source(Csv("/in"), "orders")
    orders.filter("x").name("large").sink_to(Parquet("/large")).name("large_orders")
    orders.slot_sharing_group("small").filter("y").slot_sharing_group("big").sink_to(Parquet("/late")).name(
        "late_orders"
    )
    assert list(regions(compiled())) == ["large_orders", "late_orders"]


def test_a_pinned_task_id_is_not_taken_by_a_name(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    env.from_source(Csv("/a"), "a").sink_to(Parquet("/out/a")).name("out")
    env.from_source(Csv("/b"), "b").sink_to(Parquet("/out/b")).name("b_out").task_id("out")
    assert list(regions(compiled())) == ["out_2", "out"]


def test_duplicate_pinned_task_ids_are_refused(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    source = env.from_source(Csv("/a"), "a").task_id("one")
    sink = source.sink_to(Parquet("/out/a")).name("out").task_id("two")
    with pytest.raises(
        InvalidPipelineError, match="a: its task_id is 'one'; 'out', which is in the same region, has 'two'"
    ):
        compiled()
    sink.task_id("one")
    env.from_source(Csv("/b"), "b").sink_to(Parquet("/out/b")).name("other").task_id("one")
    with pytest.raises(
        InvalidPipelineError, match="other: its task_id is 'one'; 'a', which is in another region, has the same one"
    ):
        compiled()


def test_equal_names_get_distinct_task_ids(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    for path in ("/a", "/b"):
        env.from_source(Csv(path), path).sink_to(Parquet(f"/out{path}"))
    assert list(regions(compiled())) == ["Sink", "Sink_2"]


@pytest.mark.parametrize("mode", ["AUTO", "ALL_EXCHANGES_BLOCKING", "ALL_EXCHANGES_PIPELINED"])
def test_compiling_twice_gives_equal_graphs(mode: str) -> None:
    pipeline = with_options(flights.pipeline(), shuffle_mode=mode)
    assert compile_pipeline(pipeline) == compile_pipeline(pipeline)
