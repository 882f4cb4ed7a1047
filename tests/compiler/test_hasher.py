"""Flink's own ids, from its documentation of the hash and its answers."""

import mmh3

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.job_graph.chaining import chain_breaks
from graph_compiler.compiler.job_graph.hasher import hash_nodes
from graph_compiler.options.model import PipelineOptions


def ids(env: StreamExecutionEnvironment) -> dict[str, str]:
    graph = env.get_stream_graph(clear_transformations=False)
    hashes = hash_nodes(graph, chain_breaks(graph, PipelineOptions()))
    return {graph.node[id].declared_name: operator_id for id, operator_id in hashes.items()}


def test_a_source_with_one_chained_output_has_flinks_id(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    assert ids(env)["in"] == "cbc357ccb763df2852fee8c4fc7d55f2"


def test_a_source_with_no_chained_output_has_flinks_id(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "in").rebalance().sink_to(Parquet("/out"))
    assert ids(env)["in"] == "bc764cd8ddf7a0cff126f51c16239658"


def test_a_uid_alone_decides_the_id() -> None:
    def declare(before: int) -> str:
        env = StreamExecutionEnvironment("p")
        stream = env.from_source(Csv("/in"), "in")
        for _ in range(before):
            stream = stream.filter("x")
        stream.sink_to(Parquet("/out")).name("out").uid("the-sink")
        return ids(env)["out"]

    assert declare(0) == declare(3) == mmh3.hash_bytes(b"the-sink").hex()


def test_names_do_not_change_ids(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x")
    stream.sink_to(Parquet("/out"))
    before = list(ids(env).values())
    stream.name("another")
    assert list(ids(env).values()) == before
