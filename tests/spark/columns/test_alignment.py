"""Rows aligned with a schema: fields of structs by name at every depth, and casts that change no value."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from graph_compiler.declaration.connectors import OnSchemaChange
from graph_compiler.declaration.connectors.connector import SOURCE_EVOLVES, ChangeKind
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.columns.alignment import align, united, with_all_fields
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema
from graph_compiler.spark_runtime.columns.schema_change import Expectation, Part, conform, find_changes

pytestmark = [pytest.mark.spark, pytest.mark.ci]

FLIPPED = {
    "struct": (
        "named_struct('lon', 16.4D, 'lat', 48.2D)",
        "STRUCT<lat: DOUBLE, lon: DOUBLE>",
        '{"lat":48.2,"lon":16.4}',
    ),
    "struct in a struct": (
        "named_struct('p', named_struct('lon', 16.4D, 'lat', 48.2D))",
        "STRUCT<p: STRUCT<lat: DOUBLE, lon: DOUBLE>>",
        '{"p":{"lat":48.2,"lon":16.4}}',
    ),
    "array": (
        "array(named_struct('lon', 16.4D, 'lat', 48.2D), NULL)",
        "ARRAY<STRUCT<lat: DOUBLE, lon: DOUBLE>>",
        '[{"lat":48.2,"lon":16.4},null]',
    ),
    "array of arrays": (
        "array(array(named_struct('lon', 16.4D, 'lat', 48.2D)))",
        "ARRAY<ARRAY<STRUCT<lat: DOUBLE, lon: DOUBLE>>>",
        '[[{"lat":48.2,"lon":16.4}]]',
    ),
    "values of a map": (
        "map('k', named_struct('lon', 16.4D, 'lat', 48.2D))",
        "MAP<STRING, STRUCT<lat: DOUBLE, lon: DOUBLE>>",
        '{"k":{"lat":48.2,"lon":16.4}}',
    ),
    "keys of a map": (
        "map(named_struct('b', 1, 'a', 2), array(named_struct('d', 1, 'c', 2)))",
        "MAP<STRUCT<a: INT, b: INT>, ARRAY<STRUCT<c: INT, d: INT>>>",
        '{"[2,1]":[{"c":2,"d":1}]}',
    ),
    "NULL": ("CAST(NULL AS STRUCT<lon: DOUBLE, lat: DOUBLE>)", "STRUCT<lat: DOUBLE, lon: DOUBLE>", "null"),
    "a field in another case": (
        "named_struct('LON', 16.4D, 'Lat', 48.2D)",
        "STRUCT<lat: DOUBLE, lon: DOUBLE>",
        '{"lat":48.2,"lon":16.4}',
    ),
    "names with dots and quotes": (
        "named_struct('b`c', 1, 'a.b', 2)",
        "STRUCT<`a.b`: INT, `b``c`: INT>",
        '{"a.b":2,"b`c":1}',
    ),
    "missing and extra fields": (
        "array(named_struct('x', 'left out', 'b', 1))",
        "ARRAY<STRUCT<a: STRING, b: BIGINT>>",
        '[{"a":null,"b":1}]',
    ),
}


@pytest.mark.parametrize("case", FLIPPED)
def test_fields_are_found_by_name(case: str, spark: SparkSession) -> None:
    value, wanted, found = FLIPPED[case]
    rows = align(spark.sql(f"SELECT {value} AS v"), parse_schema(f"v {wanted}"))
    json = rows.selectExpr("to_json(struct(v), map('ignoreNullFields', 'false'))").collect()[0][0]
    assert json == f'{{"v":{found}}}'
    assert rows.schema["v"].dataType.simpleString() == (parse_schema(f"v {wanted}")["v"].dataType.simpleString())


def test_rows_that_have_the_columns_are_returned_as_they_are(spark: SparkSession) -> None:
    rows = spark.sql("SELECT named_struct('a', 1) AS s, map('k', 1) AS m")
    assert align(rows, parse_schema("s STRUCT<a: INT>, m MAP<STRING, INT>")) is rows


def test_keys_that_become_equal_fail(spark: SparkSession) -> None:
    rows = spark.sql("SELECT map(named_struct('a', 1, 'b', 1), 1, named_struct('a', 1, 'b', 2), 2) AS m")
    with pytest.raises(Exception, match="DUPLICATED_MAP_KEY"):
        align(rows, parse_schema("m MAP<STRUCT<a: INT>, INT>")).collect()


KEPT = [
    ("BIGINT", "9007199254740992", "DOUBLE", 2.0**53),
    ("BIGINT", "-9007199254740992", "DOUBLE", -(2.0**53)),
    ("INT", "7", "FLOAT", 7.0),
    ("DOUBLE", "7.0", "BIGINT", 7),
    ("DOUBLE", "0.1", "DECIMAL(5,2)", Decimal("0.10")),
    ("DOUBLE", "0.1", "FLOAT", pytest.approx(0.1)),
    ("DOUBLE", "NaN", "FLOAT", pytest.approx(float("nan"), nan_ok=True)),
    ("DOUBLE", "Infinity", "FLOAT", float("inf")),
    ("DECIMAL(5,2)", "1.25", "DOUBLE", 1.25),
    ("DECIMAL(5,2)", "0.10", "FLOAT", pytest.approx(0.1)),
    ("DECIMAL(5,2)", "1.20", "DECIMAL(5,1)", Decimal("1.2")),
    ("DECIMAL(5,2)", "7.00", "INT", 7),
    ("DATE", "2024-03-31", "TIMESTAMP_NTZ", datetime(2024, 3, 31)),
    ("TIMESTAMP_NTZ", "2024-03-31 00:00:00", "DATE", date(2024, 3, 31)),
    ("STRING", " 2024-03-31 ", "DATE", date(2024, 3, 31)),
    ("STRING", "1.250", "DECIMAL(5,2)", Decimal("1.25")),
    ("STRING", "7", "INT", 7),
    ("STRING", " 7.0\t", "DECIMAL(38,0)", Decimal(7)),
    ("STRING", "1.5e3", "DOUBLE", 1500.0),
    ("STRING", "0.30000000000000004", "DOUBLE", 0.1 + 0.2),
    ("STRING", "nan", "DOUBLE", pytest.approx(float("nan"), nan_ok=True)),
    ("STRING", "-Infinity", "DOUBLE", float("-inf")),
    ("STRING", "2024-03-31T12:30:00.123456000", "TIMESTAMP_NTZ", datetime(2024, 3, 31, 12, 30, 0, 123456)),
    ("STRING", "yes", "BOOLEAN", True),
    ("INT", "7", "STRING", "7"),
    ("BOOLEAN", "true", "INT", 1),
]
LOST = [
    ("BIGINT", "9007199254740993", "DOUBLE"),
    ("BIGINT", "9223372036854775807", "DOUBLE"),
    ("BIGINT", "16777217", "FLOAT"),
    ("INT", "2147483647", "FLOAT"),
    ("BIGINT", "2147483648", "INT"),
    ("INT", "300", "TINYINT"),
    ("DOUBLE", "1.5", "INT"),
    ("DOUBLE", "NaN", "INT"),
    ("DOUBLE", "NaN", "DECIMAL(5,2)"),
    ("DOUBLE", "9223372036854775807", "BIGINT"),
    ("FLOAT", "2147483648", "INT"),
    ("DOUBLE", "1e300", "FLOAT"),
    ("DOUBLE", "0.123", "DECIMAL(5,2)"),
    ("DECIMAL(20,2)", "123456789012345678.99", "DOUBLE"),
    ("DECIMAL(5,2)", "1.25", "DECIMAL(5,1)"),
    ("DECIMAL(5,2)", "1.25", "INT"),
    ("TIMESTAMP_NTZ", "2024-03-31 12:30:00", "DATE"),
    ("TIMESTAMP", "2024-03-31 12:30:00", "DATE"),
    ("STRING", "2024-03-31 12:30:00", "DATE"),
    ("STRING", "2024-03-31 or so", "DATE"),
    ("STRING", "1.256", "DECIMAL(5,2)"),
    ("STRING", "x", "INT"),
    ("STRING", "1.5", "DECIMAL(38,0)"),
    ("STRING", "0.12345678901", "DECIMAL(38,10)"),
    ("STRING", "1e-400", "DECIMAL(5,2)"),
    ("STRING", "1e400", "DOUBLE"),
    ("STRING", "9007199254740993", "DOUBLE"),
    ("STRING", "2024", "DATE"),
    ("STRING", "2024-03", "TIMESTAMP"),
    ("STRING", "12:30", "TIMESTAMP"),
    ("STRING", "2024-03-31 12:30:00.1234567", "TIMESTAMP"),
    ("STRING", "2024-03-31 12:30:00+01:00", "TIMESTAMP_NTZ"),
    ("INT", "5", "BOOLEAN"),
]


@pytest.mark.parametrize(("found", "value", "wanted", "kept"), KEPT)
def test_a_value_that_fits_is_cast(found: str, value: str, wanted: str, kept: object, spark: SparkSession) -> None:
    rows = spark.sql(f"SELECT CAST('{value}' AS {found}) AS v UNION ALL SELECT NULL")
    cast = align(rows, parse_schema(f"v {wanted}"))
    assert [row.v for row in cast.collect()] == [kept, None]


@pytest.mark.parametrize(("found", "value", "wanted"), LOST)
def test_a_value_that_does_not_fit_fails(found: str, value: str, wanted: str, spark: SparkSession) -> None:
    rows = spark.sql(f"SELECT array(CAST('{value}' AS {found})) AS v")
    message = rf"does not fit {wanted.split('(', maxsplit=1)[0]}|CAST_OVERFLOW|CAST_INVALID_INPUT|NUMERIC_VALUE_OUT"
    with pytest.raises(Exception, match=message):
        align(rows, parse_schema(f"v ARRAY<{wanted}>")).collect()


def test_text_of_a_column_called_text_is_checked(spark: SparkSession) -> None:
    rows = spark.sql("SELECT '1' AS text, array('2.5') AS many")
    wanted = parse_schema("text DECIMAL(2,0), many ARRAY<DECIMAL(2,1)>")
    assert align(rows, wanted).collect() == [(Decimal(1), [Decimal("2.5")])]


def test_the_ddl_of_a_schema_is_read_back() -> None:
    text = "a STRUCT<b: INT NOT NULL, `c d`: ARRAY<MAP<STRING, DECIMAL(5,2)>>> NOT NULL, `x``y` TIMESTAMP_NTZ"
    assert ddl(parse_schema(text)) == text
    assert parse_schema(ddl(parse_schema(text))) == parse_schema(text)


# ── any nested schemas, compared with a plain reference ──

LEAVES: tuple[DataType, ...] = (IntegerType(), LongType(), DoubleType(), StringType())
NAMES = ("a", "b", "c", "d e", "F")


def _structs(inner: st.SearchStrategy[DataType], least: int = 1) -> st.SearchStrategy[StructType]:
    fields = st.lists(st.sampled_from(NAMES), min_size=least, max_size=4, unique=True)
    return fields.flatmap(
        lambda names: st.tuples(*(inner for _ in names)).map(
            lambda kinds: StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])
        )
    )


_TYPES: st.SearchStrategy[DataType] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        _structs(inner),
        inner.map(ArrayType),
        st.tuples(st.one_of(st.sampled_from(LEAVES), _structs(st.sampled_from(LEAVES))), inner).map(
            lambda kinds: MapType(*kinds)
        ),
    ),
    max_leaves=6,
)
SCHEMAS = _structs(_TYPES)


@st.composite
def changed(draw: st.DrawFn, kind: DataType) -> DataType:
    """Permute, drop, add and respell fields, widen and narrow leaves, at every depth."""
    if isinstance(kind, StructType):
        kept = draw(st.lists(st.sampled_from(kind.fields), min_size=1, unique_by=lambda f: f.name))
        fields = [
            StructField(field.name.upper() if draw(st.booleans()) else field.name, draw(changed(field.dataType)))
            for field in kept
        ]
        known = {field.name.lower() for field in kind}
        if "new" not in known and draw(st.booleans()):
            fields.insert(draw(st.integers(0, len(fields))), StructField("new", StringType()))
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(draw(changed(kind.elementType)))
    if isinstance(kind, MapType):
        key = kind.keyType
        if isinstance(key, StructType):  # fields that are dropped might make keys equal
            key = StructType(draw(st.permutations(key.fields)))
        return MapType(key, draw(changed(kind.valueType)))
    if isinstance(kind, IntegerType | LongType) and draw(st.booleans()):
        return draw(st.sampled_from((IntegerType(), LongType(), DoubleType())))
    return kind


def value_of(kind: DataType, number: int) -> Any:
    """Return a value that identifies its place by its number."""
    if isinstance(kind, StructType):
        if number % 7 == 6:
            return None
        cells = [value_of(field.dataType, number * 3 + i) for i, field in enumerate(kind)]
        return tuple(cells)
    if isinstance(kind, ArrayType):
        return [value_of(kind.elementType, number + i) for i in range(number % 3)]
    if isinstance(kind, MapType):
        key = kind.keyType
        keys = (
            tuple(_leaf(field.dataType, number + i) for i, field in enumerate(key))
            if isinstance(key, StructType)
            else _leaf(key, number)
        )
        return {keys: value_of(kind.valueType, number)}
    return _leaf(kind, number)


def _leaf(kind: DataType, number: int) -> Any:
    if isinstance(kind, StringType):
        return f"s{number}"
    return float(number) if isinstance(kind, DoubleType) else number


def expected_value(value: Any, found: DataType, wanted: DataType) -> Any:
    """Return what a value becomes: fields by name, as sorted pairs."""
    if isinstance(wanted, StructType) and isinstance(found, StructType):
        if value is None:
            return None
        cells = {f.name.lower(): (v, f.dataType) for f, v in zip(found, value, strict=True)}
        return tuple(
            (
                field.name,
                expected_value(*cells[field.name.lower()], field.dataType) if field.name.lower() in cells else None,
            )
            for field in wanted
        )
    if isinstance(wanted, ArrayType) and isinstance(found, ArrayType):
        return [expected_value(item, found.elementType, wanted.elementType) for item in value]
    if isinstance(wanted, MapType) and isinstance(found, MapType):
        return {
            expected_value(key, found.keyType, wanted.keyType): expected_value(item, found.valueType, wanted.valueType)
            for key, item in value.items()
        }
    return float(value) if isinstance(wanted, DoubleType) else value


def collected(value: Any) -> Any:
    if isinstance(value, Row):
        return tuple((name, collected(cell)) for name, cell in value.asDict().items())
    if isinstance(value, list):
        return [collected(item) for item in value]
    if isinstance(value, dict):
        return {collected(key): collected(item) for key, item in value.items()}
    return value


def merged_like(expected: DataType, found: DataType) -> DataType:
    """Return what an evolving source follows: added fields last, wider types as found."""
    if isinstance(expected, StructType) and isinstance(found, StructType):
        there = {field.name.lower(): field for field in found}
        known = {field.name.lower() for field in expected}
        kept = [
            StructField(f.name, merged_like(f.dataType, there[f.name.lower()].dataType))
            if f.name.lower() in there
            else f
            for f in expected
        ]
        return StructType([*kept, *(f for f in found if f.name.lower() not in known)])
    if isinstance(expected, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(merged_like(expected.elementType, found.elementType))
    if isinstance(expected, MapType) and isinstance(found, MapType):
        return MapType(expected.keyType, merged_like(expected.valueType, found.valueType))
    is_wider = isinstance(expected, IntegerType) and isinstance(found, LongType | DoubleType)
    return found if is_wider else expected


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_any_change_of_nested_columns_gives_rows_by_name_or_a_refusal_with_the_path(
    data: st.DataObject, spark: SparkSession
) -> None:
    expected = data.draw(SCHEMAS)
    found = data.draw(changed(expected))
    assert isinstance(found, StructType)
    values = [tuple(value_of(f.dataType, n + i) for i, f in enumerate(found)) for n in (1, 20)]
    rows = spark.createDataFrame(values, found)
    changes = find_changes(expected, found)
    for policy in OnSchemaChange:
        expectation = Expectation(
            schema=expected, policy=policy, evolves=SOURCE_EVOLVES, follows=frozenset({ChangeKind.WIDENED})
        )
        wanted: DataType = expected
        refused = list(changes) if policy is OnSchemaChange.FAIL else []
        if policy is OnSchemaChange.EVOLVE:
            wanted = merged_like(expected, found)
            refused = [change for change in changes if change.kind not in SOURCE_EVOLVES]
        parts = [Part(rows=rows, schema=found)]
        if refused:
            with pytest.raises(SchemaChangedError) as refusal:
                conform(parts, expectation)
            assert all(f"column '{change.column}'" in str(refusal.value) for change in refused)
            continue
        aligned = conform(parts, expectation)
        assert isinstance(wanted, StructType)
        assert collected_rows(aligned.collect()) == [expected_value(row, found, wanted) for row in values]
        assert [f.dataType.simpleString() for f in aligned.schema] == [f.dataType.simpleString() for f in wanted]


def collected_rows(rows: list[Row]) -> list[Any]:
    return [collected(row) for row in rows]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_united_schemas_have_the_fields_of_both_and_fill_each(data: st.DataObject) -> None:
    one = data.draw(SCHEMAS)
    other = data.draw(changed(one))
    assert isinstance(other, StructType)
    both = united(one, other)
    gone = {ChangeKind.DROPPED, ChangeKind.ADDED, ChangeKind.RENAMED}
    for schema in (one, other):
        assert not {c.kind for c in find_changes(both, schema)} & {ChangeKind.ADDED}
        full = with_all_fields(schema, both)
        assert not {change.kind for change in find_changes(both, full)} & gone
        assert not any(c.is_of_type for c in find_changes(schema, full))


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("'abc'", "v VARCHAR(2)"),
        ("'abc'", "v CHAR(2)"),
        ("X'616263FF'", "v STRING"),
        ("array(X'FF')", "v ARRAY<STRING>"),
        ("named_struct('a', 'abc')", "v STRUCT<a: VARCHAR(2)>"),
    ],
)
def test_text_that_is_too_long_and_bytes_that_are_no_text_fail(value: str, schema: str, spark: SparkSession) -> None:
    rows = spark.range(1).selectExpr(f"{value} AS v")
    with pytest.raises(PySparkException, match="does not fit"):
        align(rows, parse_schema(schema)).collect()


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("'ab'", "v VARCHAR(2)", "ab"),
        ("'äö'", "v CHAR(2)", "äö"),
        ("X'C3A4'", "v STRING", "ä"),
        ("NULL", "v CHAR(1)", None),
    ],
)
def test_text_that_fits_and_bytes_that_are_text_are_kept(
    value: str, schema: str, expected: str | None, spark: SparkSession
) -> None:
    rows = spark.range(1).selectExpr(f"CAST({value} AS {'BINARY' if value[0] == 'X' else 'STRING'}) AS v")
    assert [row["v"] for row in align(rows, parse_schema(schema)).collect()] == [expected]
