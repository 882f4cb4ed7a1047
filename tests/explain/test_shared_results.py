"""Which results are computed once for several reports, by what is declared."""

from collections.abc import Callable

import pytest

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.windows import TumblingEventTimeWindows
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import SharedResult
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text

Declare = Callable[[DataStream], DataStream]
DAYS = TumblingEventTimeWindows("ts", "1 day")
WORDS = "computed once for its {} readers, and staged with the columns that they read"


def joined(env: StreamExecutionEnvironment) -> DataStream:
    customers = env.from_source(Parquet("/customers"), "customers")
    return env.from_source(Parquet("/orders"), "orders").join(customers, on="id").name("shared")


def totals(stream: DataStream, *keys: str) -> DataStream:
    return stream.key_by(*(keys or ("country",))).aggregate(amount="sum(amount)")


def words_of(stream: DataStream, *reports: DataStream) -> str | None:
    for number, report in enumerate(reports):
        report.sink_to(Parquet(f"/out/{number}")).name(f"out_{number}")
    plan = plan_of(compile_pipeline(stream.environment.pipeline()))
    (found,) = (one for one in plan.operators if one.name == "shared")
    text = explain_text(plan)
    assert (found.staged_once or "") in text
    assert ("read from the copy that is staged" in text) == (found.staged_once is not None)
    return found.staged_once


COSTLY: dict[str, Declare] = {
    "join": lambda stream: stream,
    "filter": lambda stream: stream.filter("amount > 1"),
    "totals": lambda stream: stream.key_by("id", "country").aggregate(amount="sum(amount)"),
    "deduplicated": lambda stream: stream.deduplicate("id", order_by="amount"),
}
"""What the reports read, behind a join."""


@pytest.mark.parametrize("declare", COSTLY.values(), ids=COSTLY.keys())
def test_what_three_reports_read_is_computed_once(declare: Declare) -> None:
    env = StreamExecutionEnvironment("p")
    shared = declare(joined(env).name("joined")).name("shared")
    reports = [totals(shared, key) for key in ("country", "day", "product")]
    assert words_of(shared, *reports) == WORDS.format(3)


READERS: dict[str, Declare] = {
    "count(*)": lambda stream: stream.key_by("day").aggregate(n="count(*)"),
    "a product": lambda stream: stream.key_by("day").aggregate(v="sum(price * amount)"),
    "a part of a date": lambda stream: stream.key_by("day").aggregate(v="max(extract(HOUR FROM ts))"),
    "a text": lambda stream: stream.key_by("day").aggregate(v="max('SELECT * FROM t')"),
    "all rows": lambda stream: stream.aggregate(n="count(*)"),
    "a window": lambda stream: stream.key_by("day").window(DAYS).aggregate(n="count(*)"),
    "sorted": lambda stream: totals(stream).sort("amount DESC"),
    "the first": lambda stream: totals(stream).top_n(3, "amount DESC, country"),
    "totals of totals": lambda stream: totals(totals(stream, "country", "day")),
    "contracts": lambda stream: totals(stream).expect("some", "amount > 0").expect_rows("enough", at_least=1),
    "a column more": lambda stream: totals(stream).with_columns(more="amount + 1"),
}


@pytest.mark.parametrize("declare", READERS.values(), ids=READERS.keys())
def test_all_rows_are_read_by(declare: Declare) -> None:
    shared = joined(StreamExecutionEnvironment("p"))
    assert words_of(shared, declare(shared), totals(shared, "a"), totals(shared, "b")) == WORDS.format(3)


OTHERS: dict[str, Declare] = {
    "a sink": lambda stream: stream,
    "a condition before": lambda stream: totals(stream.filter("day = 1")),
    "a condition on keys": lambda stream: totals(stream).filter("country = 'de'"),
    "a contract that drops rows": lambda stream: totals(stream).expect("some", "amount > 0", on_violation="drop"),
    "a contract with a table": lambda stream: totals(stream).expect_in(
        "known", stream.environment.from_source(Parquet("/countries"), "countries"), on="country"
    ),
    "a join behind": lambda stream: totals(stream).join(
        stream.environment.from_source(Parquet("/countries"), "countries"), on="country"
    ),
    "all columns": lambda stream: stream.key_by("day").aggregate(v="max(struct(*))"),
    "all columns, each row once": lambda stream: stream.key_by("day").aggregate(v="count(DISTINCT *)"),
    "all columns of all rows": lambda stream: stream.key_by("day").aggregate(v="count(ALL *)"),
    "all columns of a table": lambda stream: stream.key_by("day").aggregate(v="count(t.*)"),
    "a name in a text": lambda stream: stream.key_by("day").aggregate(v="max(IDENTIFIER('am' || 'ount'))"),
    "a query": lambda stream: stream.key_by("day").aggregate(v="max((SELECT 1))"),
    "a variable": lambda stream: stream.key_by("day").aggregate(v="max(${x})"),
    "a file's size": lambda stream: stream.key_by("day").aggregate(v="max(_metadata.file_size)"),
    "a staged result": lambda stream: totals(stream.stage("dear")),
    "what is pipelined": lambda stream: totals(stream.pipelined("small")),
}
"""A fourth reader because of which the three others compute the rows, too."""


@pytest.mark.parametrize("declare", OTHERS.values(), ids=OTHERS.keys())
def test_each_reader_computes_what_is_read_in_another_way_too(declare: Declare) -> None:
    shared = joined(StreamExecutionEnvironment("p"))
    reports = [totals(shared, key) for key in ("a", "b", "c")]
    assert words_of(shared, declare(shared), *reports) is None


def test_two_readers_compute_it_twice() -> None:
    shared = joined(StreamExecutionEnvironment("p"))
    assert words_of(shared, totals(shared, "a"), totals(shared, "b")) is None


def test_what_moves_no_rows_is_computed_for_each_reader() -> None:
    env = StreamExecutionEnvironment("p")
    few = env.from_source(Parquet("/few"), "few").broadcast()
    shared = env.from_source(Parquet("/orders"), "orders").join(few, on="id").filter("amount > 1").name("shared")
    assert words_of(shared, *(totals(shared, key) for key in ("a", "b", "c"))) is None


@pytest.mark.parametrize(
    "config",
    [
        {"execution.shared-results": "false"},
        {"execution.batch-shuffle-mode": "ALL_EXCHANGES_PIPELINED"},
        {"execution.runtime-mode": "STREAMING"},
    ],
)
def test_options_forbid_it(config: dict[str, str]) -> None:
    shared = joined(StreamExecutionEnvironment("p", config=config))
    assert words_of(shared, *(totals(shared, key) for key in ("a", "b", "c"))) is None


def test_the_names_are_those_of_what_is_read() -> None:
    shared = joined(StreamExecutionEnvironment("p"))
    words_of(shared, *(totals(shared, f"key_{number}") for number in range(3)))
    (region,) = describe_regions(compile_pipeline(shared.environment.pipeline()))
    (found,) = region.computed_once
    assert found.columns(["id", "AMOUNT", "key_1", "key_3", "note"]) == ["AMOUNT", "key_1"]
    assert found.columns(["id", "note"]) == ["id"]
    assert found.columns([]) == []


def test_names_are_compared_as_spark_does() -> None:
    shared = SharedResult(node_id=1, readers=3, names=("k", "ı"))
    assert shared.columns(["\N{KELVIN SIGN}", "I", "j"]) == ["\N{KELVIN SIGN}", "I"]
