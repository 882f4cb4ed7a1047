from collections.abc import Callable

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import ChainingStrategy, Filter, OperatorAttributes, Source
from graph_compiler.declaration.transformations import OneInputTransformation, SourceTransformation
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from pipelines.flights import env as flights
from tests.conftest import with_options, word_count

Compile = Callable[[], CompiledPipeline]


def test_a_keyed_operator_of_a_batch_job_starts_a_chain() -> None:
    graph = compile_pipeline(word_count().pipeline()).job_graph
    assert [vertex.name for vertex in graph.vertices] == ["Source: lines -> words", "counts -> Sink: counts_out"]


def test_vertices_are_created_consumers_first_and_sorted_from_the_sources() -> None:
    graph = compile_pipeline(word_count().pipeline()).job_graph
    assert graph.creation_order == tuple(vertex.id for vertex in reversed(graph.vertices))


def test_a_forked_chain_is_named_as_flink_names_it(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    kept = env.from_source(Csv("/in"), "in").filter("x > 0", rejects="rest").name("kept")
    kept.select("x").name("narrow").sink_to(Parquet("/out/kept")).name("kept_out")
    kept.get_side_output("rest").sink_to(Parquet("/out/rest")).name("rest_out")
    (vertex,) = compiled().job_graph.vertices
    assert vertex.name == "Source: in -> kept -> (narrow -> Sink: kept_out, Sink: rest_out)"
    assert str(vertex.operator_ids[-1]) == str(vertex.id)


def test_every_node_is_in_one_chain_and_every_edge_inside_one_or_a_job_edge() -> None:
    for mode in ("AUTO", "ALL_EXCHANGES_BLOCKING"):
        compiled = compile_pipeline(with_options(flights.pipeline(), shuffle_mode=mode))
        nodes = [id for vertex in compiled.job_graph.vertices for id in vertex.node_ids]
        assert sorted(nodes) == sorted(compiled.stream_graph.node)
        between = [edge.stream_edge for edge in compiled.job_graph.edges]
        vertex_of = compiled.job_graph.vertex_of_node
        inside = [e for e in compiled.stream_graph.edges if vertex_of[e.source_id] == vertex_of[e.target_id]]
        assert sorted(e.id for e in between + inside) == sorted(e.id for e in compiled.stream_graph.edges)


def test_consumers_of_one_staged_output_share_a_data_set_when_they_split_it_alike(
    env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    staged = env.from_source(Csv("/in"), "in").stage("dear")
    staged.filter("x").sink_to(Parquet("/out/1"))
    staged.filter("y").sink_to(Parquet("/out/2"))
    staged.rebalance().filter("z").sink_to(Parquet("/out/3"))
    graph = compiled().job_graph
    assert len(graph.edges) == 3
    assert len(graph.data_sets) == 2


def test_vertices_are_sorted_data_set_by_data_set(env: StreamExecutionEnvironment) -> None:
    source = env.from_source(Csv("/in"), "in")
    source.rebalance().filter("x").name("X").sink_to(Parquet("/out/x"))
    source.key_by("k").aggregate(n="count(*)").name("Y").sink_to(Parquet("/out/y"))
    source.rebalance().filter("z").name("Z").sink_to(Parquet("/out/z"))
    pipeline = with_options(env.pipeline(), shuffle_mode="ALL_EXCHANGES_BLOCKING")
    names = [vertex.name[0] for vertex in compile_pipeline(pipeline).job_graph.vertices]
    assert names == ["S", "X", "Z", "Y"]


def test_a_long_chain_of_operators_that_yield_needs_no_recursion_either() -> None:
    attributes = OperatorAttributes(is_yielding=True)
    source = SourceTransformation(
        id=1, name="in", operator=Source(Csv("/in"), is_legacy=True), chaining_strategy=ChainingStrategy.ALWAYS
    )
    always = ChainingStrategy.ALWAYS
    waiting = [
        OneInputTransformation(
            id=id, inputs=(id - 1,), name="wait", operator=Filter("x", attributes=attributes), chaining_strategy=always
        )
        for id in range(2, 3_000)
    ]
    job = compile_pipeline(Pipeline(name="p", transformations=(source, *waiting))).job_graph
    assert [len(vertex.node_ids) for vertex in job.vertices] == [1, 2_998]


def test_a_long_chain_needs_no_recursion(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    stream = env.from_source(Csv("/in"), "in")
    for _ in range(3_000):
        stream = stream.filter("x")
    stream.sink_to(Parquet("/out"))
    (vertex,) = compiled().job_graph.vertices
    assert len(vertex.node_ids) == 3_002


def test_the_execution_graph_counts_subtasks(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    stream = env.from_source(Csv("/in"), "in").set_parallelism(4).rescale().filter("x").set_parallelism(2)
    stream.sink_to(Parquet("/out")).set_parallelism(2)
    graph = compiled().execution_graph
    assert graph is not None
    assert [vertex.parallelism for vertex in graph.vertices] == [4, 2]
    assert graph.vertices[0].task_name(3) == "Source: in (4/4)"
    assert [vertex.max_parallelism for vertex in graph.vertices] == [128, 128]
    assert [(list(g.partitions), list(g.consumers)) for g in graph.edges[0].groups] == [([0, 1], [0]), ([2, 3], [1])]
