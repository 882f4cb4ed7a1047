"""Each operator of drawn pipelines can be declared, and the checks of its rows see lost, doubled and other rows."""

import pytest

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from tests.machine.of_rows.keys import KEYS
from tests.machine.of_rows.operations import OPERATIONS, SPLITS, Pair, why_not_expected

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Rows = list[Pair]


def source(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Values([("a", 1)], "k STRING, v BIGINT"), "in").select("k", "v")


@pytest.mark.parametrize("name", [*OPERATIONS, *SPLITS])
@pytest.mark.parametrize("n", range(5))
def test_each_operator_can_be_declared(name: str, n: int) -> None:
    env = StreamExecutionEnvironment("p")
    rows = source(env)
    if name in SPLITS:
        outputs = SPLITS[name](rows, "v > 1")
    else:
        operation = OPERATIONS[name]
        outputs = (operation.declare(*[rows] * operation.inputs, n),) * 2
    outputs[0].name("made")
    for number, stream in enumerate(outputs):
        stream.sink_to(Parquet(f"/out/{number}")).name(f"out_{number}")
    names = [node.name for node in compile_pipeline(env.pipeline()).stream_graph.nodes]
    assert "made" in names


IN: Rows = [("0.0", 1), ("-0.0", 2), ("1.5", None), (None, 3)]
"""Two keys of them are equal."""


@pytest.mark.parametrize(
    ("name", "n", "inputs", "found", "is_expected"),
    [
        ("aggregate", 0, [IN], [("0.0", 2), ("1.5", 0), (None, 1)], True),
        ("aggregate", 0, [IN], [("-0.0", 2), ("1.5", 0), (None, 1)], True),
        ("aggregate", 0, [IN], [("0.0", 1), ("-0.0", 1), ("1.5", 0), (None, 1)], False),
        ("aggregate", 1, [IN], [("0.0", 3), ("1.5", None), (None, 3)], True),
        ("window", 0, [IN], [("0.0", 2), ("-0.0", 2), ("1.5", 1), (None, 1)], True),
        ("window", 1, [IN], [("0.0", 1), ("-0.0", 1), ("1.5", 1), (None, 1)], False),
        ("distinct", 0, [[("0.0", 1), ("-0.0", 1)]], [("0.0", 1)], True),
        ("deduplicate", 0, [IN], [("0.0", 1), ("1.5", None), (None, 3)], True),
        ("any of a key", 0, [IN], [("-0.0", 2), ("1.5", None), (None, 3)], True),
        ("any of a key", 0, [IN], [("0.0", 1), ("-0.0", 2), ("1.5", None), (None, 3)], False),
        ("any of a key", 0, [IN], [("0.0", 7), ("1.5", None), (None, 3)], False),
        ("limit", 1, [IN], IN[1:3], True),
        ("limit", 1, [IN], [("0.0", 2), ("1.5", None)], False),
        ("top", 1, [IN], [("1.5", None), ("0.0", 1)], True),
        ("top", 1, [IN], [("0.0", 1), ("-0.0", 2)], False),
        ("sort", 0, [IN], IN[::-1], True),
        ("sort", 0, [IN], [("0.0", 1), ("0.0", 2), ("1.5", None), (None, 3)], False),
        ("intersect", 0, [IN, [("0.0", 2)]], [("-0.0", 2)], True),
        ("except", 1, [[("a", 1), ("a", 1)], [("a", 1)]], [("a", 1)], True),
        ("except", 0, [[("a", 1), ("a", 1)], [("a", 1)]], [], True),
        ("join", 0, [IN, [("0.0", 5), (None, 5)]], [("0.0", 15), ("-0.0", 25)], True),
        ("join", 0, [IN, [("0.0", 5), (None, 5)]], [("0.0", 15)], False),
        ("join", 2, [IN, [("0.0", 5)]], IN[:2], True),
        ("join", 3, [IN, [("0.0", 5)]], IN[2:], True),
        ("join", 4, [[("a", 1)], [("b", 2), (None, 3)]], [("a", 10), ("b", 2), (None, 3)], True),
        ("union", 0, [IN, IN], [*IN, *IN], True),
        ("union", 0, [IN, IN], IN, False),
    ],
)
def test_rows_are_compared_with_what_an_operator_makes(
    name: str, n: int, inputs: list[Rows], found: Rows, is_expected: bool
) -> None:
    same = {"-0.0": "0.0"}
    wrong = why_not_expected(OPERATIONS[name], n, inputs, found, lambda k: same.get(k or "", k))
    assert (wrong is None) is is_expected, wrong


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if key.stored is not None])
def test_texts_of_keys_are_values_of_files(name: str) -> None:
    key = KEYS[name]
    assert key.stored is not None
    values = key.stored(key.texts)
    assert [value.is_valid for value in values] == [text is not None for text in key.texts]
