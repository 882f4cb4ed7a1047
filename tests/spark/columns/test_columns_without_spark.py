"""Columns compared without Spark (`validate --live`) differ where the driver says that they differ."""

from itertools import product

import pytest

from graph_compiler.declaration.connectors.connector import ChangeKind
from graph_compiler.lake_metadata.column_types import find_differences, parse_columns
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema
from graph_compiler.spark_runtime.columns.schema_change import find_changes

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
TYPES = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(3,0)", "DECIMAL(9,2)", "DECIMAL(21,2)"),
    *("BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "BINARY", "VARCHAR(9)", "CHAR(3)", "VARIANT"),
    *("STRUCT<a: INT, b: STRING>", "STRUCT<B: STRING, a: BIGINT NOT NULL, `c d`: DATE>", "ARRAY<INT>", "ARRAY<BIGINT>"),
    *("MAP<INT, STRING>", "MAP<BIGINT, STRUCT<x: INT>>", "ARRAY<STRUCT<x: ARRAY<INT>>>", "INT NOT NULL"),
)
SCHEMAS = (
    ("a INT, b STRING", "B string, c date"),
    ("a INT NOT NULL", "a INT, A2 INT"),
    ("a: int, `x``y` decimal(9, 2) COMMENT 'x, y'", "a integer, `x``y` DEC(9,2) NOT NULL COMMENT 'no'"),
    ("a struct<b:int,c:array<map<string,int>>>", "a struct<b:int not null,c:array<map<string,long>>>"),
    ("a TIMESTAMP_LTZ, b NUMERIC, c REAL, d DECIMAL(5)", "a TIMESTAMP, b DECIMAL(10,0), c FLOAT, d DECIMAL(5,0)"),
    ("a BYTE, b SHORT, c LONG, e STRUCT<>", "a TINYINT, b SMALLINT, c BIGINT, e STRUCT<x: INT>"),
)


def differences(expected: str, found: str) -> set[str]:
    """Return the column and the kind of each difference: the driver writes nested types in another form."""
    return {str(each).partition(":")[0] for each in find_differences(parse_columns(expected), parse_columns(found))}


def changes(expected: str, found: str) -> set[str]:
    found_changes = find_changes(parse_schema(expected), parse_schema(found))
    assert ChangeKind.RENAMED not in {each.kind for each in found_changes}  # not guessed without Spark
    return {str(each).partition(":")[0] for each in found_changes}


def test_each_type_is_compared_with_each_as_the_driver_does() -> None:
    pairs = list(enumerate(product(TYPES, TYPES)))
    expected = ", ".join(f"c{number} {one}" for number, (one, _) in pairs)
    found = ", ".join(f"c{number} {other}" for number, (_, other) in pairs)
    mine = differences(expected, found)
    assert len(mine) > 500
    assert mine == changes(expected, found)


def test_a_difference_is_worded_as_the_driver_words_it() -> None:
    expected, found = "a INT, b STRING, c DATE NOT NULL", "a BIGINT, c DATE, d DECIMAL(9,2), e ARRAY<INT>"
    mine = [str(each) for each in find_differences(parse_columns(expected), parse_columns(found))]
    assert mine == [str(each) for each in find_changes(parse_schema(expected), parse_schema(found))]


@pytest.mark.parametrize(("expected", "found"), SCHEMAS)
def test_a_schema_is_read_as_spark_reads_it(expected: str, found: str) -> None:
    assert differences(expected, found) == changes(expected, found)
    for text in (expected, found):
        assert parse_columns(text) == parse_columns(ddl(parse_schema(text)))
