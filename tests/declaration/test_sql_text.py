"""Whether SQL text is a query, without Spark; test_queries.py compares this with Spark's parser."""

import pytest
from hypothesis import given

from graph_compiler import Jdbc
from graph_compiler.declaration.sql_text import (
    code_of,
    command_in,
    has_several_statements,
    query_problem,
    without_end,
)
from tests.harness.sql_texts import COMMANDS, QUERIES, commands, queries


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_a_query(text: str) -> None:
    assert query_problem(text) is None
    assert not has_several_statements(text)


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_is_not_a_query(text: str) -> None:
    problem = query_problem(text)
    assert problem is not None
    assert "not a query" in problem.message
    assert "SELECT …" in (problem.allowed or "")


@given(commands)
def test_a_command_behind_comments_and_a_cte_is_not_a_query(text: str) -> None:
    assert query_problem(text) is not None
    assert query_problem(f"{text} -- SELECT 1") is not None


@given(queries)
def test_a_query_may_contain_the_words_of_commands(text: str) -> None:
    assert query_problem(text) is None
    assert not has_several_statements(text)


@given(queries, commands)
def test_a_second_statement_is_found(query: str, command: str) -> None:
    text = f"{without_end(query)}\n; {command}"
    assert has_several_statements(text)
    assert query_problem(text) is not None


@pytest.mark.parametrize(
    ("text", "found", "hint"),
    [
        ("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", "a command (INSERT OVERWRITE DIRECTORY)", "sink_to"),
        ("WITH a AS (SELECT 1) INSERT INTO t TABLE a", "a command (INSERT INTO)", "sink_to"),
        ("FROM t INSERT INTO TABLE a SELECT 1", "a command (INSERT INTO TABLE)", "sink_to"),
        ("CREATE OR REPLACE TEMP VIEW x AS SELECT 1", "(CREATE OR REPLACE TEMP VIEW)", "sink_to"),
        ("SET a = 1", "a command (SET)", "slot sharing group"),
        ("ADD JAR x", "a command (ADD JAR)", "add_jars"),
        ("CACHE TABLE x", "a command (CACHE TABLE)", "cache()"),
        ("DROP TABLE x", "a command (DROP TABLE)", None),
        ("BEGIN SELECT 1; END", "a script (BEGIN)", "an operator for each"),
        ("SELECT 1; SELECT 2", "several statements", "an operator for each"),
        ("SELEC 1", "begins with 'SELEC'", "did you mean 'SELECT'?"),
        ("{orders}", "begins with '{'", None),
        ("-- SELECT 1", "only comments", None),
        ("/* a /* b */ SELECT 1", "begins with a comment that is not closed", None),
    ],
)  # fmt: skip
def test_the_problem_names_what_was_found(text: str, found: str, hint: str | None) -> None:
    problem = query_problem(text)
    assert problem is not None
    assert found in problem.message
    assert (problem.hint is None) if hint is None else (hint in (problem.hint or ""))


@pytest.mark.parametrize(
    "text",
    ["${q}", "${q} INTO x", "FROM ${t} SELECT 1", "SELECT '${a}'; ${b}", "WITH a AS (SELECT 1"],
)
def test_what_only_spark_can_judge_is_left_to_spark(text: str) -> None:
    assert query_problem(text) is None
    assert not has_several_statements(text)


@pytest.mark.parametrize(
    ("query", "is_refused"),
    [
        ("-- SELECT\nDELETE FROM orders", True),
        ("WITH a AS (SELECT 1) UPDATE orders SET paid = true", True),
        ("SELECT id FROM orders", False),
        ("SHOW TABLES", False),
        ("SELECT * FROM FINAL TABLE (DELETE FROM orders)", False),
        ("SELECT $$;$$, 'a\\', [b;c] FROM orders", False),
    ],
)
def test_commands_in_the_sql_of_a_database_are_refused(query: str, is_refused: bool) -> None:
    problems = list(Jdbc("jdbc:postgresql://db/shop", query=query).problems())
    assert bool(problems) == is_refused


def test_a_variable_does_not_hide_a_command_before_it() -> None:
    assert command_in("INSERT INTO ${table} SELECT 1") == "INSERT INTO"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1 ;", "SELECT 1 "),
        ("SELECT 1;; -- x", "SELECT 1"),
        ("SELECT ';' -- ;", "SELECT ';' -- ;"),
        ("SELECT 1; DROP TABLE x;", "SELECT 1; DROP TABLE x"),
        ("SELECT 1; /* a", "SELECT 1; /* a"),
        ("SELECT 1; 'a", "SELECT 1; 'a"),
        ("", ""),
    ],
)
def test_the_end_of_a_statement_is_cut(text: str, statement: str) -> None:
    assert without_end(text) == statement


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a = :b", "a = :b"),
        ("v:b", "v:b"),
        ("a\n\t:b", "a :b"),
        ("a -- :b\n= c", "a = c"),
        ("a /* x /* :b */ :c */ = :d", "a = :d"),
        ("':a' || \":b\" || `:c` || r'\\' || :d", "  ||  ||  ||  || :d"),
        ("a = 'x", "a = "),
    ],
)
def test_code_has_neither_comments_nor_quoted_texts(text: str, code: str) -> None:
    assert code_of(text) == code
