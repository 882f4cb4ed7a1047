"""Declared partitioners, and how a plan and a fingerprint describe them."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.partitioners import (
    CustomPartitioner,
    FunctionPartitioner,
    HashPartitioner,
    RangePartitioner,
)
from graph_compiler.deployment.describe.fingerprints import digests_of, facts_of, fingerprints
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.errors import InvalidPipelineError


def by_hub(hub: str, partitions: int) -> int:
    return len(hub) % partitions


REF = FunctionRef(module="pipelines.flights", name="by_hub", source_digest="aa")


@pytest.fixture
def stream(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Csv("/in/a.csv"), "a")


@pytest.mark.parametrize(
    ("partitioner", "label"),
    [
        (HashPartitioner(("a", "b"), 1), "hash(a, b)"),
        (HashPartitioner((), 1), "hash(all columns)"),
        (RangePartitioner(("a", "b DESC")), "range(a, b DESC)"),
        (CustomPartitioner("a % 3", 1), "custom(a % 3)"),
        (FunctionPartitioner(REF, ("a", "b"), 1), "custom(pipelines.flights:by_hub of a, b)"),
    ],
)
def test_partitioners_have_labels_and_survive_serialization(
    partitioner: HashPartitioner | RangePartitioner | CustomPartitioner | FunctionPartitioner, label: str
) -> None:
    assert partitioner.label == label
    assert from_wire(type(partitioner), to_wire(partitioner)) == partitioner


def test_a_function_or_an_expression_picks_the_partition(stream: DataStream, env: StreamExecutionEnvironment) -> None:
    stream.partition_custom("a % 3").filter("a > 1")
    stream.partition_custom(by_hub, "origin", "dest").filter("a > 1")
    expression, function = (edge.partitioner for edge in env.get_stream_graph().edges)
    assert isinstance(expression, CustomPartitioner)
    assert isinstance(function, FunctionPartitioner)
    assert (function.function.name, function.keys) == ("by_hub", ("origin", "dest"))
    assert expression.name == function.name == "CUSTOM"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a % 3", "a"), "partition_custom was given an expression, and the columns a"),
        ((by_hub,), "partition_custom was given a function, and as its key columns nothing"),
        ((by_hub, 3), "partition_custom was given 3 among its keys"),
        ((lambda key, _: key, "a"), "partition_custom cannot take this function: a lambda has no name"),
    ],
)
def test_invalid_partitioner_arguments_are_refused(
    stream: DataStream, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        stream.partition_custom(*arguments)
    assert message in str(refusal.value)
    assert "allowed: " in str(refusal.value)


def test_changing_the_functions_source_changes_the_fingerprint() -> None:
    digests = []
    for digest in ("aa", "aa", "bb"):
        env = StreamExecutionEnvironment("p")
        stream = env.from_source(Csv("/in/a.csv"), "a")
        ref = FunctionRef(module="m", name="f", source_digest=digest)
        stream._partition(FunctionPartitioner(ref, ("a",), 2)).filter("a > 1")
        graph = env.get_stream_graph()
        digests.append(list(fingerprints(graph, digests_of(facts_of(graph)), {}).values())[-1])
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda rows: rows.rebalance(), "rebalance"),
        (lambda rows: rows.shuffle(), "shuffle"),
        (lambda rows: rows.rescale(), "rescale"),
        (lambda rows: rows.forward(), "forward"),
        (lambda rows: rows.broadcast(), "broadcast"),
        (lambda rows: rows.global_(), "global_"),
        (lambda rows: rows.partition_custom("a"), "partition_custom"),
    ],
)
def test_a_call_that_would_undo_key_by_is_refused(
    call: Callable[[DataStream], DataStream], name: str, stream: DataStream
) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        call(stream.key_by("a", "b"))
    (problem,) = refusal.value.problems
    assert problem.message == f"{name}() follows key_by(a and b), which would have no effect"
    assert problem.hint == f"remove key_by, or call {name}() before it"


def test_key_by_may_follow_another_partition(stream: DataStream) -> None:
    stream.rebalance().key_by("a").key_by("b").aggregate(n="count(*)")
