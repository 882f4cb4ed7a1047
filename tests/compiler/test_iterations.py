"""Flink's iterations, in which rows flow back. They compile in STREAMING, but cannot be deployed."""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet
from graph_compiler.compiler.pipeline_compiler import compile_pipeline, compile_stream_graph
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import ChainingStrategy, Filter, OperatorSettings, Sink, Source
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    OneInputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline

INSTEAD = "iterate(step, max_iterations=…) applies a function to its own result, which Spark can run"
ALWAYS = ChainingStrategy.ALWAYS


def loop(mode: str, *, is_bounded: bool = True, feedback: tuple[int, ...] = (3,)) -> Pipeline:
    """in ─▶ step ─▶ out, and the output of step flows back into it. No call of the API makes this."""
    source = Source(Csv("/in"), is_bounded=is_bounded)
    return Pipeline(
        name="loop",
        config=(("execution.runtime-mode", mode),),
        transformations=(
            SourceTransformation(id=1, name="in", operator=source, chaining_strategy=ALWAYS),
            FeedbackTransformation(id=2, inputs=(1,), feedback=feedback),
            OneInputTransformation(id=3, inputs=(2,), name="step", operator=Filter("x"), chaining_strategy=ALWAYS),
            SinkTransformation(id=4, inputs=(3,), name="out", operator=Sink(Parquet("/out")), chaining_strategy=ALWAYS),
        ),
    )


@pytest.mark.parametrize("mode", ["BATCH", "AUTOMATIC"])
def test_an_iteration_in_a_batch_job_is_refused_as_in_flink(mode: str) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_stream_graph(loop(mode))
    (problem,) = refusal.value.problems
    assert problem.message == ("rows flow back into it, but the job is BATCH: as in Flink, iterations need STREAMING")
    assert problem.hint == INSTEAD


def test_automatic_mode_is_streaming_with_an_unbounded_source() -> None:
    assert len(compile_stream_graph(loop("AUTOMATIC", is_bounded=False)).nodes) == 5


def test_an_iteration_without_feedback_is_refused_as_in_flink() -> None:
    with pytest.raises(InvalidPipelineError, match="feedback: nothing flows back into it"):
        compile_stream_graph(loop("STREAMING", feedback=()))


def test_an_iteration_compiles_but_is_not_deployed() -> None:
    compiled = compile_pipeline(loop("STREAMING"))
    with pytest.raises(InvalidPipelineError) as refusal:
        describe_pipeline(compiled)
    (problem,) = refusal.value.problems
    assert problem.operator == "IterationSource-2"
    assert problem.message == "rows flow back into it, and Spark has no such loop"
    assert problem.hint == INSTEAD


@pytest.fixture
def shallow_stack() -> Iterator[None]:
    """Allow 100 calls inside each other."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("shallow_stack")
def test_iterations_inside_each_other_compile_at_any_depth() -> None:
    source = SourceTransformation(id=1, name="in", operator=Source(Csv("/in")), chaining_strategy=ALWAYS)
    depth = 200
    last = 2 * depth + 1
    nested: list[Transformation] = [source]
    for id in range(2, last, 2):
        nested.append(FeedbackTransformation(id=id, inputs=(id - 1,), feedback=(last,)))
        nested.append(
            OneInputTransformation(id=id + 1, inputs=(id,), name="step", operator=Filter("x"), chaining_strategy=ALWAYS)
        )
    config = (("execution.runtime-mode", "STREAMING"),)
    graph = compile_stream_graph(Pipeline(name="nested", config=config, transformations=tuple(nested)))
    assert len(graph.nodes) == 1 + 3 * depth


def test_two_streams_flow_back_each_connected_before_the_next_is_translated() -> None:
    graph = compile_stream_graph(loop("STREAMING", feedback=(3, 3)))
    assert [edge.id for edge in graph.out_edges[3]] == [
        "step-3_IterationSink-2--2_0_FORWARD_0",
        "step-3_IterationSink-2--2_0_FORWARD_1",
        "step-3_Sink: out-4_0_FORWARD_0",
    ]


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        ((1,), "the rows of 'in' flow back into it, but do not come from it"),
        ((3,), "its parallelism is 2, but 'step', which flows back into it, has 4"),
    ],
)
def test_feedback_that_flink_refuses(feedback: tuple[int, ...], message: str) -> None:
    pipeline = loop("STREAMING", feedback=feedback)
    source, iteration, step, sink = pipeline.transformations
    assert isinstance(source, SourceTransformation)
    assert isinstance(step, OneInputTransformation)
    source = replace(source, settings=OperatorSettings(parallelism=2))
    step = replace(step, settings=OperatorSettings(parallelism=4))
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_stream_graph(replace(pipeline, transformations=(source, iteration, step, sink)))
    assert refusal.value.problems[0].message == message
