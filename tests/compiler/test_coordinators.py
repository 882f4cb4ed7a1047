"""The driver's work for job vertices, in Flink's order, and which subtask reads which split."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.compiler.stream_graph.stream_graph_generator import generate_stream_graph
from graph_compiler.declaration.coordination import InputSplit
from graph_compiler.declaration.operators import ChainingStrategy, Filter, Source
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    MultipleInputTransformation,
    OneInputTransformation,
    SourceTransformation,
    Transformation,
)
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.explain.documents.graph_json import ExecutionGraphJson
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.options.model import PipelineOptions
from tests.harness.registered_kinds import register

Compile = Callable[[], CompiledPipeline]


@dataclass(frozen=True, slots=True)
class SplitCsv(Csv):
    """Has `parts` parts, and never returns fewer than requested."""

    parts: int = 1

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...]:
        count = max(self.parts, parallelism)
        return tuple(InputSplit(number=n, description=f"part {n}") for n in range(count))


@pytest.fixture(autouse=True)
def _it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, SplitCsv)


def on_driver(graph: JobGraph) -> list[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """Return hooks and coordinators of each vertex, operators by the first letters of their ids."""
    return [
        (
            [(given.operator_id[:4], given.hook) for given in vertex.initialize_on_master],
            [(given.operator_id[:4], given.kind) for given in vertex.coordinators],
        )
        for vertex in graph.vertices
    ]


def test_a_chain_has_the_hooks_of_its_operators_from_its_end(
    env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    rows = env.from_source(Csv("/in"), "in").filter("x").name("f")
    rows.sink_to(Parquet("/out")).name("out")
    (vertex,) = compiled().job_graph.vertices
    out, _, source = (id[:4] for id in vertex.operator_ids)
    assert on_driver(compiled().job_graph) == [
        ([(out, "TARGET_CAN_BE_MADE"), (source, "INPUT_EXISTS")], [(out, "COMMITTER"), (source, "SPLIT_ENUMERATOR")])
    ]


def test_a_legacy_source_has_no_coordinator_but_a_path_check() -> None:
    always = ChainingStrategy.ALWAYS
    source = Source(Csv("/in"), is_legacy=True)
    reader = SourceTransformation(id=1, name="s", operator=source, chaining_strategy=always)
    operator = OneInputTransformation(id=2, inputs=(1,), name="f", operator=Filter("x"), chaining_strategy=always)
    ((hooks, coordinators),) = on_driver(job_graph(reader, operator))
    assert [hook for _, hook in hooks] == ["INPUT_EXISTS"]
    assert coordinators == []


def test_a_chained_source_is_coordinated_first() -> None:
    always, head = ChainingStrategy.ALWAYS, ChainingStrategy.HEAD_WITH_SOURCES
    source = SourceTransformation(id=1, name="s", operator=Source(SplitCsv("/in", parts=2)), chaining_strategy=always)
    operator = MultipleInputTransformation(id=2, inputs=(1,), name="m", operator=Filter("x"), chaining_strategy=head)
    (vertex,) = job_graph(source, operator).vertices
    (coordinator,) = vertex.coordinators
    assert coordinator.operator_id not in vertex.operator_ids
    assert [one.operator_id for one in vertex.input_split_sources] == [coordinator.operator_id]


@pytest.mark.parametrize(
    ("parts", "parallelism", "wanted"),
    [(5, 2, [[0, 2, 4], [1, 3]]), (2, 2, [[0], [1]]), (1, 3, [[0], [1], [2]]), (3, None, [[0, 1, 2]])],
)
def test_split_i_belongs_to_subtask_i(
    parts: int, parallelism: int | None, wanted: list[list[int]], env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    rows = env.from_source(SplitCsv("/in", parts=parts), "in")
    if parallelism is not None:
        rows.set_parallelism(parallelism)
    rows.rebalance().sink_to(Parquet("/out")).name("out")
    graph = compiled().execution_graph
    assert graph is not None
    source, sink = graph.vertices
    (assigner,) = source.input_splits
    assert [[split.number for split in assigner.of_subtask(n)] for n in range(source.parallelism)] == wanted
    assert sink.input_splits == ()


def test_the_default_parallelism_splits_no_source() -> None:
    env = StreamExecutionEnvironment("p", config={"parallelism.default": 4})
    env.from_source(SplitCsv("/in"), "in").filter("x").sink_to(Parquet("/out")).name("out")
    compiled = compile_pipeline(env.pipeline())
    graph = compiled.execution_graph
    assert graph is not None
    (vertex,) = graph.vertices
    (assigner,) = vertex.input_splits
    assert [len(assigner.of_subtask(n)) for n in range(vertex.parallelism)] == [1, 0, 0, 0]
    assert "[1 input split]" in explain_text(plan_of(compiled))


def test_explain_counts_splits_and_the_document_lists_their_readers(
    env: StreamExecutionEnvironment, compiled: Compile
) -> None:
    rows = env.from_source(SplitCsv("/in", parts=3), "in").set_parallelism(2)
    env.from_source(SplitCsv("/one"), "one").join(rows, on="x").sink_to(Parquet("/out")).name("out")
    text = explain_text(plan_of(compiled()))
    assert "  Source: in    [parallelism: 2]    [3 input splits]\n" in text
    assert "  Source: one    [1 input split]\n" in text
    graph = compiled().execution_graph
    assert graph is not None
    vertices = json.loads(json.dumps(ExecutionGraphJson(graph).vertices()))
    assert [[source["subtasks"] for source in vertex.get("input_splits", [])] for vertex in vertices] == [
        [[["part 0", "part 2"], ["part 1"]]],
        [[["part 0"]]],
        [],
    ]


def test_file_splits_are_left_to_spark_and_not_explained(env: StreamExecutionEnvironment, compiled: Compile) -> None:
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out")
    assert "split" not in explain_text(plan_of(compiled()))


def job_graph(*transformations: Transformation) -> JobGraph:
    options = PipelineOptions()
    pipeline = Pipeline(name="p", transformations=transformations)
    return generate_job_graph(generate_stream_graph(pipeline, options), options)


@pytest.mark.parametrize("parts", [None, 3])
@pytest.mark.parametrize("parallelism", [None, 2])
@pytest.mark.parametrize(
    "config", [{}, {"parallelism.default": 4}, {"parallelism.default": 4, "spark.sql.shuffle.partitions": 8}]
)
def test_a_database_shows_the_splits_that_its_task_reads(
    parts: int | None, parallelism: int | None, config: dict[str, int]
) -> None:
    env = StreamExecutionEnvironment("p", config=config)
    table = Jdbc(
        "jdbc:postgresql://db/shop",
        table="orders",
        partition_column="id",
        lower_bound=0,
        upper_bound=100,
        num_partitions=parts,
    )
    rows = env.from_source(table, "orders")
    if parallelism is not None:
        rows.set_parallelism(parallelism)
    rows.sink_to(Parquet("/out")).name("out")
    compiled = compile_pipeline(env.pipeline())
    assert compiled.execution_graph is not None
    shown = compiled.execution_graph.vertices[0].input_splits[0].splits
    (region,) = describe_regions(compiled)
    source = next(one for one in region.operators if one.name == "orders")
    connector = source.operator.input_split_source()
    assert connector is not None
    # as the coordinator and the reader on the driver do
    assert shown == connector.create_input_splits(source.settings.parallelism or 1)
    assert len(shown) == (parts or parallelism or 1)
