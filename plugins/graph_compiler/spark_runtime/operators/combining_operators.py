"""Operators with several inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors.connector import ChangeKind
from graph_compiler.declaration.operators import (
    Except,
    Intersect,
    IntervalJoin,
    Join,
    JoinType,
    SetOperator,
    Sql,
    UnionByName,
)
from graph_compiler.declaration.operators.known_columns import only_in_one
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.columns.alignment import align, by_name, united, with_all_fields
from graph_compiler.spark_runtime.columns.schema_change import find_changes
from graph_compiler.spark_runtime.operators.columns import (
    ColumnsError,
    event_times,
    has_column,
    require_columns,
    require_common_types,
    require_comparable,
    require_time,
)
from graph_compiler.spark_runtime.operators.scope import Scope, main_output

_LEFT, _RIGHT, _PREFIX = "graph_compiler_left", "graph_compiler_right", "graph_compiler_"
_MISSING = frozenset({ChangeKind.DROPPED, ChangeKind.RENAMED})
_SQL: Mapping[JoinType, str] = {
    JoinType.INNER: "INNER JOIN",
    JoinType.LEFT: "LEFT OUTER JOIN",
    JoinType.RIGHT: "RIGHT OUTER JOIN",
    JoinType.FULL: "FULL OUTER JOIN",
    JoinType.SEMI: "LEFT SEMI JOIN",
    JoinType.ANTI: "LEFT ANTI JOIN",
    JoinType.CROSS: "CROSS JOIN",
}


@main_output.register
def _(operator: Join, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return _join(operator, inputs, scope)


@main_output.register
def _(operator: IntervalJoin, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_time(inputs[0], operator.left_time, "the left side")
    require_time(inputs[1], operator.right_time, "the right side")
    if all(rows.isStreaming for rows in inputs):
        for rows, side, time in zip(inputs, ("left", "right"), (operator.left_time, operator.right_time), strict=True):
            if time.lower() not in event_times(rows):
                raise ColumnsError(
                    f"'{time}' of the {side} side is not the event time any more, and rows would never be forgotten",
                    "keep the column of assign_timestamps_and_watermarks(…) as it is, or call it just before",
                )
    left, right = f"`left`.{quoted(operator.left_time)}", f"`right`.{quoted(operator.right_time)}"
    bounds = [f"{left} + INTERVAL '{bound}'" for bound in (operator.lower, operator.upper)]
    condition = f"{right} BETWEEN {bounds[0]} AND {bounds[1]}"
    times = (operator.left_time, operator.right_time)
    return _join(Join(operator.on, JoinType.INNER, condition), inputs, scope, (times,))


@main_output.register(Intersect)
@main_output.register(Except)
def _(operator: SetOperator, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    left, right = inputs
    if odd := only_in_one(left.columns, right.columns):
        raise ColumnsError(f"its inputs have different columns: only one has {listing(odd)}")
    require_common_types(inputs, "it compares rows")
    operations: dict[tuple[type, bool], Callable[[DataFrame, DataFrame], DataFrame]] = {
        (Intersect, False): DataFrame.intersect,
        (Intersect, True): DataFrame.intersectAll,
        (Except, False): DataFrame.subtract,
        (Except, True): DataFrame.exceptAll,
    }
    left, right = _with_same_fields([left, right.select(*map(quoted, left.columns))])
    return operations[type(operator), operator.all](left, right)


@main_output.register
def _(operator: UnionByName, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    fields = united(*(rows.schema for rows in inputs))
    inputs = [_in_order(rows, fields) for rows in inputs]
    require_common_types(inputs, "it combines rows")
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), inputs)


@main_output.register
def _(operator: Sql, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    query = operator.reading({name: quoted(_PREFIX + name) for name in operator.names})
    tables = {_PREFIX + name: rows for name, rows in zip(operator.names, inputs, strict=True)}
    return scope.any_query(query, tables)


def union(streams: list[DataFrame]) -> DataFrame:
    """Return the union of streams, with columns matched by name; raises ColumnsError if they differ."""
    first, *others = streams
    if not others:
        return first
    for other in others:
        if odd := only_in_one(first.columns, other.columns):
            raise ColumnsError(
                f"it reads a union of streams with different columns: only one has {listing(odd)}",
                "select the same columns from each, or union_by_name(…, allow_missing_columns=True)",
            )
    streams = _with_same_fields(streams)
    require_common_types(streams, "it reads a union of streams")
    return reduce(DataFrame.unionByName, streams)


def _with_same_fields(streams: list[DataFrame]) -> list[DataFrame]:
    """Return streams whose structs have their fields in the same order; raises ColumnsError if the fields differ.

    Spark compares and unites structs by position, unless they are outside of maps and its union is by name.
    """
    fields = united(*(rows.schema for rows in streams))
    changes = [change for rows in streams for change in find_changes(fields, rows.schema)]
    if odd := sorted({change.column for change in changes if change.kind in _MISSING}):
        raise ColumnsError(
            f"its inputs have structs with different fields: only some have {listing(odd)}",
            "select structs with the same fields, or union_by_name(…, allow_missing_columns=True)",
        )
    return [_in_order(rows, fields) for rows in streams]


def _in_order(rows: DataFrame, fields: StructType) -> DataFrame:
    """Return the same columns with all fields of structs, in their order, and with the types they have."""
    there = by_name(fields)
    kept = StructType([there[name.lower()] for name in rows.columns])
    return align(rows, with_all_fields(rows.schema, kept))


def _join(
    operator: Join, inputs: list[DataFrame], scope: Scope, compared: tuple[tuple[str, str], ...] = ()
) -> DataFrame:
    """Return the rows of a join; `compared` are columns that its condition compares."""
    left, right = inputs
    require_columns(left, [name for name, _ in operator.on], "the left side of the join")
    require_columns(right, [name for _, name in operator.on], "the right side of the join")
    equal = [f"`left`.{quoted(one)} = `right`.{quoted(other)}" for one, other in operator.on]
    conditions = [*equal, *([scope.expression(operator.condition)] if operator.condition else [])]
    on = f"ON {' AND '.join(conditions)}" if conditions else ""
    columns = _columns(operator, left, right)
    require_comparable(left, right, (*operator.on, *compared))
    return scope.query(
        f"SELECT {', '.join(columns)} FROM {_LEFT} AS `left` {_SQL[operator.how]} {_RIGHT} AS `right` {on}",
        {_LEFT: left, _RIGHT: right},
    )


def _columns(operator: Join, left: DataFrame, right: DataFrame) -> list[str]:
    """Return the columns of a join: keys with the same name once, then the other columns of left and right."""
    keys = [one for one, other in operator.on if one.lower() == other.lower()]
    shared = {key.lower() for key in keys}
    one, other = ([name for name in rows.columns if name.lower() not in shared] for rows in (left, right))
    found = [*(_key(key, operator.how) for key in keys), *(f"`left`.{quoted(name)}" for name in one)]
    if operator.how in (JoinType.SEMI, JoinType.ANTI):
        return found
    if both := [name for name in one if has_column(right, name)]:
        raise ColumnsError(
            f"both sides of the join have columns called {listing(both)}",
            f'rename one: rename({{"{both[0]}": "{both[0]}_2"}}), or join on it too',
        )
    return [*found, *(f"`right`.{quoted(name)}" for name in other)]


def _key(name: str, how: JoinType) -> str:
    """Return the key column of the side that always has one."""
    if how is JoinType.FULL:
        return f"coalesce(`left`.{quoted(name)}, `right`.{quoted(name)}) AS {quoted(name)}"
    return f"`{'right' if how is JoinType.RIGHT else 'left'}`.{quoted(name)}"
