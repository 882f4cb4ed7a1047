"""Functions over pandas and Arrow: what a frame or a batch, or a column of the result, would change fails the task.

    BIGINT 9007199254740993 beside a NULL   →  a column of doubles, which has 9007199254740992: refused
    a result 1.5 for INT, 0.3 for BOOLEAN    →  Spark would make it 1, and true: refused
    a result 1704153600 for TIMESTAMP        →  Spark would take it as microseconds: refused
    a struct Row(b=…, a=…) for STRUCT<a, b>  →  Spark would exchange its values: refused
    a batch of Arrow with columns b, a       →  Spark takes them by position: they are found by name

Arrow checks the rest of what a function returns (`spark.sql.execution.pandas.convertToArrowArraySafely`, which every
session has). Spark pickles what this module returns by value: Python workers need only the function's module.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from functools import wraps
from itertools import chain
from types import NoneType
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.strict_values import sql_literal
from graph_compiler.spark_runtime.operators.scope import Scope
from graph_compiler.spark_runtime.spark_internals.versions import rounds_within_lists

_ROUNDED = "pandas would round column "
_MISNAMED = "its function returns columns "
_CHANGED = "its function returns a value that its type would change, in column "
_TOO_LONG = "pandas cannot hold column "
_NO_VALUE = "its function returns NULL for column "
_UNSAFE = re.compile(
    r"column '(?P<column>.*?)' with type '(?P<found>.*?)' to Arrow type '(?P<wanted>.*?)'"
    r"|pandas\.Series \((?P<found_4_1>.*?)\) with name '(?P<column_4_1>.*?)' to Arrow Array \((?P<wanted_4_1>.*?)\)"
)
_OUT_OF_BOUNDS = re.compile(r"from timestamp\[us.*to timestamp\[ns.* out of bounds")
_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_Check = Callable[[Any], None]
_Finds = Callable[[Any], str | None]


def exact(function: Callable[..., object], name: str, rows: StructType, result: StructType) -> Callable[..., object]:
    """Return a function over pandas with checks of the frames that it is called with, and of those that it returns.

    `rows` and `result` are their columns; messages contain `name`, by which failures find the operator.
    """
    look, look_at_result = _refuse_rounded(name, rows), _refuse_changed(name, result)

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
            is_long = f"{column} NOT BETWEEN INTERVAL '-106751' DAY AND INTERVAL '106751' DAY"
            column = f"IF({is_long}, raise_error({sql_literal(words)}), {column}) AS {column}"
        columns.append(column)
    return scope.select(", ".join(columns), rows)


def without_null(rows: DataFrame, declared: StructType, name: str, scope: Scope) -> DataFrame:
    """Return a function's rows; a NULL where its schema says NOT NULL, at any depth, fails the task.

    It is a condition on rows, not on columns: it also holds where nothing reads the column.
    """
    checks = []
    for field in declared:
        if condition := _has_null(quoted(field.name), field.dataType, field.nullable):
            words = f"{_NO_VALUE}'{field.name}', which its schema declares NOT NULL: {name}"
            checks.append(f"IF({condition}, raise_error({sql_literal(words)}), true)")
    return scope.select("*", rows, f"WHERE {' AND '.join(checks)}") if checks else rows


def _has_null(value: str, kind: DataType, nullable: bool, depth: int = 0) -> str:
    """Return a condition on a value that has a NULL where its type does not allow one; empty if it cannot have one."""
    item = f"item_{depth}"

    def within(values: str, of: DataType, nullable: bool) -> str:
        inner = _has_null(item, of, nullable, depth + 1)
        return inner and f"coalesce(exists({values}, {item} -> {inner}), false)"

    match kind:
        case StructType():
            fields = (_has_null(f"{value}.{quoted(f.name)}", f.dataType, f.nullable, depth) for f in kind)
            found = " OR ".join(filter(None, fields))
            inner = [found and f"({value} IS NOT NULL AND ({found}))"]
        case ArrayType():
            inner = [within(value, kind.elementType, kind.containsNull)]
        case MapType():
            inner = [
                within(f"map_keys({value})", kind.keyType, True),
                within(f"map_values({value})", kind.valueType, kind.valueContainsNull),
            ]
        case _:
            inner = []
    return " OR ".join(filter(None, ["" if nullable else f"{value} IS NULL", *inner]))


def refusal(message: str) -> list[str]:
    """Return the lines of a message that a check here, or Spark's conversion to and from pandas, has raised."""
    if message.startswith((_ROUNDED, _CHANGED, _MISNAMED)):
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
        and (is_rounded := _within(field.dataType, _large_double, has_fields=False)) is not None
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


def _refuse_changed(name: str, result: StructType) -> _Check:
    """Return a check of what Spark and Arrow would change without an error: 0.3 for BOOLEAN, 5 for TIMESTAMP."""
    columns = [(field.name, _change_of_type(field.dataType), _change_in_objects(field.dataType)) for field in result]
    columns = [each for each in columns if any(each)]
    words, names = _CHANGED, list(result.names)

    def check(frame: Any) -> None:
        if not hasattr(frame, "columns"):
            return
        # Spark finds columns by name if there are names, else by position
        labels = list(frame.columns)
        if not any(isinstance(label, str) for label in labels):
            labels = names[: len(labels)]
        for column, of_type, in_objects in columns:
            if column not in labels:
                continue
            values = frame.iloc[:, labels.index(column)]
            find = in_objects if values.dtype.kind == "O" else of_type
            if find is not None and (found := find(values)):
                raise OverflowError(
                    f"{words}'{column}', of {name}\n  {found}\n"
                    "  hint: round or convert it in the function, or declare another type in its schema"
                )

    return check


def _change_of_type(kind: DataType) -> _Finds | None:
    """Return what finds a change in a column of numbers or times; None if Arrow finds all.

    A column of floats without a value is one of NULLs, whatever its type is declared to be.
    """
    allowed, refused, _ = _RULES.get(type(kind), ("", "", ()))
    is_flag, is_single = isinstance(kind, BooleanType), isinstance(kind, FloatType)
    is_local = isinstance(kind, DateType | TimestampNTZType)
    if not (refused or is_flag or is_single or is_local):
        return None

    def changed(values: Any) -> Any:
        present = values.dropna()
        found = values.dtype.kind
        if found in refused:
            return present
        if is_flag and found in "iuf":
            return present[(present != 0) & (present != 1)]
        if is_single and found == "f":
            size = present.astype("float64").abs()
            return present[(size >= 3.4028235677973366e38) & (size != float("inf"))]
        arrow = getattr(values.dtype, "pyarrow_dtype", None)
        if is_local and getattr(arrow or values.dtype, "tz", None) is not None:
            return present[present.dt.tz_localize(None) != present.dt.tz_convert("UTC").dt.tz_localize(None)]
        return ()

    def find(values: Any) -> str | None:
        wrong = changed(values)
        return f"found: {wrong.iloc[0]} ({values.dtype}); allowed: {allowed}" if len(wrong) else None

    return find


def _change_in_objects(kind: DataType) -> _Finds | None:
    """Return what finds a change in a column of Python's objects; None if Arrow finds all."""
    find = _within(kind, _change, has_fields=True)
    if find is None:
        return None
    inner, plain = find, frozenset(_RULES.get(type(kind), ("", "", ()))[2])

    def find_first(values: Any) -> str | None:
        if set(map(type, values)) <= plain:
            return None
        return next(filter(None, map(inner, values)), None)

    return find_first


def _within(kind: DataType, leaf: Callable[[DataType], _Finds | None], *, has_fields: bool) -> _Finds | None:
    """Return a function that finds what `leaf` finds anywhere in a value; None if it looks nowhere.

    With `has_fields`, it finds structs with other fields, too.
    """

    def inner(part: DataType) -> _Finds | None:
        return _within(part, leaf, has_fields=has_fields)

    match kind:
        case ArrayType():
            return _in_items(find, kind.elementType) if (find := inner(kind.elementType)) else None
        case MapType():
            keys, values = inner(kind.keyType), inner(kind.valueType)
            return _in_map(keys, values) if keys or values else None
        case StructType():
            fields = {field.name: inner(field.dataType) for field in kind}
            return _in_struct(fields, has_fields=has_fields) if has_fields or any(fields.values()) else None
        case _:
            return leaf(kind)


def _change(kind: DataType) -> _Finds | None:
    """Return what finds an object that Arrow would change; None for a type whose objects Arrow checks."""
    if type(kind) not in _RULES:
        return None
    allowed, refused, _ = _RULES[type(kind)]
    has_durations = "m" not in refused
    changes_number, changes_time = _change_of_number(kind, refused), _change_of_time(kind, refused)

    def find(value: Any) -> str | None:
        numpys = getattr(getattr(value, "dtype", None), "kind", "")
        if isinstance(value, timedelta) or numpys == "m":
            is_changed = not has_durations or bool(getattr(value, "nanoseconds", 0))
        elif isinstance(value, date | time) or numpys == "M":
            is_changed = changes_time(value)
        else:
            is_changed = hasattr(value, "__trunc__") and changes_number(value)
        return f"found: {value!r}; allowed: {allowed}" if is_changed else None

    return find


def _change_of_number(kind: DataType, refused: str) -> Callable[[Any], bool]:
    is_whole, is_flag = isinstance(kind, _WHOLE), isinstance(kind, BooleanType)
    is_single, has_numbers, infinite = isinstance(kind, FloatType), "i" not in refused, float("inf")

    def is_changed(value: Any) -> bool:
        if value != value:  # noqa: PLR0124  # NaN becomes NULL
            return False
        if is_whole:
            return bool(abs(value) == infinite or value != value.__trunc__())
        if is_single:
            return bool(3.4028235677973366e38 <= abs(value) < infinite)
        return not has_numbers or (is_flag and value not in (0, 1))

    return is_changed


def _change_of_time(kind: DataType, refused: str) -> Callable[[Any], bool]:
    has_times, is_day = "M" not in refused, isinstance(kind, DateType)
    is_local = is_day or isinstance(kind, TimestampNTZType)

    def is_changed(value: Any) -> bool:
        if value != value:  # noqa: PLR0124  # NaT becomes NULL
            return False
        is_cut = bool(getattr(value, "nanosecond", 0)) and not is_day
        return not has_times or is_cut or (is_local and bool(getattr(value, "utcoffset", bool)()))

    return is_changed


def _large_double(kind: DataType) -> _Finds | None:
    if not isinstance(kind, _WHOLE):
        return None

    def find(value: Any) -> str | None:
        return "large" if isinstance(value, float) and abs(value) >= 2.0**53 else None

    return find


def _in_items(inner: _Finds, item: DataType) -> _Finds:
    exact = ("int64", "int32") if isinstance(item, _WHOLE) else ()

    def find(value: Any) -> str | None:
        if not hasattr(value, "__iter__") or getattr(value, "dtype", None) in exact:
            return None
        return next(filter(None, map(inner, value)), None)

    return find


def _in_map(keys: _Finds | None, values: _Finds | None) -> _Finds:
    def find(value: Any) -> str | None:
        pairs = list(value.items() if hasattr(value, "items") else value or ())
        in_keys = () if keys is None else (keys(key) for key, _ in pairs)
        in_values = () if values is None else (values(item) for _, item in pairs)
        return next(filter(None, chain(in_keys, in_values)), None)

    return find


def _in_struct(fields: Mapping[str, _Finds | None], *, has_fields: bool) -> _Finds:
    """Return what finds a change in a struct: Spark takes dictionaries by name, rows and tuples by position."""
    names = list(fields)

    def has_others(value: Any) -> bool:
        if hasattr(value, "get"):
            return not set(value) <= set(names)
        named = getattr(value, "__fields__", getattr(value, "_fields", None))
        return len(value) != len(names) if named is None else list(named) != names

    def find(value: Any) -> str | None:
        if value is None or not hasattr(value, "__len__"):
            return None
        if has_fields and has_others(value):
            return f"found: {value!r}; allowed: the fields {', '.join(names)}, in this order"
        held = value if hasattr(value, "get") else dict(zip(names, value, strict=False))
        return next(filter(None, (inner(held.get(field)) for field, inner in fields.items() if inner)), None)

    return find


_RULES: dict[type[DataType], tuple[str, str, tuple[type, ...]]] = {
    BooleanType: ("True and False, 1 and 0", "Mm", (bool, NoneType)),
    **dict.fromkeys(_WHOLE, ("whole numbers", "Mm", (int, bool, NoneType))),
    FloatType: ("numbers that a FLOAT can hold", "Mm", (NoneType,)),
    StringType: ("text", "m", (str, NoneType)),
    BinaryType: ("bytes", "biufMm", (bytes, bytearray, NoneType)),
    DateType: ("dates, or times in UTC or without a zone", "biufm", (date, NoneType)),
    TimestampType: ("times, to the microsecond", "biufm", (datetime, NoneType)),
    TimestampNTZType: ("times in UTC or without a zone, to the microsecond", "biufm", (NoneType,)),
    DayTimeIntervalType: ("durations, to the microsecond", "biufM", (timedelta, NoneType)),
}
"""For each type: what a function may return, which kinds of NumPy's columns it may not, and objects that are kept."""
