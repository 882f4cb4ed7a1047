"""CPU time of compiling: whole pipelines of 10, 100 and 1,000 operators, a chain and a bush of joins."""

import time
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe import describe_regions

pytestmark = pytest.mark.benchmark(timer=time.process_time)


def chain(operators: int) -> StreamExecutionEnvironment:
    """source → filter → … → sink, a shuffle at every tenth."""
    env = StreamExecutionEnvironment("chain")
    stream = env.from_source(Csv("/in"), "in")
    for number in range(operators - 2):
        keyed = number % 10 == 9
        stream = stream.key_by("k").aggregate(k="max(k)") if keyed else stream.filter("k > 0")
    stream.sink_to(Parquet("/out"))
    return env


def bush(operators: int) -> StreamExecutionEnvironment:
    """Many sources, joined pair by pair until one is left; every third join is staged."""
    env = StreamExecutionEnvironment("bush")
    streams = [
        env.from_source(Csv(f"/in/{number}"), f"in_{number}") for number in range(operators // 2)
    ]
    joins = 0
    while len(streams) > 1:
        joins += 1
        joined = streams[0].join(streams[1], on="k")
        streams = [*streams[2:], joined.stage("dear") if joins % 3 == 0 else joined]
    streams[0].sink_to(Parquet("/out"))
    return env


@pytest.mark.parametrize("operators", [10, 100, 1_000])
@pytest.mark.parametrize("shape", [chain, bush])
def test_declare_and_compile(
    shape: Callable[[int], StreamExecutionEnvironment], operators: int, benchmark: BenchmarkFixture
) -> None:
    benchmark(lambda: compile_pipeline(shape(operators).pipeline()))


@pytest.mark.parametrize("operators", [10, 100, 1_000])
def test_describe_regions(operators: int, benchmark: BenchmarkFixture) -> None:
    compiled = compile_pipeline(bush(operators).pipeline())
    benchmark(lambda: describe_regions(compiled))
