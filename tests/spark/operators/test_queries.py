"""SQL text over DataFrames."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import (
    Aggregate,
    Cast,
    Deduplicate,
    Expect,
    Filter,
    FlatMap,
    Join,
    JoinType,
    OnViolation,
    Operator,
    Select,
    Sort,
    TopN,
    WithColumns,
)
from graph_compiler.declaration.sql_text import order_problems
from graph_compiler.spark_runtime.operators.scope import Scope, main_output, query_over, query_over_views
from graph_compiler.spark_runtime.spark_internals import parsed_queries
from graph_compiler.spark_runtime.spark_internals.parsed_queries import (
    NotAQueryError,
    check_syntax,
    parsed_query,
    require_expression,
    require_order,
    require_type,
)
from tests.harness.sql_texts import COMMANDS, QUERIES, commands, queries

pytestmark = [pytest.mark.spark, pytest.mark.ci]

QUERY = "SELECT l.id, r.id * 10 AS ten FROM t AS l INNER JOIN t AS r ON l.id = r.id WHERE l.id > :x"


def test_query_names_are_replaced_by_the_inputs_rows(spark: SparkSession) -> None:
    tables = {"t": spark.range(5)}
    direct, by_views = (
        function(tables, QUERY, {"x": 2, "unused": "o'clock"}, spark) for function in (query_over, query_over_views)
    )
    assert direct.collect() == by_views.collect() == [(3, 30), (4, 40)]
    assert direct.schema == by_views.schema
    assert "View" not in direct._jdf.queryExecution().analyzed().toString()
    assert not spark.catalog.tableExists("t")


def test_a_spark_with_other_classes_gets_views(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(spark: SparkSession, name: str) -> Any:
        return getattr(spark._jvm, f"no.such.{name}")

    monkeypatch.setattr(parsed_queries, "java_class", missing)
    found = query_over({"t": spark.range(5)}, QUERY, {"x": 2}, spark)
    assert found.collect() == [(3, 30), (4, 40)]
    assert not spark.catalog.tableExists("t")


def test_an_unbound_parameter_is_named(spark: SparkSession) -> None:
    for parameters in ({}, {"x": 1}):
        with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER.*: y"):
            query_over({"t": spark.range(5)}, "SELECT :y FROM t", parameters, spark)


def is_query(text: str, spark: SparkSession) -> bool:
    """Whether the text has a plan; nothing is analyzed."""
    try:
        parsed_query(text, {}, spark)
    except (NotAQueryError, ParseException):
        return False
    return True


@pytest.mark.parametrize("text", QUERIES)
def test_sparks_parser_takes_the_queries(text: str, spark: SparkSession) -> None:
    assert is_query(text, spark)


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_is_refused_though_sparks_parser_takes_it(text: str, spark: SparkSession) -> None:
    check_syntax(text, spark)
    with pytest.raises(NotAQueryError, match="not a query"):
        parsed_query(text, {}, spark)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(queries, commands)
def test_the_lexer_and_sparks_parser_agree(spark: SparkSession, query: str, command: str) -> None:
    assert is_query(query, spark)
    assert not is_query(command, spark)


def test_a_command_that_only_spark_knows_is_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_queries, "query_problem", lambda _text: None)
    for text, name in (("CACHE TABLE x", "CacheTable"), ("BEGIN SELECT 1; END", "CompoundBody")):
        with pytest.raises(NotAQueryError, match=rf"its SQL is a command \({name}\), not a query"):
            parsed_query(text, {}, spark)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return a file of somebody else, in a folder that commands would overwrite."""
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "kept.csv").write_text("1\n2\n3\n")
    return tmp_path / "archive" / "kept.csv"


OVERWRITES = (
    "INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT id FROM t",
    "insert /* SELECT */ overwrite local directory '{folder}' using csv TABLE t",
    "WITH a AS (SELECT id FROM t) INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT * FROM a",
    "FROM t INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT id",
    "EXECUTE IMMEDIATE \"INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT 1\"",
    "BEGIN INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT 1; END",
    "CREATE TABLE made USING csv LOCATION '{folder}' AS SELECT 1 AS a",
    "SELECT id FROM t; INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT 1",
    "SELECT * FROM (INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT 1)",
    "${{spark.test.overwrite}} DIRECTORY '{folder}' USING csv SELECT 1",
    "SELECT id FROM t WHERE (\ntrue); INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT (1\n)",
)
"""Each of them would replace the file, or tries to."""


@pytest.mark.parametrize("query", [query_over, query_over_views])
@pytest.mark.parametrize("parameters", [{}, {"x": 1}], ids=["", "with a parameter"])
@pytest.mark.parametrize("text", OVERWRITES)
def test_no_command_is_executed(
    text: str, parameters: dict[str, int], query: Callable[..., DataFrame], archive: Path, spark: SparkSession
) -> None:
    spark.conf.set("spark.test.overwrite", "INSERT OVERWRITE")
    before = archive.stat()
    with pytest.raises((NotAQueryError, ParseException)):
        query({"t": spark.range(3)}, text.format(folder=archive.parent), parameters, spark)
    assert archive.stat() == before
    assert list(archive.parent.iterdir()) == [archive]
    assert not spark.catalog.tableExists("made")


def test_one_of_these_commands_would_have_replaced_the_file(archive: Path, spark: SparkSession) -> None:
    spark.sql(OVERWRITES[0].format(folder=archive.parent).replace("FROM t", "FROM range(3) AS t"))
    assert not archive.exists()


def test_a_variable_of_spark_may_contain_a_query(spark: SparkSession) -> None:
    spark.conf.set("spark.test.query", "SELECT id FROM t")
    for query in (query_over, query_over_views):
        found = query({"t": spark.range(2)}, "${spark.test.query} WHERE id > 0;", {}, spark)
        assert found.collect() == [(1,)]


PLACES = {
    "SELECT id FROM t WHERE id < :x ;": 2,
    "SELECT id FROM t LIMIT :x; -- :y": 2,
    "SELECT CAST(id AS DECIMAL(:x, 1)) FROM t LIMIT 3": 3,
    "SELECT id FROM t WHERE timestamp_seconds(0) < timestamp_seconds(id) - INTERVAL :x SECOND": 2,
    "SELECT id FROM t TABLESAMPLE (:x ROWS)": 2,
}


@pytest.mark.parametrize("text", PLACES)
def test_a_parameter_may_be_where_spark_needs_a_value_to_parse(text: str, spark: SparkSession) -> None:
    for query in (query_over, query_over_views):
        rows = query({"t": spark.range(5)}, text, {"x": 2, "unused": "'; DROP"}, spark)
        assert rows.count() == PLACES[text]


def test_a_name_may_be_given_to_identifier(spark: SparkSession) -> None:
    """Spark 4.1 finds such a table when it analyzes the query."""
    for text in ("SELECT :x FROM IDENTIFIER('t') LIMIT 1", "SELECT :x FROM IDENTIFIER('T' || '') LIMIT 1"):
        assert query_over_views({"t": spark.range(5)}, text, {"x": 2}, spark).collect() == [(2,)]


def test_calls_of_java_are_only_made_for_rows(spark: SparkSession) -> None:
    text = "SELECT java_method('java.lang.System', 'setProperty', 'test.called', 'yes') FROM t"
    for query in (query_over, query_over_views):
        rows = query({"t": spark.range(1)}, text, {}, spark)
        assert rows.columns
        assert java_property("test.called", spark) is None
    rows.collect()
    assert java_property("test.called", spark) == "yes"


def java_property(name: str, spark: SparkSession) -> str | None:
    assert spark._jvm is not None
    found = spark._jvm.java.lang.System.getProperty(name)
    return None if found is None else str(found)


Require = Callable[[str, dict[str, Any], SparkSession], None]


@pytest.mark.parametrize(
    ("require", "text"),
    [
        *((require_expression, text) for text in ("a) OR (b", "a, b", "SELECT 1", "a FROM t", "a -- \\")),
        *((require_expression, text) for text in ("explode(a) x AS y LATERAL VIEW explode(b)", "a;")),
        *((require_order, text) for text in ("a LIMIT 5", "a OFFSET 5", "a |> WHERE false", "a) OR (b")),
        *((require_order, text) for text in ("a WINDOW w AS (PARTITION BY a)", "a UNION SELECT 1")),
        *((require_type, text) for text in ("INT) + (1", "INT) AS a, CAST(a AS INT", "INT FROM t")),
    ],
)
def test_a_text_that_would_change_the_query_around_it_is_refused(
    require: Require, text: str, spark: SparkSession
) -> None:
    for parameters in ({}, {"x": 1}):
        with pytest.raises((ParseException, NotAQueryError)):
            require(text, parameters, spark)
        with pytest.raises((ParseException, NotAQueryError)):
            require(f"/* :x */ {text}", parameters, spark)


ORDER_PIECES = (
    "a", "b.c", "`d e`", "desc", "ASC", "DESC", "NULLS", "FIRST", "LAST", "descending", "LIMIT", "limit 1", ",", "+",
    "-", "(", ")", "1", "'x'", "NOT", "AND", "IS", "NULL", "IN", "DATE", "INTERVAL", "DAY", "CASE", "WHEN", "THEN",
    "END", "COLLATE", "OVER", "AT TIME ZONE", "f(a)", "[1]", ":", "::", "->", "DIV", "DISTINCT", "UNION", "ALL",
    "TIMESTAMP", "X", "EXISTS", "LIKE", "ANY", "BETWEEN", "FILTER", "WITHIN GROUP", "IGNORE NULLS", "AS", "FROM",
    "WINDOW", "WHERE", "STRUCT", "ARRAY", "MAP", "INT", "TIME", "YEAR", "EXTRACT", "SECOND", "ESCAPE", "SORT", "BY",
    "ILIKE", "SYSTEM_USER", "BINARY", "BINARY_HEX", "COLLATION", "KEY", "SOUNDS", "MOD", "XOR",
)  # fmt: skip


@settings(deadline=None, max_examples=600)
@given(st.lists(st.sampled_from(ORDER_PIECES), min_size=1, max_size=5).map(" ".join))
def test_an_order_that_is_refused_without_spark_is_refused_by_it(spark: SparkSession, item: str) -> None:
    if list(order_problems([item])):
        with pytest.raises((ParseException, NotAQueryError)):
            require_order(item, {}, spark)


@pytest.mark.parametrize(
    ("require", "text"),
    [
        (require_expression, "a > :x -- more"),
        (require_expression, "CAST(a AS DECIMAL(:x, 1))"),
        (require_expression, "a IN (SELECT b FROM t)"),
        (require_expression, "count(DISTINCT a) FILTER (WHERE b)"),
        (require_expression, "transform(a, v -> v + 1)[0]"),
        (require_order, "a DESC NULLS LAST -- first"),
        (require_order, "a, b DESC"),
        (require_order, "pmod(a, :x)"),
        (require_type, "STRUCT<a: INT, `b c`: ARRAY<STRING>>"),
        (require_type, "DECIMAL(:x, 1)"),
    ],
)
def test_one_expression_order_or_type_is_allowed(require: Require, text: str, spark: SparkSession) -> None:
    require(text, {"x": 10}, spark)


@pytest.mark.parametrize(
    "operator",
    [
        Filter("a) OR (true"),
        Select((("a", "1 -- \\"), ("b", "+ 2"))),
        Select((("a", "1 + /*"), ("b", "*/ 2"))),
        WithColumns((("a", "a) AS a, (2"),)),
        Cast((("a", "INT) + (1"),)),
        Expect("c", "a) OR (true", OnViolation.WARN),
        FlatMap("explode(array(1)) AS y LATERAL VIEW explode(array(1, 2))", ("z",)),
        Sort(("a LIMIT 1",)),
        TopN(1, ("a LIMIT 5) --",)),
        Deduplicate(("a",), ("a) = 1 OR (a",)),
        Aggregate(("a",), (("n", "count(1)) AS m, (count(2)"),)),
        Join((), JoinType.INNER, "`left`.a = 1) OR (true"),
    ],
    ids=lambda operator: type(operator).__name__,
)
def test_operators_insert_no_text_that_changes_their_query(operator: Operator, spark: SparkSession) -> None:
    scope = Scope(
        spark=spark,
        parameters={},
        parallelism=None,
        read=lambda _connector, _parallelism: spark.range(1),
        materialize=lambda _name, rows: rows,
        stop_clock=lambda rows: rows,
        contracts=[],
        is_dry=False,
    )
    rows = [spark.range(3).toDF("a"), spark.range(3).toDF("b")]
    with pytest.raises((ParseException, NotAQueryError)):
        main_output(operator, rows if isinstance(operator, Join) else rows[:1], scope)
