"""Operators with contradictory fields are refused where they are declared, with a clear message."""

from collections.abc import Callable

import pytest

from graph_compiler import (
    Csv,
    DataStream,
    InvalidPipelineError,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    param,
)
from graph_compiler.compiler.pipeline_compiler import compile_pipeline

Declare = Callable[[DataStream], DataStream]
HOURS = TumblingEventTimeWindows("t", "1 hour")

AT_COMPILE_TIME: list[tuple[str, Declare, str]] = [
    ("a name given twice", lambda s: s.select("a", A="b"), "two of its columns are called 'A'"),
    ("nothing dropped", lambda s: s.drop(), "it names no columns"),
    ("nothing renamed", lambda s: s.rename({}), "it names no columns"),
    ("renamed to one name", lambda s: s.rename({"a": "x", "b": "X"}), "are called 'X'"),
    ("nothing cast", lambda s: s.cast(), "it names no columns"),
    ("lengths in a list", lambda s: s.cast(a="ARRAY<VARCHAR(2)>"), "not check the length of texts in 'a'"),
    ("a length in a struct", lambda s: s.cast(a="STRUCT<b: INT, c: char (2)>"), "not check the length of texts in 'a'"),
    ("lengths in a map", lambda s: s.cast(a="MAP<INT, CHARACTER(2)>"), "not check the length of texts in 'a'"),
    ("a length with a collation", lambda s: s.cast(a="VARCHAR(2) COLLATE UTF8_LCASE"), "not check the length of texts"),
    ("a generator into nothing", lambda s: s.flat_map("explode(a)"), "names no output columns"),
    ("more than all", lambda s: s.sample(1.5), "its fraction is 1.5, not between 0 and 1"),
    ("no order", lambda s: s.sort(), "it has no order"),
    ("top of no order", lambda s: s.top_n(3), "it has no order"),
    ("less than nothing", lambda s: s.limit(-1), "it keeps -1 rows"),
    ("order among equals", lambda s: s.deduplicate(order_by="a"), "it has an order but no keys"),
    ("a set of others", lambda s: s.key_by("a").grouping_sets("b").aggregate(n="count(*)"), "its grouping sets use b"),
    ("a window of nothing", lambda s: s.window_all(HOURS).aggregate(), "it has no columns"),
    ("nothing of all", lambda s: s.aggregate(), "it has no columns"),
    ("a join of nothing", lambda s: s.join(s), "to pair all rows, use how='cross'"),
    ("a cross join on keys", lambda s: s.join(s, on="a", how="cross"), "a cross join takes neither"),
    ("an input the query ignores", lambda s: s.sql("SELECT 1"), "does not read {input}"),
    (
        "an input that is not there",
        lambda s: s.sql("SELECT * FROM {input}, {other}"),
        "its query reads {other}; its inputs are {input}",
    ),
    (
        "several partitions of one",
        lambda s: s.limit(3).set_parallelism(2),
        "its parallelism is 2, but all its rows go through one",
    ),
    ("an empty type", lambda s: s.cast(a=" "), "it has an empty expression"),
    ("a template in an order", lambda s: s.sort("{{ params.x }}"), "contains the template"),
    ("no key", lambda s: s.expect_unique("c"), "it names no columns"),
    ("in by nothing", lambda s: s.expect_in("c", s, ()), "it has no columns"),
    ("no limit", lambda s: s.expect_rows("c"), "it has no limit"),
    ("less than no rows", lambda s: s.expect_rows("c", at_most=-1), "its at_most is -1"),
    ("no number at all", lambda s: s.expect_rows("c", at_least=2, at_most=1), "no number of rows is at least 2 and at"),
    ("a share of all", lambda s: s.expect("c", "a > 1", max_share=1), "its max_share is 1.0"),
    ("a share below zero", lambda s: s.expect_unique("c", "a", max_share=-0.1), "its max_share is -0.1"),
    ("no interval", lambda s: s.expect_fresh("c", "a", "2"), "its within is '2'"),
    ("an interval of the future", lambda s: s.expect_fresh("c", "a", "-2 days"), "its within is '-2 days'"),
    (
        "a limit nobody declared",
        lambda s: s.expect_rows("c", at_least=param("most")),
        "parameter 'most' is not declared",
    ),
    ("a second statement", lambda s: s.expect_same("c", s, "count(*); DROP TABLE x"), "has several statements"),
    ("a parameter nobody declared", lambda s: s.expect("c", "a > :least"), "parameter 'least' is not declared"),
]


@pytest.fixture
def stream(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Csv("/in"), "in")


@pytest.mark.parametrize(
    ("declare", "words"), [case[1:] for case in AT_COMPILE_TIME], ids=[case[0] for case in AT_COMPILE_TIME]
)
def test_an_incomplete_operator_is_refused_with_its_name_and_line(
    declare: Declare, words: str, stream: DataStream
) -> None:
    declare(stream).name("odd")
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(stream.environment.pipeline())
    assert f"odd: {words}" in str(refusal.value) or words in str(refusal.value)
    assert __file__ in str(refusal.value)


AT_DECLARATION: list[tuple[str, Declare, str]] = [
    ("two actions", lambda s: s.expect("c", "a", on_violation="drop", to="x"), "contract 'c' has both"),
    (
        "an unknown action",
        lambda s: s.expect("c", "a", on_violation="ignore"),  # type: ignore[arg-type]
        "allowed: warn, drop and fail",
    ),
    ("an unknown level", lambda s: s.cache("DISC"), "allowed: MEMORY_ONLY"),  # type: ignore[arg-type]
    (
        "unknown batches",
        lambda s: s.map_partitions(print, "a INT", batches="rows"),  # type: ignore[arg-type]
        "allowed: pandas and arrow",
    ),
    ("an unknown reduction", lambda s: s.key_by("a").reduce(b="median"), "aggregate(…) takes any expression"),
    (
        "near in time and nothing else",
        lambda s: s.interval_join(s, [], times=("a", "b"), lower="0", upper="1"),
        "interval_join was given no key",
    ),
    ("no stream", lambda s: s.environment.sql("SELECT 1"), "sql needs at least one stream"),
    ("what is no stream", lambda s: s.connect("orders").transform(len), "it was given 'orders'"),  # type: ignore[arg-type]
    (
        "a lambda in a loop",
        lambda s: s.iterate(lambda rows: rows, max_iterations=1),
        "iterate cannot take this function",
    ),
]


@pytest.mark.parametrize(
    ("declare", "words"), [case[1:] for case in AT_DECLARATION], ids=[case[0] for case in AT_DECLARATION]
)
def test_an_invalid_argument_is_refused_at_once(declare: Declare, words: str, stream: DataStream) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        declare(stream)
    assert words in str(refusal.value)
