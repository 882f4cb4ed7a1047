"""Rows as Python values for assertions in tests: dicts by column, timestamps in UTC without a zone.

Rows go through Arrow: PySpark's `collect` returns timestamps in the machine's zone. Types that Arrow does not have,
such as intervals of months, are returned as Spark's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeAlias

import pyarrow
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import listing, quoted

Row: TypeAlias = dict[str, object]


class SameNameError(GraphCompilerError):
    """Several columns have the same name, so a dict cannot hold them."""


def collect_rows(rows: DataFrame) -> list[Row]:
    """Return all rows, in Spark's order; raises SameNameError for duplicate column names."""
    names = rows.columns
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SameNameError(
            f"several columns are called {listing(twice)}\n  hint: rename them in the pipeline: .rename(…), .select(…)"
        )
    kinds = [field.dataType for field in rows.schema]
    columns = [
        col(quoted(name)) if _has_arrow_type(kind) else col(quoted(name)).cast("string")
        for name, kind in zip(names, kinds, strict=True)
    ]
    table = rows.select(*columns).toArrow()
    return [dict(zip(names, cells, strict=True)) for cells in _cells(table, kinds)]


def _has_arrow_type(kind: DataType) -> bool:
    try:
        to_arrow_type(kind, timezone="UTC")
    except PySparkException:
        return False
    return True


def _cells(table: pyarrow.Table, kinds: list[DataType]) -> Iterator[tuple[object, ...]]:
    if not kinds:
        yield from [()] * table.num_rows
        return
    columns = [
        [_value(value, kind) for value in column.to_pylist()]
        for column, kind in zip(table.columns, kinds, strict=True)
    ]
    yield from zip(*columns, strict=True)


def _value(value: object, kind: DataType) -> object:
    """Return Arrow's value as a test would write it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(kind, ArrayType) and isinstance(value, list):
        return [_value(item, kind.elementType) for item in value]
    if isinstance(kind, MapType) and isinstance(value, list):
        return {key: _value(item, kind.valueType) for key, item in value}
    if isinstance(kind, StructType) and isinstance(value, dict):
        return {field.name: _value(value[field.name], field.dataType) for field in kind}
    return value
