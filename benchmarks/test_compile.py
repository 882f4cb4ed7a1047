"""CPU time of compiling: pipelines of four shapes, of 10 to 10,000 operators; and large execution graphs.

Flink 1.20.1's warm JVM takes 58–110 ms of its main thread for declaring, StreamGraph and JobGraph of 1,000 operators,
and 61–93 ms (20 MiB) for the execution graph of 4,000 × 4,000 subtasks with its 8,000 regions, on two cores like ours.
"""

import time
import tracemalloc
from collections import deque
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.execution_graph.execution_graph_builder import build_execution_graph
from graph_compiler.compiler.execution_graph.scheduling_topology_builder import build_scheduling_topology
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.graphs.scheduling_topology import SchedulingTopology
from graph_compiler.options.model import PipelineOptions

pytestmark = pytest.mark.benchmark(timer=time.process_time)


def chain(operators: int) -> StreamExecutionEnvironment:
    """source → filter → … → sink, a shuffle at every tenth."""
    env = StreamExecutionEnvironment("chain")
    stream = env.from_source(Csv("/in"), "in")
    for number in range(operators - 2):
        keyed = number % 10 == 9
        stream = stream.key_by("k").aggregate(most="max(k)") if keyed else stream.filter("k > 0")
    stream.sink_to(Parquet("/out"))
    return env


def bush(operators: int) -> StreamExecutionEnvironment:
    """Many sources, joined pair by pair until one is left; every third join is staged."""
    env = StreamExecutionEnvironment("bush")
    streams = deque(env.from_source(Csv(f"/in/{number}"), f"in_{number}") for number in range(operators // 2))
    joins = 0
    while len(streams) > 1:
        joins += 1
        joined = streams.popleft().join(streams.popleft(), on="k")
        streams.append(joined.stage("expensive") if joins % 3 == 0 else joined)
    streams[0].sink_to(Parquet("/out"))
    return env


def steps(operators: int) -> StreamExecutionEnvironment:
    """As many regions of one name as there are operators: every exchange is staged."""
    env = StreamExecutionEnvironment("steps", config={"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"})
    stream = env.from_source(Csv("/in"), "in")
    for _ in range(operators - 2):
        stream = stream.rebalance().filter("k > 0")
    stream.sink_to(Parquet("/out"))
    return env


def fan(operators: int) -> StreamExecutionEnvironment:
    """One source, and half as many targets as there are operators."""
    env = StreamExecutionEnvironment("fan")
    source = env.from_source(Csv("/in"), "in")
    for number in range(operators // 2):
        source.filter(f"k > {number}").sink_to(Parquet(f"/out/{number}")).name(f"out_{number}")
    return env


@pytest.mark.parametrize("operators", [10, 100, 1_000, 10_000])
@pytest.mark.parametrize("shape", [chain, bush])
def test_declare_to_job_graph(
    shape: Callable[[int], StreamExecutionEnvironment], operators: int, benchmark: BenchmarkFixture
) -> None:
    options = PipelineOptions()
    benchmark(lambda: generate_job_graph(shape(operators).get_stream_graph(), options))


@pytest.mark.parametrize("operators", [10, 100, 1_000, 10_000])
@pytest.mark.parametrize("shape", [chain, bush, steps, fan])
def test_declare_and_compile(
    shape: Callable[[int], StreamExecutionEnvironment], operators: int, benchmark: BenchmarkFixture
) -> None:
    benchmark(lambda: compile_pipeline(shape(operators).pipeline()))


@pytest.mark.parametrize("subtasks", [1_000, 4_000, 16_000])
def test_execution_graph_with_regions(subtasks: int, benchmark: BenchmarkFixture) -> None:
    env = StreamExecutionEnvironment("wide", config={"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"})
    source = env.from_source(Csv("/in"), "in").set_parallelism(subtasks)
    source.shuffle().sink_to(Parquet("/out")).set_parallelism(subtasks)
    compiled = compile_pipeline(env.pipeline())

    def build() -> SchedulingTopology:
        graph = build_execution_graph(compiled.job_graph)
        assert graph is not None
        return build_scheduling_topology(compiled.job_graph, graph)

    tracemalloc.start()
    topology = build()
    benchmark.extra_info["MiB"] = round(tracemalloc.get_traced_memory()[0] / 2**20, 1)
    tracemalloc.stop()
    assert len(topology.regions) == 2 * subtasks
    benchmark(build)


@pytest.mark.parametrize("operators", [10, 100, 1_000])
def test_describe_regions(operators: int, benchmark: BenchmarkFixture) -> None:
    compiled = compile_pipeline(bush(operators).pipeline())
    benchmark(lambda: describe_regions(compiled))
