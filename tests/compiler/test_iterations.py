"""Flink's iterations, in which rows flow back. They compile in STREAMING, but cannot be deployed."""

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet
from graph_compiler.compiler.pipeline_compiler import compile_pipeline, compile_stream_graph
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import ChainingStrategy, Filter, Sink, Source
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    OneInputTransformation,
    SinkTransformation,
    SourceTransformation,
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
