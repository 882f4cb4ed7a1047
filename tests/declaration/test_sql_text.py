"""Whether SQL text is a query, without Spark; test_queries.py compares this with Spark's parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Jdbc
from graph_compiler.declaration.sql_text import (
    code_of,
    command_in,
    has_several_statements,
    query_problem,
    tokens_of,
    unclosed_in,
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
        ("WITH a AS (SELECT 1", "its SQL has ( without )", None),
        ("SELECT coalesce(a, 'x FROM t", "its SQL has ' without '", None),
        ("SELECT a) FROM t", "its SQL has ) without (", None),
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


@pytest.mark.parametrize("text", ["${q}", "${q} INTO x", "FROM ${t} SELECT 1", "SELECT '${a}'; ${b}", "SELECT (${a}"])
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a) OR (b", ") without ("),
        ("coalesce(a, 0", "( without )"),
        ("a[0", "[ without ]"),
        ("(a]", "] without ["),
        ("concat(a, 'x", "' without '"),
        ("a + `b", "` without `"),
        (r"'a\'", "' without '"),
        ("1 + /* /* */", "/* without */"),
        ("1 -- \\", "a comment that continues in the next line"),
        ("a -- ) \n) OR (b", ") without ("),
    ],
)
def test_text_with_an_open_end_is_not_an_expression(text: str, found: str) -> None:
    assert unclosed_in(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "(a OR b) AND c[0] > 1",
        "a = ')' OR b = '(''(' OR `(` = \"[\"",
        "a /* ( /* ) */ */ -- (",
        r"a = '\'(' OR b = r'\'",
        "transform(a, x -> x[1])",
        "a = '${brackets}",
        "",
    ],
)
def test_brackets_in_quotes_and_comments_do_not_count(text: str) -> None:
    assert unclosed_in(text) is None


_PIECES = ("a", "1", " ", "\n", "(", ")", "[", "]", "'", '"', "`", "/*", "*/", "--", "\\", "r'", ",")


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_a_closed_text_stays_between_the_brackets_around_it(text: str) -> None:
    if unclosed_in(text) is not None:
        return
    own = [token.text for token in tokens_of(text)]
    found = [token.text for token in tokens_of(f"(\n{text}\n) AS x")]
    assert found == ["(", *own, ")", "AS", "X"]
    depths = [own[:end].count("(") - own[:end].count(")") for end in range(len(own) + 1)]
    assert min(depths) == 0
    assert depths[-1] == 0
