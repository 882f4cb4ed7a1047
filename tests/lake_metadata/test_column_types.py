"""Columns as DDL: which type holds the values of another, and how columns differ."""

import pytest

from graph_compiler.lake_metadata.column_types import (
    as_nullable_ddl,
    find_differences,
    is_wider_ddl,
    parse_columns,
    type_ddl,
    with_columns_added,
)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("BIGINT", "INT"),
        ("DOUBLE", "INT"),
        ("DOUBLE", "FLOAT"),
        ("DECIMAL(10,0)", "INT"),
        ("DECIMAL(12,2)", "DECIMAL(10,2)"),
        ("TIMESTAMP_NTZ", "DATE"),
    ],
)
def test_a_wider_type_holds_all_values_and_the_other_does_not(wide: str, narrow: str) -> None:
    (of_wide,), (of_narrow,) = (parse_columns(f"x {each}").fields for each in (wide, narrow))
    assert is_wider_ddl(of_wide.type, of_narrow.type)
    assert not is_wider_ddl(of_narrow.type, of_wide.type)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("DOUBLE", "BIGINT"), ("DECIMAL(9,0)", "INT"), ("DECIMAL(12,4)", "DECIMAL(10,1)"), ("INT", "INT")],
)
def test_a_type_that_would_lose_values_is_not_wider(wide: str, narrow: str) -> None:
    (of_wide,), (of_narrow,) = (parse_columns(f"x {each}").fields for each in (wide, narrow))
    assert not is_wider_ddl(of_wide.type, of_narrow.type)


@pytest.mark.parametrize(
    ("expected", "found", "said"),
    [
        ("a INT", "a BIGINT", "column 'a' was widened: found BIGINT; expected INT"),
        ("a BIGINT", "a INT", "column 'a' was narrowed: found INT; expected BIGINT"),
        ("a INT", "a STRING", "column 'a' has another type: found STRING; expected INT"),
        ("a ARRAY<INT>", "a ARRAY<BIGINT>", "column 'a.element' was widened: found BIGINT; expected INT"),
        ("a MAP<INT, INT>", "a MAP<STRING, INT>", "column 'a.key' has another type: found STRING; expected INT"),
        ("a MAP<INT, INT>", "a MAP<INT, BIGINT>", "column 'a.value' was widened: found BIGINT; expected INT"),
        ("a STRUCT<b: INT>", "a STRUCT<b: INT, c: INT>", "column 'a.c' was added: found INT; expected no such column"),
        ("a INT NOT NULL", "a INT", "column 'a' may be NULL now: found INT; expected INT NOT NULL"),
    ],
)
def test_a_difference_says_the_column_and_both_types(expected: str, found: str, said: str) -> None:
    differences = find_differences(parse_columns(expected), parse_columns(found))
    assert [str(each) for each in differences] == [said]


def test_everything_may_be_null_at_every_depth() -> None:
    columns = parse_columns("a STRUCT<b: INT NOT NULL> NOT NULL, c ARRAY<STRUCT<d: INT NOT NULL>>, e MAP<INT, INT>")
    loose = parse_columns("a STRUCT<b: INT>, c ARRAY<STRUCT<d: INT>>, e MAP<INT, INT>")
    assert as_nullable_ddl(columns) == loose
    assert [type_ddl(each.type) for each in loose.fields] == [
        "STRUCT<b: INT>",
        "ARRAY<STRUCT<d: INT>>",
        "MAP<INT, INT>",
    ]


def test_added_columns_are_those_that_are_not_there() -> None:
    added = with_columns_added(parse_columns("a INT"), parse_columns("A STRING, b STRING").fields)
    assert added == parse_columns("a INT, b STRING")
