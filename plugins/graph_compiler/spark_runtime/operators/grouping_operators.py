"""Operators that group rows by key, with Spark's own exchange: after a partial aggregation if possible."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType, VariantType

from graph_compiler.declaration.operators import Aggregate, AggregateAll, Deduplicate, WindowAggregate
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.operators.columns import ColumnsError, event_times, require_columns
from graph_compiler.spark_runtime.operators.scope import Scope, all_outputs, listed, main_output
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.versions import keeps_zeros_apart

_RANK, _KEY = "graph_compiler_rank", "graph_compiler_key_"


@main_output.register
def _(operator: Aggregate, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_columns(inputs[0], operator.keys)
    keys = listed(operator.keys)
    groups = keys
    if operator.grouping_sets is not None:
        sets = ", ".join(f"({listed(keys)})" for keys in operator.grouping_sets)
        groups = f"GROUPING SETS ({sets})"
    return scope.select(f"{keys}, {scope.named(operator.aggregates)}", inputs[0], f"GROUP BY {groups}")


@main_output.register
def _(operator: AggregateAll, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select(scope.named(operator.aggregates), inputs[0])


@main_output.register
def _(operator: WindowAggregate, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_columns(inputs[0], (*operator.keys, operator.window.time))
    window = operator.window.spark_function()
    ends = f"{window}.start AS window_start, {window}.end AS window_end"
    keys = [quoted(key) for key in operator.keys]
    columns = ", ".join([*keys, ends, scope.named(operator.aggregates)])
    return scope.select(columns, inputs[0], f"GROUP BY {', '.join([*keys, window])}")


@all_outputs.register
def _(operator: WindowAggregate, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    rows = inputs[0]
    is_late = lit(False) if scope.passed is None else expr(operator.window.last_end()) <= scope.passed
    return {None: main_output(operator, inputs, scope), operator.late_data: rows.where(is_late)}


@main_output.register
def _(operator: Deduplicate, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows = inputs[0]
    require_columns(rows, operator.keys)
    if rows.isStreaming:
        return _first_to_arrive(operator, rows)
    if not operator.order_by:
        return rows.dropDuplicates(list(operator.keys)) if operator.keys else rows.distinct()
    keys = {key.lower() for key in operator.keys}
    others = [
        quoted(field.name)
        for field in rows.schema.fields
        if field.name.lower() not in keys and _is_orderable(field.dataType)
    ]
    order = ", ".join([scope.order(operator.order_by), *others])
    window = f"OVER (PARTITION BY {listed(operator.keys)} ORDER BY {order})"
    ranked = scope.select(f"*, row_number() {window} AS {_RANK}", rows)
    return ranked.where(f"{_RANK} = 1").drop(_RANK)


def _first_to_arrive(operator: Deduplicate, rows: DataFrame) -> DataFrame:
    """Return the rows of a stream that are the first of their key; raises ColumnsError if no column is the event time.

    If that is one of the keys, equal rows have equal times, and what the watermark has passed cannot come again. Else
    Spark remembers a key for as long as rows may be out of order, behind the time of the row that it has kept.
    """
    if not (times := event_times(rows)):
        raise ColumnsError(
            "none of its columns is the event time any more, and keys would never be forgotten",
            "keep the column of assign_timestamps_and_watermarks(…) as it is, or call it just before",
        )
    has_time = not operator.keys or not times.isdisjoint(key.lower() for key in operator.keys)
    keys: list[str] | None = list(operator.keys) or None
    columns = rows.columns
    if keeps_zeros_apart(rows.sparkSession):
        rows, keys = _with_equal_zeros(rows, operator.keys or columns)
    unique = rows.dropDuplicates(keys) if has_time else rows.dropDuplicatesWithinWatermark(keys)
    return unique.drop(*rows.columns[len(columns) :])


def _with_equal_zeros(rows: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, list[str]]:
    """Return rows with more columns, which are equal for equal keys, and the names of those to compare.

    Spark compares 0.0 for -0.0, but not here before 4.2. Raises ColumnsError for numbers within a key.
    """
    fields = {field.name.lower(): field.dataType for field in rows.schema.fields}
    compared = []
    for place, key in enumerate(keys):
        kind = fields[key.lower()]
        if isinstance(kind, FloatType | DoubleType):
            compared.append(f"{_KEY}{place}")
            rows = rows.withColumn(compared[-1], expr(f"{quoted(key)} + CAST(0 AS {kind.simpleString()})"))
        elif _has_zeros(kind):
            raise ColumnsError(
                f"its key '{key}' has numbers that may be 0.0 and -0.0, and Spark {rows.sparkSession.version} would "
                "publish a row for each",
                "Spark 4.2 or later; or numbers as DECIMAL within the key",
            )
        else:
            compared.append(key)
    return rows, compared


def _has_zeros(kind: DataType) -> bool:
    """Whether numbers of floating point are within a type."""
    if isinstance(kind, StructType):
        return any(_has_zeros(field.dataType) for field in kind)
    return _has_zeros(kind.elementType) if isinstance(kind, ArrayType) else isinstance(kind, FloatType | DoubleType)


def _is_orderable(type: DataType) -> bool:
    if isinstance(type, StructType):
        return all(_is_orderable(field.dataType) for field in type.fields)
    if isinstance(type, ArrayType):
        return _is_orderable(type.elementType)
    return not isinstance(type, MapType | VariantType) and type.typeName() != "interval"
