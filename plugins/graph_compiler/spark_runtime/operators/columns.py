"""Checks for missing and duplicate columns, and for columns that Spark combines with a change of their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.declaration.operators.column_uses import HOW_TO_MAKE_TIMES
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.exact_casts import cast_to_share, lost_by_cast, share_a_type

_DELAY = "spark.watermarkDelayMs"
"""What Spark adds to the column of a watermark (`EventTimeWatermark.delayKey`: 4.1 to 4.3)."""
_Pair = tuple[StructField, StructField]


class ColumnsError(GraphCompilerError):
    """An operator's inputs have columns that do not match, or lack columns that it names."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, with the hint on a separate line."""
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


def require_columns(rows: DataFrame, names: Iterable[str], of: str = "its input") -> None:
    """Raise ColumnsError if a column is missing; names that differ only in case are the same."""
    known = {name.lower() for name in rows.columns}
    missing = [name for name in names if name.lower() not in known]
    if missing:
        raise ColumnsError(f"{of} has no column '{missing[0]}'", did_you_mean(missing[0], rows.columns))


def require_new_columns(known: Iterable[str], new: Iterable[str], verb: str) -> None:
    """Raise ColumnsError if a column that an operator adds already exists; names ignore case."""
    there = {name.lower() for name in known}
    for name in new:
        if name.lower() in there:
            raise ColumnsError(
                f"it {verb} '{name}', and its input already has a column '{name}'",
                f'choose another name, or drop("{name}") first',
            )


def has_column(rows: DataFrame, name: str) -> bool:
    """Whether a column exists, ignoring case."""
    return name.lower() in (column.lower() for column in rows.columns)


def require_time(rows: DataFrame, name: str, where: str) -> None:
    """Raise ColumnsError unless a column is there, and is a time: with a text, Spark would compare texts."""
    require_columns(rows, (name,), where)
    kind = next(field.dataType for field in rows.schema if field.name.lower() == name.lower())
    if not isinstance(kind, DateType | TimestampType | TimestampNTZType):
        raise ColumnsError(
            f"its time '{name}' of {where} is {type_words(kind)}\n  allowed: DATE, TIMESTAMP and TIMESTAMP_NTZ",
            HOW_TO_MAKE_TIMES,
        )


def event_times(rows: DataFrame) -> frozenset[str]:
    """Return the columns of a stream that are its event time, in lower case."""
    return frozenset(field.name.lower() for field in rows.schema.fields if _DELAY in field.metadata)


def require_comparable(left: DataFrame, right: DataFrame, pairs: Iterable[tuple[str, str]]) -> None:
    """Raise ColumnsError for columns of two sides that Spark compares only after it has changed their values."""
    ones, others = ({field.name.lower(): field for field in rows.schema} for rows in (left, right))
    compared = [(ones[one.lower()], others[other.lower()]) for one, other in pairs]
    wrong = _unlike(compared)
    if wrong:
        shown = [f"{_shown(one)} with {_shown(other)}" for one, other in wrong]
        raise _changes(f"it joins {listing(shown)}", wrong, ("on the left", "on the right"))
    for one, other in compared:
        if _has_another_order(one.dataType, other.dataType):
            raise ColumnsError(
                f"it joins {_shown(one)} with {_shown(other)}, and Spark compares their fields by place\n"
                "  allowed: fields in the same order",
                f"give both one order, before: with_columns({other.name}=\"named_struct('{_first(one)}', …)\")",
            )


def require_common_types(streams: Sequence[DataFrame], what: str) -> None:
    """Raise ColumnsError for columns whose values Spark changes when it combines the rows of streams."""
    columns: dict[str, list[StructField]] = {}
    for rows in streams:
        for field in rows.schema:
            alike = columns.setdefault(field.name.lower(), [])
            if all(field.dataType != other.dataType for other in alike):
                alike.append(field)
    found = [wrong for each in columns.values() if (wrong := _unlike(combinations(each, 2)))]
    if found:
        firsts = [wrong[0] for wrong in found]
        shown = [f"{_shown(one)} with {_shown(other)}" for one, other in firsts]
        raise _changes(f"{what} that has {listing(shown)}", firsts, ("in that stream",) * 2)


def _has_another_order(one: DataType, other: DataType) -> bool:
    """Whether structs, at any depth, have the same fields in another order."""
    match one, other:
        case ArrayType(), ArrayType():
            return _has_another_order(one.elementType, other.elementType)
        case MapType(), MapType():
            return _has_another_order(one.valueType, other.valueType)
        case StructType(), StructType():
            names, others = ([name.lower() for name in each.names] for each in (one, other))
            if names != others:
                return sorted(names) == sorted(others)
            return any(_has_another_order(a.dataType, b.dataType) for a, b in zip(one, other, strict=True))
    return False


def _first(field: StructField) -> str:
    return field.dataType.names[0] if isinstance(field.dataType, StructType) else "…"


def _unlike(pairs: Iterable[_Pair]) -> list[_Pair]:
    return [pair for pair in pairs if not share_a_type(pair[0].dataType, pair[1].dataType)]


def _shown(field: StructField) -> str:
    return f"'{field.name}' ({type_words(field.dataType)})"


def _changes(found: str, wrong: Sequence[_Pair], where: tuple[str, str]) -> ColumnsError:
    """Return an error with the cast of each pair that gives both columns one type."""
    calls = []
    for pair in wrong:
        number, target = cast_to_share(pair[0].dataType, pair[1].dataType)
        field = pair[number]
        name, kind = field.name, type_words(target)
        key = f'{name}="{kind}"' if name.isidentifier() else f'{{"{name}": "{kind}"}}'
        lost = lost_by_cast(field.dataType, target)
        calls.append(
            f"cast({key}) {where[number]}, where it is {type_words(field.dataType)}{f' ({lost})' if lost else ''}"
        )
    return ColumnsError(
        f"{found}, and Spark casts them to a type that changes values\n"
        "  allowed: equal types, or two whose common type holds every value of both",
        f"choose the type yourself, before: {listing(calls)}",
    )
