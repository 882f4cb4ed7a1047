"""Functions over pandas and Arrow: what a frame or a batch, or a column of the result, would change fails the task.

    BIGINT 9007199254740993 beside a NULL   →  a column of doubles, which has 9007199254740992: refused
    a result 1.5, Decimal('1.5') for INT     →  Spark would cut it to 1: refused
    a batch of Arrow with columns b, a       →  Spark takes them by position: they are found by name

Arrow checks the rest of what a function returns (`spark.sql.execution.pandas.convertToArrowArraySafely`, which every
session has). Spark pickles what this module returns by value: Python workers need only the function's module.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DayTimeIntervalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
)

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.operators.scope import Scope
from graph_compiler.spark_runtime.spark_internals.versions import rounds_within_lists

_ROUNDED = "pandas would round column "
_MISNAMED = "its function returns columns "
_CUT = "its function returns a number with a fraction for column "
_TOO_LONG = "pandas cannot hold column "
_UNSAFE = re.compile(
    r"column '(?P<column>.*?)' with type '(?P<found>.*?)' to Arrow type '(?P<wanted>.*?)'"
    r"|pandas\.Series \((?P<found_4_1>.*?)\) with name '(?P<column_4_1>.*?)' to Arrow Array \((?P<wanted_4_1>.*?)\)"
)
_OUT_OF_BOUNDS = re.compile(r"from timestamp\[us.*to timestamp\[ns.* out of bounds")
_Check = Callable[[Any], None]
_Finds = Callable[[Any], bool]


def exact(function: Callable[..., object], name: str, rows: StructType, result: StructType) -> Callable[..., object]:
    """Return a function over pandas with checks of the frames that it is called with, and of those that it returns.

    `rows` and `result` are their columns; messages contain `name`, by which failures find the operator.
    """
    look, look_at_result = _refuse_rounded(name, rows), _refuse_cut(name, result)

    @wraps(function)
    def checked(*inputs: object) -> object:
        def frames(found: Iterator[Any], check: _Check) -> Iterator[Any]:
            for frame in found:
                check(frame)
                yield frame

        def seen(value: Any, check: _Check) -> Any:
            if hasattr(value, "__next__"):
                return frames(value, check)
            check(value)
            return value

        return seen(function(*(seen(each, look) for each in inputs)), look_at_result)

    # Spark counts a function's parameters, and reads their types.
    checked.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # inspect looks here first
    return checked


def with_named_columns(function: Callable[..., object], declared: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function whose batches have the columns of a schema, in its order.

    A batch with other names, one name twice or a column too many raises ValueError where it is made.
    """
    schema = DataType.fromDDL(declared)
    assert isinstance(schema, StructType)
    names, words = list(schema.names), _MISNAMED

    @wraps(function)
    def named(batches: Iterator[Any]) -> Iterator[Any]:
        returned: Iterable[Any] = function(batches)  # type: ignore[assignment]  # another object fails as in Spark
        for batch in returned:
            found = list(getattr(batch, "schema", batch).names)
            if found == names:
                yield batch
            elif sorted(found) == sorted(names):
                yield batch.select(names)
            else:
                raise ValueError(
                    f"{words}{', '.join(found) or 'none'}\n  allowed: those of its schema: {', '.join(names)}"
                )

    return named


def without_long_intervals(rows: DataFrame, name: str, scope: Scope) -> DataFrame:
    """Return the rows; an interval of more than 292 years fails the task, since pandas would make it another one."""
    if not any(isinstance(field.dataType, DayTimeIntervalType) for field in rows.schema):
        return rows
    columns = []
    for field in rows.schema:
        column = quoted(field.name)
        if isinstance(field.dataType, DayTimeIntervalType):
            words = f"{_TOO_LONG}'{field.name}': an INTERVAL of more than 292 years, for {name}"
            text = words.replace("\\", "\\\\").replace("'", "\\'")
            is_long = f"{column} NOT BETWEEN INTERVAL '-106751' DAY AND INTERVAL '106751' DAY"
            column = f"IF({is_long}, raise_error('{text}'), {column}) AS {column}"
        columns.append(column)
    return scope.select(", ".join(columns), rows)


def refusal(message: str) -> list[str]:
    """Return the lines of a message that a check here, or Spark's conversion to and from pandas, has raised."""
    if message.startswith((_ROUNDED, _CUT, _MISNAMED)):
        return [line.strip() for line in message.splitlines()]
    if _OUT_OF_BOUNDS.search(message):
        return [
            "pandas cannot hold a timestamp of its input: a frame has nanoseconds, from 1677-09-22 to 2262-04-11",
            'hint: map_partitions(…, batches="arrow"), or cast the column to DATE or STRING before',
        ]
    if "convertToArrowArraySafely" in message and (found := _UNSAFE.search(message)):
        parts = [found[name] or found[f"{name}_4_1"] for name in ("column", "found", "wanted")]
        return [
            f"its function returns values for column '{parts[0]}' that its type would change",
            f"found: {parts[1]}; allowed: what {parts[2]} holds exactly",
            "hint: round or convert them in the function, or declare a wider type in its schema",
        ]
    return []


def _refuse_rounded(name: str, rows: StructType) -> _Check:
    """Return a check of BIGINT columns, which Spark makes columns of doubles if a batch has a NULL in them.

    Spark 4.1 does so with lists and maps, too, also within other columns.
    """
    columns = {
        position: field.name
        for position, field in enumerate(rows)
        if isinstance(field.dataType, LongType) and field.nullable
    }
    nested = [
        (position, field.name, is_rounded)
        for position, field in enumerate(rows)
        if isinstance(field.dataType, ArrayType | MapType | StructType)
        and (is_rounded := _within(field.dataType, _large_double)) is not None
        and rounds_within_lists()
    ]
    words = _ROUNDED

    def refuse(column: str, kind: str) -> None:
        raise OverflowError(
            f"{words}'{column}' ({kind}) for {name}: beside a NULL, numbers become doubles\n"
            "  found: numbers of 2^53 (9007199254740992) or more; allowed: smaller ones, or no NULL\n"
            "  hint: cast the column to STRING before, "
            'or use map_partitions(…, batches="arrow")'
        )

    def check(frame: Any) -> None:
        if not hasattr(frame, "columns"):
            return
        doubles = [at for at, kind in enumerate(frame.dtypes) if kind.kind == "f" and at in columns]
        if doubles:
            is_large = (abs(frame.iloc[:, doubles].to_numpy()) >= 2.0**53).any(axis=0)
            if is_large.any():
                refuse(columns[doubles[int(is_large.argmax())]], "BIGINT")
        for at, column, is_rounded in nested:
            if any(map(is_rounded, frame.iloc[:, at])):
                refuse(column, "BIGINT within it")

    return check


def _refuse_cut(name: str, result: StructType) -> _Check:
    """Return a check of whole numbers among Python's objects, whose fractions Arrow cuts without an error."""
    columns = [(field.name, is_cut) for field in result if (is_cut := _within(field.dataType, _fraction)) is not None]
    words, names = _CUT, list(result.names)

    def check(frame: Any) -> None:
        if not hasattr(frame, "columns"):
            return
        objects = [at for at, kind in enumerate(frame.dtypes) if kind.name == "object"]
        if not objects:
            return
        # Spark finds columns by name if there are names, else by position
        labels = list(frame.columns)
        if not any(isinstance(label, str) for label in labels):
            labels = names[: len(labels)]
        for column, is_cut in columns:
            at = labels.index(column) if column in labels else -1
            if at not in objects:
                continue
            values = frame.iloc[:, at]
            found = next((value for value in values if is_cut(value)), None)
            if found is not None:
                raise OverflowError(
                    f"{words}'{column}', of {name}\n  found: {found!r}; allowed: whole numbers\n"
                    "  hint: round it in the function, or declare another type in its schema"
                )

    return check


def _within(kind: DataType, leaf: Callable[[], _Finds]) -> _Finds | None:
    """Return a function that finds what `leaf` finds where a type has whole numbers; None if it has them nowhere."""
    match kind:
        case ByteType() | ShortType() | IntegerType() | LongType():
            return leaf()
        case ArrayType():
            return _in_items(inner) if (inner := _within(kind.elementType, leaf)) else None
        case MapType():
            keys, values = _within(kind.keyType, leaf), _within(kind.valueType, leaf)
            return _in_map(keys, values) if keys or values else None
        case StructType():
            fields = {field.name: _within(field.dataType, leaf) for field in kind}
            return _in_struct(fields) if any(fields.values()) else None
        case _:
            return None


def _fraction() -> _Finds:
    infinite = float("inf")

    def find(value: Any) -> bool:
        if not hasattr(value, "__trunc__") or value != value:  # noqa: PLR0124  # NaN becomes NULL
            return False
        return bool(abs(value) == infinite or value != value.__trunc__())

    return find


def _large_double() -> _Finds:
    def find(value: Any) -> bool:
        return isinstance(value, float) and abs(value) >= 2.0**53

    return find


def _in_items(inner: _Finds) -> _Finds:
    def find(value: Any) -> bool:
        if not hasattr(value, "__iter__") or getattr(value, "dtype", None) in ("int64", "int32"):
            return False
        return any(inner(item) for item in value)

    return find


def _in_map(keys: _Finds | None, values: _Finds | None) -> _Finds:
    def find(value: Any) -> bool:
        pairs = value.items() if hasattr(value, "items") else value or ()
        return any((keys is not None and keys(key)) or (values is not None and values(item)) for key, item in pairs)

    return find


def _in_struct(fields: Mapping[str, _Finds | None]) -> _Finds:
    def find(value: Any) -> bool:
        held = value if hasattr(value, "get") else dict(zip(fields, value or (), strict=False))
        return any(inner is not None and inner(held.get(field)) for field, inner in fields.items())

    return find
