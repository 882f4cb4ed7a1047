"""Rows that a test gives for a source, as a DataFrame, typed by the source, by a given schema, or by inference.

[{"carrier": "AA", "delay": 40}]             columns that are left out are NULL
"carrier STRING, delay INT"                  what a source without a declared schema holds
"2013-01-01" for a DATE, 40 for a DOUBLE     are converted to that type, and text for BINARY is UTF-8
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import did_you_mean, listing, shown
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words

GivenRow: TypeAlias = Mapping[str, object] | Sequence[object]


class GivenRowsError(GraphCompilerError):
    """A test gives rows that the source cannot have."""


def given_rows(source: str, rows: Iterable[GivenRow], schema: str | None, spark: SparkSession) -> DataFrame:
    """Return rows as a DataFrame; raises GivenRowsError, which names the source and the row.

    `schema` is DDL; without it, rows are dicts, and Spark infers types from their values.
    """
    given = listed_rows(source, rows)
    columns = None if schema is None else parse_schema(schema)
    if columns is None:
        names = _names(source, given)
        tuples = [tuple(row.get(name) for name in names) for row in given if isinstance(row, Mapping)]
        columns = _guessed(source, names, tuples, spark)
    else:
        tuples = [_tuple(source, number, row, columns) for number, row in enumerate(given)]
    cells = [_converted(source, number, row, columns) for number, row in enumerate(tuples)]
    try:
        return spark.createDataFrame(cells, columns)
    except (PySparkException, ValueError, TypeError) as error:
        raise GivenRowsError(f"the rows given for '{source}' cannot be taken: {error}") from None


def listed_rows(source: str, rows: object) -> list[GivenRow]:
    """Return rows as a list; raises GivenRowsError for what is none."""
    found = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, Mapping | str) else None
    if found is None or not all(_is_row(row) for row in found):
        odd = rows if found is None else next(row for row in found if not _is_row(row))
        raise GivenRowsError(f"'{source}' was given {shown(odd)}\n  allowed: rows in a list")
    return found


def _is_row(row: object) -> bool:
    return isinstance(row, Mapping | Sequence) and not isinstance(row, str)


def _tuple(source: str, number: int, row: GivenRow, columns: StructType) -> tuple[object, ...]:
    names = [field.name for field in columns]
    if not isinstance(row, Mapping):
        if len(row) != len(names):
            raise GivenRowsError(
                f"row {number} given for '{source}' has {len(row)} values, and the source {len(names)} columns\n"
                f"  allowed: {listing(names)}"
            )
        return tuple(row)
    there = {name.lower(): name for name in names}
    if unknown := [name for name in row if name.lower() not in there]:
        hint = did_you_mean(unknown[0], names)
        raise GivenRowsError(
            f"row {number} given for '{source}' has the column '{unknown[0]}'\n  allowed: {listing(names)}"
            + (f"\n  hint: {hint}" if hint else "")
        )
    cells = {name.lower(): value for name, value in row.items()}
    if len(cells) < len(row):
        raise GivenRowsError(
            f"row {number} given for '{source}' has a column twice: {listing(row)}\n"
            "  hint: Spark does not tell columns apart by upper and lower case"
        )
    absent = [f.name for f in columns if not f.nullable and f.name.lower() not in cells]
    if absent:
        raise GivenRowsError(f"row {number} given for '{source}' has no {listing(absent)}, declared NOT NULL")
    return tuple(cells.get(name.lower()) for name in names)


def _names(source: str, rows: Sequence[GivenRow]) -> list[str]:
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        found = "no rows" if not rows else "rows without names"
        raise GivenRowsError(
            f"'{source}' was given {found}, and declares no schema\n"
            '  allowed: dicts; or rows with a schema: Rows("carrier STRING, delay INT", [("AA", 40)])'
        )
    return list(dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row))


def _guessed(source: str, names: Sequence[str], rows: Sequence[Sequence[object]], spark: SparkSession) -> StructType:
    """Infer types from values; a column of only NULLs has none."""
    fields = []
    for position, name in enumerate(names):
        values = [(row[position],) for row in rows if row[position] is not None]
        kinds = {type(value) for (value,) in values}
        if not values:
            raise GivenRowsError(
                f"column '{name}' given for '{source}' has no value, so its type is unknown\n"
                f'  allowed: rows with a schema: Rows("{name} STRING, …", […])'
            )
        if len(kinds) > 1 and kinds != {int, float}:
            found = listing(sorted(kind.__name__ for kind in kinds))
            raise GivenRowsError(f"column '{name}' given for '{source}' has values of several types: {found}")
        if float in kinds:
            values = [(_double(value),) for (value,) in values]
        try:
            fields.append(StructField(name, spark.createDataFrame(values, [name]).schema[0].dataType))
        except (PySparkException, ValueError, TypeError) as error:
            raise GivenRowsError(f"column '{name}' given for '{source}' has values of no type: {error}") from None
    return StructType(fields)


def _converted(source: str, number: int, row: Sequence[object], columns: StructType) -> tuple[object, ...]:
    cells = []
    for field, value in zip(columns, row, strict=True):
        try:
            cells.append(_cell(value, field.dataType))
        except (ValueError, TypeError, InvalidOperation):
            raise GivenRowsError(
                f"row {number} given for '{source}': {field.name} is {value!r}\n  allowed: {type_words(field.dataType)}"
            ) from None
    return tuple(cells)


def _cell(value: object, kind: DataType) -> object:
    """Convert a value to its column's type: a date from text; a time without a zone is in UTC."""
    if isinstance(kind, ArrayType) and isinstance(value, list | tuple):
        return [_cell(item, kind.elementType) for item in value]
    if isinstance(kind, MapType) and isinstance(value, Mapping):
        return {key: _cell(item, kind.valueType) for key, item in value.items()}
    if isinstance(kind, StructType) and isinstance(value, Mapping):
        return {field.name: _cell(value.get(field.name), field.dataType) for field in kind}
    convert = _CONVERSIONS.get(type(kind))
    return value if value is None or convert is None else convert(value)


def _bytes(value: object) -> object:
    return value.encode() if isinstance(value, str) else value


def _date(value: object) -> object:
    return date.fromisoformat(value) if isinstance(value, str) else value


def _time(value: object) -> object:
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    return time.replace(tzinfo=UTC) if isinstance(time, datetime) and not time.tzinfo else time


def _local_time(value: object) -> object:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _decimal(value: object) -> object:
    return Decimal(str(value)) if isinstance(value, str | int | float) else value


def _double(value: object) -> object:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole else value  # type: ignore[arg-type]  # it is an int


_CONVERSIONS: Mapping[type[DataType], Callable[[object], object]] = {
    BinaryType: _bytes,
    DateType: _date,
    DecimalType: _decimal,
    DoubleType: _double,
    FloatType: _double,
    TimestampNTZType: _local_time,
    TimestampType: _time,
}
