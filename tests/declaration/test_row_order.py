"""The order in which a sink gets its rows: which calls after a sort keep it, and which columns it needs."""

from collections.abc import Callable
from typing import Any

import pytest

from graph_compiler import (
    Csv,
    DataStream,
    InvalidPipelineError,
    Jdbc,
    Parquet,
    Range,
    StreamExecutionEnvironment,
    Table,
)
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.row_order import columns_of, row_orders
from graph_compiler.deployment.describe.region_descriptors import describe_regions

Change = Callable[[DataStream], DataStream]


def declared(change: Change, *order_by: str, **settings: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sorted")
    rows = env.from_source(Range(0, 9), "rows").select(x="id", y="-id", z="id % 2")
    change(rows.sort(*(order_by or ("x",))).name("sorted")).sink_to(Csv("/out"), **settings)
    return env


@pytest.mark.parametrize(("item", "columns"), {
    "x": ["x"], "`x`": ["x"], "`a b` DESC": ["a b"], "`a``b`": ["a`b"], "x DESC NULLS LAST": ["x"],
    "x desc nulls first": ["x"], "lower(x)": ["x"], "lower (x)": ["x"], "x + y * 2": ["x", "y"], "a.b": ["a"],
    "-x": ["x"], "length('x') + y": ["y"], 'concat(y, "x")': ["y"], "x -- y": ["x"], "x /* y */": ["x"],
    ":least - x": ["x"], "x::int": ["x"], "CASE WHEN x IS NULL THEN 1 ELSE y END": ["x", "y"], "end": ["end"],
    "end DESC": ["end"], "start + end": ["start", "end"], "x IN (1, 2) AND NOT y": ["x", "y"], "'it\\'s' || x": ["x"],
    "größe": ["größe"], "`desc`": ["desc"], "date": ["date"], "x[0]": ["x"], "1": [],
    "`delay (min)`": ["delay (min)"], "`a.b` DESC": ["a.b"], "`2013 total`": ["2013 total"], "2013_t": ["2013_t"],
    "`x:y`": ["x:y"], "`x--y`": ["x--y"], "`x/*y`": ["x/*y"], "`1`": ["1"], "`x asc`": ["x asc"], "`it's`": ["it's"],
    "`n NULLS FIRST`": ["n NULLS FIRST"], "`order by` DESC": ["order by"], "`and` + x": ["and", "x"], "`s`.`t`": ["s"],
    "x + `case` + `end`": ["x", "case", "end"], "x + desc": ["x", "desc"], "x + last": ["x", "last"], "x:y": ["x"],
    "`x`DESC": ["x"], "1L + 2.5e3 + 1e-5": [], "first": ["first"], "sum(x) desc nulls last": ["x"],
}.items())  # fmt: skip
def test_the_columns_of_an_order_are_found(item: str, columns: list[str]) -> None:
    assert columns_of(item) == columns


KEPT: dict[str, Change] = {
    "nothing": lambda rows: rows,
    "filter": lambda rows: rows.filter("y < 0"),
    "rejects": lambda rows: rows.filter("y < 0", rejects="no").get_side_output("no"),
    "select": lambda rows: rows.select("y", "x"),
    "another case": lambda rows: rows.select("Y", X="`x`"),
    "with_columns": lambda rows: rows.with_columns(y="x"),
    "drop": lambda rows: rows.drop("y"),
    "rename": lambda rows: rows.rename({"y": "z2"}),
    "cast": lambda rows: rows.cast(y="STRING"),
    "flat_map": lambda rows: rows.flat_map("explode(array(1, 2))", "n"),
    "sample": lambda rows: rows.sample(0.5, seed=1),
    "cache": lambda rows: rows.cache(),
    "expect": lambda rows: rows.expect("known", "x IS NOT NULL"),
    "stage": lambda rows: rows.stage("a reason"),
    "forward": lambda rows: rows.forward(),
    "parallelism": lambda rows: rows.filter("y < 0").set_parallelism(3),
    "a long chain": lambda rows: rows.filter("y < 0").stage("a reason").select("x").cache(),
    "sorted again": lambda rows: rows.sort("x", "y"),
    "top_n": lambda rows: rows.top_n(3, "x"),
}
LOST: dict[str, Change] = {
    "select": lambda rows: rows.select("y"),
    "select an expression": lambda rows: rows.select(x="x + 1"),
    "select under another name": lambda rows: rows.select(x="y", y="x"),
    "a text": lambda rows: rows.select(x="'x'"),
    "with_columns": lambda rows: rows.with_columns(X="-x"),
    "drop": lambda rows: rows.drop("X"),
    "rename": lambda rows: rows.rename({"x": "w"}),
    "rename to it": lambda rows: rows.drop("x").rename({"y": "x"}),
    "cast": lambda rows: rows.cast(x="STRING"),
    "stage": lambda rows: rows.select("y").stage("a reason"),
}
NONE: dict[str, Change] = {
    "rebalance": lambda rows: rows.rebalance(),
    "shuffle": lambda rows: rows.shuffle(),
    "rescale": lambda rows: rows.rescale(),
    "global_": lambda rows: rows.global_(),
    "partition_custom": lambda rows: rows.partition_custom("x"),
    "limit": lambda rows: rows.limit(3),
    "deduplicate": lambda rows: rows.deduplicate("x"),
    "aggregate": lambda rows: rows.key_by("x").aggregate(n="count(*)"),
    "sql": lambda rows: rows.sql("SELECT * FROM {input}"),
    "union": lambda rows: rows.union(rows),
    "join": lambda rows: rows.join(rows.select("x", w="y"), on="x"),
}


@pytest.mark.parametrize("files", [None, 3])
@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_a_sink_knows_the_order_of_its_rows(change: Change, files: int | None) -> None:
    env = declared(change, files=files)
    (order,) = [order for _, order in row_orders(env.pipeline())]
    assert order.lost_at is None
    regions = describe_regions(compile_pipeline(env.pipeline()))
    sinks = [each for region in regions for each in region.operators if each.order_by]
    assert [each.name for each in sinks] == ["Sink"]
    assert sinks[0].order_by == order.order_by


@pytest.mark.parametrize("change", NONE.values(), ids=NONE)
def test_other_calls_end_the_order(change: Change) -> None:
    env = declared(change, files=3)
    assert not list(row_orders(env.pipeline()))
    compile_pipeline(env.pipeline())


@pytest.mark.parametrize("change", LOST.values(), ids=LOST)
def test_files_are_refused_if_the_columns_of_the_order_are_gone(change: Change) -> None:
    env = declared(change, files=3)
    with pytest.raises(InvalidPipelineError, match="sorted by x, files=3 redistributes them") as e:
        compile_pipeline(env.pipeline())
    (problem,) = e.value.problems
    assert problem.operator == "Sink"
    assert "sort after '" in str(problem.hint)


@pytest.mark.parametrize(("change", "words"), [
    (lambda rows: rows.select("y").stage("a reason"), "staged on the way, "),
    (lambda rows: rows.stage("a reason").select("y"), "staged on the way, "),
    (lambda rows: rows.select("y").set_parallelism(2), "set_parallelism(2) of 'Select' redistributes them"),
    (lambda rows: rows.set_parallelism(4).select("y"), "set_parallelism(4) of 'sorted' redistributes them"),
])  # fmt: skip
def test_what_redistributes_rows_is_refused_if_the_columns_are_gone(change: Change, words: str) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(declared(change).pipeline())
    assert [words in problem.message for problem in refused.value.problems] == [True]


@pytest.mark.parametrize("change", [lambda rows: rows.select("y"), lambda rows: rows.drop("x")])
def test_an_order_whose_columns_are_gone_is_left_as_it_is_in_memory(change: Change) -> None:
    regions = describe_regions(compile_pipeline(declared(change).pipeline()))
    assert not [each for region in regions for each in region.operators if each.order_by]


@pytest.mark.parametrize("item", ["1", "ALL", "all DESC", " 2 NULLS LAST "])
def test_an_order_by_place_needs_all_columns(item: str) -> None:
    compile_pipeline(declared(lambda rows: rows.filter("x > 1"), item, files=3).pipeline())
    with pytest.raises(InvalidPipelineError, match="files=3"):
        compile_pipeline(declared(lambda rows: rows.drop("z"), item, files=3).pipeline())


def test_rebalance_after_the_sort_allows_any_files() -> None:
    compile_pipeline(declared(lambda rows: rows.rebalance().select("y"), files=3).pipeline())


def test_each_sink_of_a_sort_is_looked_at() -> None:
    env = StreamExecutionEnvironment("sorted")
    rows = env.from_source(Range(0, 9), "rows").sort("id")
    rows.sink_to(Parquet("/out/a"), files=2).name("a")
    rows.select(n="1").sink_to(Parquet("/out/b"), files=2).name("b")
    rows.rebalance().sink_to(Parquet("/out/c"), files=2).name("c")
    found = {sink.name: order.lost_at is None for sink, order in row_orders(env.pipeline())}
    assert found == {"a": True, "b": False}


@pytest.mark.parametrize(("sink", "settings"), [
    (Table("sold"), {}), (Jdbc("jdbc:postgresql://db/shop", table="sold"), {}),
    (Parquet("/out"), {"mode": "merge", "keys": "y"}),
])  # fmt: skip
def test_other_sinks_have_no_order(sink: Connector, settings: dict[str, Any]) -> None:
    env = StreamExecutionEnvironment("sorted")
    rows = env.from_source(Range(0, 9), "rows").select(x="id", y="-id").sort("x").select("y")
    rows.stage("a reason").sink_to(sink, **settings).set_parallelism(2)
    assert not list(row_orders(env.pipeline()))
    compile_pipeline(env.pipeline())


NAMES = pytest.mark.parametrize("name", ["delay (min)", "a.b", "2013 total", "x:y", "x--y", "1", "x asc", "a`b", "and"])


def of_quoted(name: str, change: Callable[[DataStream, str], DataStream]) -> bool:
    """Return whether the order by a column reaches the sink."""
    env = StreamExecutionEnvironment("sorted")
    quoted = f"`{name.replace('`', '``')}`"
    rows = env.from_source(Range(0, 9), "rows").select(**{name: "id", "other": "id", "a": "named_struct('b', -id)"})
    change(rows.sort(quoted), quoted).sink_to(Csv("/out"), files=1)
    (order,) = [order for _, order in row_orders(env.pipeline())]
    return order.lost_at is None


@NAMES
def test_a_changed_column_is_not_sorted_by_whatever_its_name_is(name: str) -> None:
    assert not of_quoted(name, lambda rows, quoted: rows.with_columns({name: f"-{quoted}"}))
    assert not of_quoted(name, lambda rows, quoted: rows.select(**{name: f"-{quoted}"}))
    assert not of_quoted(name, lambda rows, _: rows.drop(name))


@NAMES
def test_a_column_that_is_kept_is_sorted_by_whatever_its_name_is(name: str) -> None:
    assert of_quoted(name, lambda rows, _: rows.with_columns(other="1"))
    assert of_quoted(name, lambda rows, quoted: rows.select(**{name: f" {quoted} "}))
    assert of_quoted(name, lambda rows, _: rows.select(name))


def test_a_field_is_no_column_that_is_called_so() -> None:
    assert not of_quoted("a.b", lambda rows, _: rows.select(**{"a.b": "a.b"}))
