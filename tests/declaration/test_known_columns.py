"""Which columns and types are known without Spark; test_known_columns_against_spark.py compares them with Spark's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.declaration.operators.known_columns import (
    KnownColumn,
    columns_of_schema,
    common,
    joined,
    type_of_expression,
    types_by_name,
)

INT, TEXT = KnownColumn("id", "INT"), KnownColumn("name", "STRING")
SCHEMAS = [
    ("id INT, name STRING NOT NULL COMMENT 'a, b'", "id INT, name STRING"),
    ("`a, b` decimal( 9 , 2 ), c: long", "a, b DECIMAL(9,2), c BIGINT"),
    ("`a``b` INT", "a`b INT"),
    ("s STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING, INT>", None),
    ("id integer, n numeric, r real, b byte", "id INT, n DECIMAL(10,0), r FLOAT, b TINYINT"),
]
KNOWN = columns_of_schema("id INT, n BIGINT, d DECIMAL(9,2), x DOUBLE, name STRING, day DATE, `odd one` INT")
EXPRESSIONS = [
    ("id", "INT"),
    ("ID", "INT"),
    ("`odd one`", "INT"),
    ("missing", None),
    ("'text'", "STRING"),
    ("true", "BOOLEAN"),
    ("id > 5", "BOOLEAN"),
    ("id IS NOT NULL AND name LIKE 'a%'", "BOOLEAN"),
    ("NOT (id = 5)", "BOOLEAN"),
    ("id + 1", "INT"),
    ("d + 1", None),
    ("CASE WHEN id > 5 THEN 1 END", "INT"),
    ("if(id > 5, 1, 2)", None),
    ("filter(items, x -> x > 1)", None),
    ("id >> 1", None),
    ("x -> x > 1", None),
    ("CAST(name AS decimal(9, 2))", "DECIMAL(9,2)"),
    ("CAST(CAST(name AS DATE) AS STRING)", "STRING"),
    ("CAST(id AS INT) + 1", "INT"),
    ("count(*)", "BIGINT"),
    ("count(DISTINCT id)", "BIGINT"),
    ("count(*) FILTER (WHERE id > 5)", "BIGINT"),
    ("count(*) > 5", "BOOLEAN"),
    ("min(day)", "DATE"),
    ("sum(id)", "BIGINT"),
    ("sum(d)", "DECIMAL(19,2)"),
    ("sum(x)", "DOUBLE"),
    ("avg(id)", "DOUBLE"),
    ("avg(d)", None),
    ("sum(id) OVER (PARTITION BY name)", "BIGINT"),
    ("/* a */ id -- b", "INT"),
    ("${id}", None),
    ("", None),
]


@pytest.mark.parametrize(("schema", "words"), SCHEMAS)
def test_a_declared_schema_is_read(schema: str, words: str | None) -> None:
    found = columns_of_schema(schema)
    assert found is not None
    assert words is None or ", ".join(map(str, found)) == words


@pytest.mark.parametrize("schema", [None, "", "id", "INT,", "{{ params.schema }}", "id ${type}"])
def test_what_is_no_plain_schema_is_unknown(schema: str | None) -> None:
    assert columns_of_schema(schema) is None


@pytest.mark.parametrize(("text", "kind"), EXPRESSIONS)
def test_the_type_of_an_expression_is_known_if_it_is_certain(text: str, kind: str | None) -> None:
    assert type_of_expression(text, types_by_name(KNOWN or ())) == kind


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_is_too_odd(schema: str, expression: str) -> None:
    type_of_expression(expression, types_by_name(columns_of_schema(schema) or ()))


def test_columns_of_several_inputs_have_the_types_in_which_they_agree() -> None:
    other = KnownColumn("ID", "BIGINT")
    assert common([(INT, TEXT), (TEXT, other)]) == (KnownColumn("id"), TEXT)
    assert common([(INT,), (TEXT,)]) is None
    assert common([(INT,), (TEXT,)], fills=True) == (INT, TEXT)
    assert common([(INT,), None]) is None
    assert common([]) is None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("inner", "id INT, name STRING, day DATE"),
        ("right", "id BIGINT, name STRING, day DATE"),
        ("full", "id, name STRING, day DATE"),
        ("anti", "id INT, name STRING"),
    ],
)
def test_a_join_has_its_keys_once(how: str, words: str) -> None:
    right = (KnownColumn("ID", "BIGINT"), KnownColumn("day", "DATE"))
    found = joined((TEXT, INT), right, [("id", "id")], how)
    assert found is not None
    assert ", ".join(map(str, found)) == words
    assert joined(None, right, [("id", "id")], how) is None
