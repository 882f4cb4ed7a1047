"""Operators that call user functions."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import ApplyInPandas, Batches, Iterate, MapPartitions, Process, Transform
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.driver_process import call_function
from graph_compiler.spark_runtime.operators.columns import ColumnsError
from graph_compiler.spark_runtime.operators.decisions import fix_columns, must_decide_once
from graph_compiler.spark_runtime.operators.pandas_frames import exact, without_long_intervals
from graph_compiler.spark_runtime.operators.scope import Scope, all_outputs, main_output


@main_output.register
def _(operator: Transform, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return _dataframe(call_function(operator.load(scope.parameters), *inputs), operator.function)


@main_output.register
def _(operator: MapPartitions, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    if operator.batches is Batches.ARROW:
        function = operator.load(scope.parameters)
        return inputs[0].mapInArrow(function, operator.schema)  # type: ignore[arg-type]  # Spark checks what it gives
    rows = without_long_intervals(inputs[0], str(operator.function), scope)
    function, schema = _over_pandas(operator, rows, scope)
    return rows.mapInPandas(function, schema)  # type: ignore[arg-type]  # Spark checks what it gives


@main_output.register
def _(operator: ApplyInPandas, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows = without_long_intervals(inputs[0], str(operator.function), scope)
    function, schema = _over_pandas(operator, rows, scope)
    return rows.groupBy(*operator.keys).applyInPandas(function, schema)  # type: ignore[arg-type]  # as above


@main_output.register
def _(operator: Process, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return _process(operator, inputs, scope)[None]


@all_outputs.register
def _(operator: Process, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    fixed = [fix_columns(rows) if must_decide_once(rows) else rows for rows in inputs]
    return _process(operator, fixed, scope)


@main_output.register
def _(operator: Iterate, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    step = operator.load(scope.parameters)
    state, *others = inputs
    for _round in range(1 if scope.is_dry else operator.max_iterations):
        state = scope.materialize("round", _dataframe(call_function(step, state, *others), operator.function))
        if operator.until is not None and _holds(operator.until, state, scope):
            break
    return state


def _over_pandas(
    operator: MapPartitions | ApplyInPandas, rows: DataFrame, scope: Scope
) -> tuple[Callable[..., object], DataType]:
    """Return the function with checks of its frames, and the type of its result."""
    schema = DataType.fromDDL(operator.schema)
    columns = schema if isinstance(schema, StructType) else StructType()
    function = operator.load(scope.parameters)
    return exact(function, str(operator.function), rows.schema, columns), schema


def _process(operator: Process, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    given = call_function(operator.load(scope.parameters), *inputs)
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], dict)):
        raise TypeError(
            f"{operator.function} returned a {type(given).__name__}; it must return (DataFrame, {{tag: DataFrame}})"
        )
    main, sides = given
    if set(sides) != set(operator.tags):
        raise ColumnsError(
            f"{operator.function} returned the side outputs {listing(sides)}",
            f"process(…, outputs=…) names {listing(operator.tags)}",
        )
    return {None: _dataframe(main, operator.function)} | {
        tag: _dataframe(rows, operator.function) for tag, rows in sides.items()
    }


def _holds(condition: str, state: DataFrame, scope: Scope) -> bool:
    answer = scope.stop_clock(scope.select(scope.expression(condition), state))
    row = None if scope.is_dry else answer.first()
    return row is not None and row[0] is True


def _dataframe(given: object, function: FunctionRef) -> DataFrame:
    if not isinstance(given, DataFrame):
        raise TypeError(f"{function} returned a {type(given).__name__}; it must return a DataFrame")
    return given
