"""An operator's name finds its output, or the error lists the existing names."""

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.graphs.operator_names import OperatorNotFoundError, find_output, find_sink
from graph_compiler.graphs.stream_graph import StreamGraph


@pytest.fixture
def graph(env: StreamExecutionEnvironment) -> StreamGraph:
    """lines → kept (uid keep-1, rejects) → two operators with the name twice, and sinks kept and out."""
    kept = env.from_source(Csv("/in"), "lines").filter("v > 0", rejects="bad").name("kept")
    kept.uid("keep-1").sink_to(Parquet("/out/kept")).name("kept")
    for number in (1, 2):
        kept.limit(number).name("twice").sink_to(Parquet(f"/out/{number}")).name("out")
    return compile_pipeline(env.pipeline()).stream_graph


@pytest.mark.parametrize(
    ("name", "found", "tag"),
    [
        ("lines", "lines", None),
        ("kept", "kept", None),
        ("keep-1", "kept", None),
        ("kept.bad", "kept", "bad"),
        ("keep-1.bad", "kept", "bad"),
    ],
)
def test_a_name_a_uid_and_a_side_output_are_found(name: str, found: str, tag: str | None, graph: StreamGraph) -> None:
    output = find_output(graph, name)
    assert (output.node.declared_name, output.tag, output.is_sink) == (found, tag, False)


def test_a_sink_named_like_an_operator_is_found_as_a_sink(graph: StreamGraph) -> None:
    assert find_sink(graph, "kept").id != find_output(graph, "kept").node.id


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linse", "has no operator 'linse'\n  allowed: lines, kept, kept.bad, "),
        ("linse", "did you mean 'lines'?"),
        ("bad", "did you mean 'kept.bad'?"),
        ("twice", "has 2 operators called 'twice'\n  found: "),
        ("twice", "hint: give the one you mean its own name or uid"),
    ],
)
def test_missing_and_ambiguous_names_are_reported(name: str, words: str, graph: StreamGraph) -> None:
    with pytest.raises(OperatorNotFoundError) as refused:
        find_output(graph, name)
    assert words in str(refused.value)


def test_problems_of_sinks_say_sink(graph: StreamGraph) -> None:
    with pytest.raises(OperatorNotFoundError, match="has no sink 'lines'\n  allowed: kept, out and out"):
        find_sink(graph, "lines")
    with pytest.raises(OperatorNotFoundError, match="has 2 operators called 'out'"):
        find_sink(graph, "out")
