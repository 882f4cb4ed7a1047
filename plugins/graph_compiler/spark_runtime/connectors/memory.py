"""Rows that are not stored: values, ranges, and the results of functions."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from graph_compiler.declaration.connectors import FunctionSource, Range, Values
from graph_compiler.declaration.connectors.memory import Cell
from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import quoted, shown
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words
from graph_compiler.spark_runtime.columns.exact_casts import exact_cast
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.driver_process import call_function


@read.register
def _(connector: Values, reading: Reading) -> Found:
    assert connector.schema is not None, "the compiler refuses values without schema"
    schema = parse_schema(connector.schema)
    texts = StructType([StructField(field.name, _written_as(field.dataType)) for field in schema])
    rows = [tuple(map(_text, row, schema)) for row in connector.rows]
    columns = [
        exact_cast(col(quoted(field.name)), _written_as(field.dataType), field.dataType).alias(field.name)
        for field in schema
    ]
    return Found(rows=reading.spark.createDataFrame(rows, texts).select(*columns), schema=schema)


def _written_as(kind: DataType) -> DataType:
    return ArrayType(StringType()) if isinstance(kind, ArrayType) else StringType()


def _text(cell: Cell, field: StructField) -> object:
    """Return a cell as text, and a list as texts; raises SchemaChangedError for a list in another column, or none."""
    is_list = isinstance(cell, tuple)
    if cell is not None and is_list != isinstance(field.dataType, ArrayType):
        raise SchemaChangedError(
            f"the cell {shown(cell)} is {'' if is_list else 'not '}a list, and column '{field.name}' is "
            f"{type_words(field.dataType)}"
        )
    if isinstance(cell, tuple):
        return [None if item is None else str(item) for item in cell]
    return None if cell is None else str(cell)


@read.register
def _(connector: Range, reading: Reading) -> Found:
    rows = reading.spark.range(connector.start, connector.end, connector.step)
    return Found(rows=rows, schema=rows.schema)


@read.register
def _(connector: FunctionSource, reading: Reading) -> Found:
    rows = call_function(connector.function.load(), reading.spark)
    if not isinstance(rows, DataFrame):
        raise TypeError(f"{connector.function} returned a {type(rows).__name__}; it must return a DataFrame")
    return Found(rows=rows, schema=rows.schema)
