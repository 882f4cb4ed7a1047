"""Operators that call user functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DateType, StructField, StructType, TimestampNTZType, TimestampType

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import (
    ApplyInPandas,
    Batches,
    Iterate,
    KeyedProcess,
    MapPartitions,
    Process,
    Transform,
)
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.columns.alignment import all_nullable
from graph_compiler.spark_runtime.driver_process import call_function
from graph_compiler.spark_runtime.operators.columns import ColumnsError, event_times, require_columns
from graph_compiler.spark_runtime.operators.decisions import fix_columns, must_decide_once
from graph_compiler.spark_runtime.operators.keyed_process import TIME, ProcessPlan, SparkProcess, StateType, in_batches
from graph_compiler.spark_runtime.operators.pandas_frames import (
    exact,
    with_named_columns,
    without_long_intervals,
    without_null,
)
from graph_compiler.spark_runtime.operators.scope import Scope, all_outputs, main_output
from graph_compiler.spark_runtime.operators.state_values import KEY_TYPES, VALUE_TYPES, is_key_type, is_value_type
from graph_compiler.spark_runtime.spark_internals.columns_by_name import found_by_name
from graph_compiler.spark_runtime.spark_internals.exact_schemas import with_not_null


@main_output.register
def _(operator: Transform, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return _dataframe(call_function(operator.load(scope.parameters), *inputs), operator.function)


@main_output.register
def _(operator: MapPartitions, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    if operator.batches is Batches.ARROW:
        batches, named = inputs[0], with_named_columns(operator.load(scope.parameters), operator.schema)
        return _with_declared_columns(operator, scope, lambda s: found_by_name(batches).mapInArrow(named, s))
    rows = without_long_intervals(inputs[0], str(operator.function), scope)
    function: Any = _over_pandas(operator, rows, scope)  # Spark checks what it gives
    return _with_declared_columns(operator, scope, lambda s: found_by_name(rows).mapInPandas(function, s))


@main_output.register
def _(operator: ApplyInPandas, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows = without_long_intervals(inputs[0], str(operator.function), scope)
    function: Any = _over_pandas(operator, rows, scope)  # as above
    grouped = found_by_name(rows).groupBy(*map(quoted, operator.keys))
    return _with_declared_columns(operator, scope, lambda schema: grouped.applyInPandas(function, schema))


@main_output.register
def _(operator: KeyedProcess, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows = inputs[0]
    plan = _process_plan(operator, rows, scope)
    found = {field.name.lower(): field for field in rows.schema.fields}
    time = "CAST(NULL AS BIGINT)" if operator.time is None else f"unix_micros({_as_timestamp(found, operator.time)})"
    keys = [
        f"{_stored(found[key.lower()])} AS {name}" for key, name in zip(operator.keys, plan.key_columns, strict=True)
    ]
    prepared = rows.selectExpr("*", *keys, f"{time} AS {TIME}")
    if not rows.isStreaming:
        by_key = prepared.repartition(*plan.key_columns).sortWithinPartitions(*plan.key_columns, TIME)
        return found_by_name(by_key).mapInArrow(in_batches(plan), plan.result)
    if operator.time is not None and operator.time.lower() not in event_times(rows):
        raise ColumnsError(
            f"'{operator.time}' is not the event time any more, and no timer would fire",
            "keep the column of assign_timestamps_and_watermarks(…) as it is, or call it just before",
        )
    mode = "EventTime" if plan.has_time else "ProcessingTime" if operator.has_time_to_live else "None"
    in_groups = found_by_name(prepared).groupBy(*plan.key_columns)
    return in_groups.transformWithState(SparkProcess(plan), plan.result, "Append", mode)


def _process_plan(operator: KeyedProcess, rows: DataFrame, scope: Scope) -> ProcessPlan:
    """Return what workers need; raises ColumnsError for missing columns, and types that keys or states cannot have."""
    times = () if operator.time is None else (operator.time,)
    require_columns(rows, (*operator.keys, *times))
    by_name = {field.name.lower(): field for field in rows.schema.fields}
    keys = [by_name[key.lower()] for key in operator.keys]
    if wrong := next((field for field in keys if not is_key_type(field.dataType)), None):
        kind = wrong.dataType.simpleString().upper()
        raise ColumnsError(f"its key '{wrong.name}' is of type {kind}\n  allowed: {KEY_TYPES}", "cast it before")
    if operator.time is not None and not isinstance(
        by_name[operator.time.lower()].dataType, TimestampType | TimestampNTZType
    ):
        raise ColumnsError(f"its time '{operator.time}' is no TIMESTAMP", "cast it before")
    result = DataType.fromDDL(operator.schema)
    if not isinstance(result, StructType) or not is_value_type(result):
        raise ColumnsError(f"its schema is {operator.schema}\n  allowed: columns of {VALUE_TYPES}", None)
    return ProcessPlan(
        name=str(operator.function),
        function=operator.load(scope.parameters),
        rows=rows.schema,
        key_types=tuple(field.dataType for field in keys),
        result=result,
        states=tuple(map(StateType.of, operator.states)),
        has_time=operator.time is not None,
    )


def _stored(field: StructField) -> str:
    """Return the expression of a key's stored value."""
    column = quoted(field.name)
    match field.dataType:
        case DateType():
            return f"unix_date({column})"
        case TimestampType():
            return f"unix_micros({column})"
        case TimestampNTZType():
            return f"unix_micros(CAST({column} AS TIMESTAMP))"
        case _:
            return column


def _as_timestamp(found: Mapping[str, StructField], time: str) -> str:
    return f"CAST({quoted(found[time.lower()].name)} AS TIMESTAMP)"


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


def _over_pandas(operator: MapPartitions | ApplyInPandas, rows: DataFrame, scope: Scope) -> Callable[..., object]:
    """Return the function with checks of its frames."""
    return exact(operator.load(scope.parameters), str(operator.function), rows.schema, _declared(operator))


def _with_declared_columns(
    operator: MapPartitions | ApplyInPandas, scope: Scope, call: Callable[[StructType], DataFrame]
) -> DataFrame:
    """Return the rows of a call with the declared columns; a NULL in one that is NOT NULL fails the task.

    Spark takes NOT NULL as a promise: for it, `v IS NULL` is false of a NULL that a function returns.
    """
    declared = _declared(operator)
    loose = all_nullable(declared)
    if loose == declared:
        return call(declared)
    return with_not_null(without_null(call(loose), declared, str(operator.function), scope), declared)


def _declared(operator: MapPartitions | ApplyInPandas) -> StructType:
    schema = DataType.fromDDL(operator.schema)
    return schema if isinstance(schema, StructType) else StructType()


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
