"""Types of expressions without Spark; tests/spark/columns/test_function_answers.py compares them with Spark's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.declaration.operators.known_columns import columns_of_schema, type_of_expression, types_by_name
from graph_compiler.declaration.sql_types.inference import ColumnTypes, type_of_node, type_refusals
from graph_compiler.declaration.sql_types.syntax import UNKNOWN, SqlCall, SqlLiteral, SqlName, calls_in, tree_of

SCHEMA = (
    "id INT, n BIGINT, d DECIMAL(10,2), x DOUBLE, name STRING, day DATE, at TIMESTAMP, ok BOOLEAN, raw BINARY, "
    "tags ARRAY<STRING>, prices MAP<STRING, INT>, whole STRUCT<a: INT>, odd VARIANT, all INT"
)
COLUMNS = ColumnTypes(types_by_name(columns_of_schema(SCHEMA) or ()))
TYPES = {
    "id + 1": "INT",
    "id + n": "BIGINT",
    "id / 2": "DOUBLE",
    "day + 1": "DATE",
    "d + 1": None,
    "-x": "DOUBLE",
    "upper(name) || '!'": "STRING",
    "length(name) > 3 AND NOT ok": "BOOLEAN",
    "year(day)": "INT",
    "CASE WHEN ok THEN 'a' ELSE name END": "STRING",
    "CASE id WHEN 1 THEN x END": "DOUBLE",
    "id IN (1, 2)": "BOOLEAN",
    "id BETWEEN 1 AND 5": "BOOLEAN",
    "CAST(name AS decimal(9, 2))": "DECIMAL(9,2)",
    "CAST(name AS VARCHAR(3))": "STRING",
    "avg(id) FILTER (WHERE ok)": "DOUBLE",
    "sum(d)": "DECIMAL(20,2)",
    "1.25": "DECIMAL(3,2)",
    "3000000000": "BIGINT",
    "-2147483648": "INT",
    "id - 2147483648": "BIGINT",
    "- 2147483648 % id": "INT",
    "-9223372036854775808": "BIGINT",
    "-2147483648L": "BIGINT",
    "-2147483648.5": None,
    "1e3": "DOUBLE",
    "2S": "SMALLINT",
    "DOUBLE(all)": "DOUBLE",
    "count(ALL id)": None,
    "DATE '2026-01-01'": "DATE",
    "X'1F'": "BINARY",
    "name LIKE 'a!%' ESCAPE '!'": "BOOLEAN",
    "whole.a": None,
    "odd:a": None,
    ":least + 1": None,
    "max(tags)": "ARRAY<STRING>",
}
REFUSED = {
    "id + tags": "'id + tags': + does not take INT with ARRAY<STRING>",
    "upper(tags) = 'A'": "'upper(tags)': upper does not take ARRAY<STRING>",
    "NOT id": "'NOT id': NOT does not take INT",
    "NOT name": None,
    "ok AND id": "'ok AND id': AND does not take BOOLEAN with INT",
    "date_add(day, n)": "'date_add(day, n)': date_add does not take DATE with BIGINT",
    "day > id": "'day > id': a comparison does not take DATE with INT",
    "id BETWEEN day AND day": "'id BETWEEN day AND day': a comparison does not take INT with DATE",
    "CASE WHEN id THEN 1 END": "'id': a condition does not take INT",
    "sum(day)": "'sum(day)': sum does not take DATE",
    "if(ok, upper(name, name), 'x')": "'upper(name, name)' gives upper 2 arguments",
    "day IN (1, 2)": "'day IN (1, 2)': IN does not take DATE with INT",
    "prices[day]": None,
    "coalesce(name, odd, tags[0])": None,
    "CAST(upper(whole) AS INT)": "'upper(whole)': upper does not take STRUCT<a: INT>",
}


@pytest.mark.parametrize(("text", "kind"), TYPES.items())
def test_types(text: str, kind: str | None) -> None:
    node = tree_of(text)
    assert (None if node is None else type_of_node(node, COLUMNS)) == kind


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_what_spark_refuses(text: str, message: str | None) -> None:
    node = tree_of(text)
    assert node is not None
    assert [problem.message for problem in type_refusals(node, COLUMNS)] == ([] if message is None else [message])


def test_what_may_stand_there_is_said() -> None:
    def allowed(text: str) -> str | None:
        node = tree_of(text)
        assert node is not None
        (problem,) = type_refusals(node, COLUMNS)
        return problem.allowed

    assert allowed("date_add(day, n)") == "DATE with INT and STRING"
    assert allowed("ok AND id") == "BOOLEAN with BOOLEAN and STRING"
    assert allowed("upper(name, name)") == "1 argument"
    assert allowed("round(x, 1, 2)") == "1 or 2 arguments"
    assert allowed("greatest(id)") == "2 or more arguments"
    assert allowed("NOT id") == "BOOLEAN and STRING"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a ::INT",
        "a -> b",
        "(a",
        "a)",
        "CASE END",
        "SELECT 1",
        "a +",
        "${a}",
        "f(",
        "a.",
        "CAST(a AS)",
        "a ? b",
    ],
)
def test_what_is_no_plain_expression_is_not_understood(text: str) -> None:
    assert tree_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "exists(tags, t -> t = 'x')",
        "(SELECT max(x) FROM t)",
        "extract(YEAR FROM day)",
        "date_add(DAY, 1, day)",
        "position('a' IN name)",
        "trim(BOTH 'x' FROM name)",
        "f(x => 1)",
        "a.b.c",
        ":parameter",
        "(1, 2)",
    ],
)
def test_parts_in_another_grammar_may_have_each_type(text: str) -> None:
    found = tree_of(f"{text} = 1")
    assert isinstance(found, SqlCall)
    assert found.arguments == (UNKNOWN, SqlLiteral("INT"))


@pytest.mark.parametrize("text", ["(" * 2000 + "id" + ")" * 2000, " OR ".join(["id = 1"] * 3000), "-" * 2000 + "id"])
def test_a_very_long_expression_may_have_each_type(text: str) -> None:
    assert type_of_expression(text, COLUMNS.all) is None


def test_operators_bind_as_in_spark() -> None:
    def shape(text: str) -> str:
        node = tree_of(text)
        assert node is not None
        return _shape(node)

    assert shape("a OR b AND NOT c = d + e * -f") == "OR(a AND(b NOT(=(c +(d *(e -(f)))))))"
    assert shape("a - b - c || d") == "||(-(-(a b) c) d)"
    assert shape("a | b ^ c & d < e") == "<(|(a ^(b &(c d))) e)"
    assert shape("a NOT IN (b, c) AND d") == "AND(IN(a b c) d)"
    assert shape("left.a = right.`b c`") == "=(left.a right.b c)"
    assert shape("m['k'][0] <=> a") == "=([]([](m ?) ?) a)"


def _shape(node: object) -> str:
    match node:
        case SqlName(column=column, side=side):
            return column if side is None else f"{side}.{column}"
        case SqlCall(function=function, arguments=arguments):
            return f"{function}({' '.join(map(_shape, arguments))})"
    return "?"


@given(st.text(alphabet="ab1.'`\"()[],:=<>!|&^+-*/%~? \nNOT IN CASE WHEN END AS", max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    node = tree_of(text)
    if node is not None:
        type_of_node(node, COLUMNS)
        list(type_refusals(node, COLUMNS))
        list(calls_in(node))
