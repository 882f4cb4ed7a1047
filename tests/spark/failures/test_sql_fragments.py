"""A syntax error has a caret below its place, and shows nothing that was added around an expression."""

import pytest

from graph_compiler.spark_runtime.failures.causes import marked, own_fragments, own_names

pytestmark = pytest.mark.spark


def parse_error(query: str, caret: str, after: int) -> str:
    """Return Spark's message, with the caret after so many lines of the query."""
    lines = query.splitlines()
    shown = [*lines[:after], caret, *lines[after:]]
    return "[PARSE_SYNTAX_ERROR] Syntax error. (line 2, pos 4)\n\n== SQL ==\n" + "\n".join(shown)


def wrapped(expression: str) -> str:
    return f"SELECT * FROM graph_compiler_input AS graph_compiler_input WHERE (\n{expression}\n)"


def test_the_caret_marks_the_error() -> None:
    message = parse_error(wrapped("v > > 1"), "----^^^", after=2)
    assert marked(message, ["v > > 1"]) == ["v > > 1\n    ^"]


def test_only_the_expression_with_the_error_is_shown() -> None:
    query = "SELECT (\na + 1\n) AS `x`, (\nb +* 1\n) AS `y` FROM graph_compiler_input"
    message = parse_error(query, "---^^^", after=4)
    assert marked(message, ["a + 1", "b +* 1"]) == ["b +* 1\n   ^"]


def test_tables_of_a_query_have_their_own_names() -> None:
    query = "SELECT *\nFROM {orders} JOIN {users} USIN (id)"
    spark = query.replace("{orders}", "`graph_compiler_orders`")
    spark = spark.replace("{users}", "`graph_compiler_users`")
    caret = spark.splitlines()[1].index("USIN") * "-" + "^^^"
    (shown,) = marked(parse_error(spark, caret, after=2), [query])
    assert shown == f"{query}\n{' ' * 27}^"
    assert own_names("near '`graph_compiler_users`'", [query]) == "near '{users}'"
    assert own_names("`graph_compiler_left`", [query]) == "`graph_compiler_left`"


def test_there_is_no_caret_where_spark_does_not_know_the_place() -> None:
    message = (
        "[PARSE_SYNTAX_ERROR] Syntax error. SQLSTATE: 42601\n== SQL ==\n"
        "SELECT * FRM `graph_compiler_orders`\n^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    )
    assert marked(message, ["SELECT * FRM {orders}"]) == ["SELECT * FRM {orders}"]


def test_an_expression_that_ends_too_early_is_marked_at_its_end() -> None:
    message = parse_error(wrapped("a >\nb +"), "^^^", after=4)
    assert marked(message, ["a >\nb +"]) == ["a >\nb +\n   ^ it ends here"]


def test_without_a_caret_all_expressions_are_shown() -> None:
    assert marked("[PARSE_EMPTY_STATEMENT] nothing", ["a", "b"]) == ["a", "b"]


def test_our_own_query_is_never_shown() -> None:
    assert own_fragments([wrapped("v"), "v + 1", ""], ["v", "w"]) == ["v", "w", "v + 1"]
