"""Operators that emit only when their input has ended: those of the corpus, as Flink says, and ours that sort."""

import json

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.explain.documents.graph_json import stream_graph_json
from tests.conformance.facts import load
from tests.conformance.topology import compile_topology

FLINKS = {"full_window_partition": ["MapPartition"], "full_window_partition_chained": ["MapPartition"]}
"""The operators of each topology whose StreamNode has isOutputOnlyAfterEndOfStream, in Flink's answers."""


def after_end(graph: object) -> list[str]:
    nodes = json.loads(json.dumps(graph))["nodes"]
    return [node["name"] for node in nodes if node["output_only_after_eos"]]


def test_the_operators_of_the_corpus_say_what_flinks_say() -> None:
    answers = ((name, compile_topology(spec)) for name, (spec, _) in load().items() if "partition" in name)
    assert {name: found for name, one in answers if (found := after_end(one["stream_graph"]))} == FLINKS


def test_sort_and_top_n_say_it_and_limit_does_not() -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema="x INT"), "in")
    rows.sort("x").name("sorted").limit(3).sink_to(Parquet("/one")).name("one")
    rows.top_n(3, "x").name("top").filter("x > 1").sink_to(Parquet("/two")).name("two")
    compiled = compile_pipeline(env.pipeline())
    assert after_end(stream_graph_json(compiled.stream_graph, compiled.options)) == ["sorted", "top"]
