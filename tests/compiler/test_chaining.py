"""A table of edges, each with the reason why it is not inside a chain."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.job_graph.chaining import ChainBreak, why_not_chainable
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.reader import read_options

Declare = Callable[[DataStream], DataStream]

CASES: list[tuple[str, Declare, ChainBreak | None]] = [
    ("plain", lambda s: s.filter("x"), None),
    ("hash", lambda s: s.key_by("x").aggregate(n="count(*)"), ChainBreak.NOT_FORWARD),
    ("rebalance", lambda s: s.rebalance().filter("x"), ChainBreak.NOT_FORWARD),
    ("rescale", lambda s: s.rescale().filter("x"), ChainBreak.NOT_FORWARD),
    ("broadcast", lambda s: s.broadcast().filter("x"), ChainBreak.NOT_FORWARD),
    ("explicit forward", lambda s: s.forward().filter("x"), None),
    ("staged", lambda s: s.stage("dear").filter("x"), ChainBreak.STAGED),
    ("chaining disabled on it", lambda s: s.filter("x").disable_chaining(), ChainBreak.CONSUMER_STARTS_A_CHAIN),
    ("new chain", lambda s: s.filter("x").start_new_chain(), ChainBreak.CONSUMER_STARTS_A_CHAIN),
    ("parallelism", lambda s: s.rescale().filter("x").set_parallelism(2), ChainBreak.NOT_FORWARD),
    ("slot sharing group", lambda s: s.filter("x").slot_sharing_group("big"), ChainBreak.SLOT_SHARING_GROUP_DIFFERS),
    ("union", lambda s: s.union(s).filter("x"), ChainBreak.SEVERAL_INPUTS),
    ("side output", lambda s: s.filter("x", rejects="no").get_side_output("no").filter("y"), None),
]


@pytest.mark.parametrize(("declare", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_edge_has_the_expected_reason_not_to_be_chained(
    env: StreamExecutionEnvironment, declare: Declare, expected: ChainBreak | None
) -> None:
    declare(env.from_source(Csv("/in"), "in")).sink_to(Parquet("/out"))
    graph = env.get_stream_graph()
    assert why_not_chainable(graph.edges[0], graph, PipelineOptions()) == expected


def test_an_operator_can_disable_chaining(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "in").filter("x").disable_chaining().sink_to(Parquet("/out"))
    graph = env.get_stream_graph()
    assert why_not_chainable(graph.edges[1], graph, PipelineOptions()) is ChainBreak.PRODUCER_NEVER_CHAINS


def test_a_pipeline_can_disable_chaining(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    graph = env.get_stream_graph()
    options, _ = read_options((("pipeline.operator-chaining.enabled", "false"),))
    assert why_not_chainable(graph.edges[0], graph, options) is ChainBreak.CHAINING_DISABLED


def test_all_exchanges_pipelined_overrides_a_request_to_stage(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "in").stage("dear").sink_to(Parquet("/out"))
    graph = env.get_stream_graph()
    options, _ = read_options((("execution.batch-shuffle-mode", "ALL_EXCHANGES_PIPELINED"),))
    assert why_not_chainable(graph.edges[0], graph, options) is None
