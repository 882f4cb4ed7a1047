"""Pipelines that Flink compiles and Spark cannot run as Flink would."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from graph_compiler import Csv, DataStream, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import ChainingStrategy
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.deployment.describe.region_descriptors import describe_regions

Declare = Callable[[DataStream, DataStream], DataStream]

JOINED: dict[str, Declare] = {
    "one side of a join": lambda s, o: s.join(o.broadcast(), on="id"),
    "the other side": lambda s, o: s.broadcast().join(o, on="id"),
    "a union of broadcasts, joined": lambda s, o: s.join(o.broadcast().union(o.broadcast()), "id"),
    "staged after it": lambda s, o: s.join(o.broadcast().stage("expensive"), on="id"),
    "a query of two streams": lambda s, o: s.environment.sql(
        "SELECT * FROM {a} JOIN {b} USING (id)", a=s, b=o.broadcast()
    ),
    "replaced by another distribution": lambda s, _: s.broadcast().rebalance().filter("id > 1"),
}
ALONE: dict[str, Declare] = {
    "an operator of one input": lambda s, _: s.broadcast().filter("id > 1"),
    "a sink": lambda s, _: s.broadcast(),
    "an operator after a cut": lambda s, _: s.broadcast().stage("expensive").filter("id > 1"),
    "a union": lambda s, o: s.union(o.broadcast()),
    "a union by name": lambda s, o: s.union_by_name(o.broadcast(), allow_missing_columns=True),
    "a query of one stream": lambda s, _: s.environment.sql("SELECT * FROM {a}", a=s.broadcast()),
}

REPEATED: dict[str, tuple[Declare, str]] = {
    "both sides of a join": (lambda s, o: s.broadcast().join(o.broadcast(), on="id"), "all its inputs are broadcast"),
    "both inputs of a query": (
        lambda s, o: s.environment.sql("SELECT * FROM {a}, {b}", a=s.broadcast(), b=o.broadcast().stage("expensive")),
        "all its inputs are broadcast",
    ),
    "a side, and a part of the other": (
        lambda s, o: s.broadcast().join(o.union(s.broadcast()), how="cross"),
        "all its inputs are broadcast",
    ),
    "a part of one side": (
        lambda s, o: s.join(o.union(s.broadcast()), how="cross"),
        "a part of one of its inputs is broadcast",
    ),
}


def describe(env: StreamExecutionEnvironment, declare: Declare) -> None:
    streams = (env.from_source(Csv(f"/{name}", schema="id INT"), name) for name in ("s", "o"))
    declare(*streams).sink_to(Parquet("/out"))
    describe_regions(compile_pipeline(env.pipeline()))


@pytest.mark.parametrize("declare", JOINED.values(), ids=JOINED)
def test_a_broadcast_that_is_joined_is_deployed(env: StreamExecutionEnvironment, declare: Declare) -> None:
    describe(env, declare)


@pytest.mark.parametrize("declare", ALONE.values(), ids=ALONE)
def test_a_broadcast_that_would_repeat_rows_in_flink_is_refused(
    env: StreamExecutionEnvironment, declare: Declare
) -> None:
    with pytest.raises(InvalidPipelineError, match="it reads broadcast rows, but no rows to join them with"):
        describe(env, declare)


@pytest.mark.parametrize(("declare", "message"), REPEATED.values(), ids=REPEATED)
def test_broadcasts_that_would_repeat_pairs_in_flink_are_refused(
    env: StreamExecutionEnvironment, declare: Declare, message: str
) -> None:
    with pytest.raises(InvalidPipelineError, match=message) as caught:
        describe(env, declare)
    assert "hint: " in str(caught.value)
    assert "declared at" in str(caught.value)


def test_source_chaining_is_compiled_and_not_deployed(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "s").filter("id > 1").name("f").sink_to(Parquet("/out"))
    pipeline = env.pipeline()
    heads = ChainingStrategy.HEAD_WITH_SOURCES
    changed = tuple(
        replace(one, chaining_strategy=heads) if isinstance(one, PhysicalTransformation) and one.name == "f" else one
        for one in pipeline.transformations
    )
    compiled = compile_pipeline(replace(pipeline, transformations=changed))
    with pytest.raises(InvalidPipelineError, match="chaining_strategy is HEAD_WITH_SOURCES"):
        describe_regions(compiled)
