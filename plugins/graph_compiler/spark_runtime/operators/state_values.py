"""Values of rows, results and states, in one form for streams, batches and tests.

    from Arrow         TIMESTAMP in the session's zone, MAP as pairs     →   a datetime in UTC, a dict
    into a result      1.5 for INT, '7' for BIGINT, 2^40 for INT          →   refused: Spark would cut it
    into a state       DATE, TIMESTAMP                                   →   numbers: Spark's way there has time zones

What a state returns is what it was given, so a function sees the same value in the batch that wrote it and in later
ones, and on a stream what it sees in a batch job.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    VariantType,
    VariantVal,
)

from graph_compiler.errors import GraphCompilerError

_BITS: Mapping[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_DAY_ONE = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ORDERED = (
    *(BooleanType, ByteType, ShortType, IntegerType, LongType, DecimalType, StringType, VarcharType, CharType),
    *(BinaryType, DateType, TimestampType, TimestampNTZType),
)
"""Types of keys: equal values are equal bytes, and have an order."""
_HELD = (*_ORDERED, FloatType, DoubleType)
KEY_TYPES = "BOOLEAN, whole numbers, DECIMAL, STRING, BINARY, DATE and TIMESTAMP"
VALUE_TYPES = f"{KEY_TYPES}, FLOAT, DOUBLE, and ARRAY, MAP and STRUCT of these"


class StateValueError(GraphCompilerError):
    """A function has returned or stored a value that its declared type would change."""


def is_key_type(kind: DataType) -> bool:
    """Whether values of a type can be keys of rows, and of a state."""
    return isinstance(kind, _ORDERED) and not _has_collation(kind)


def is_value_type(kind: DataType) -> bool:
    """Whether values of a type can be in a state and in a result."""
    match kind:
        case ArrayType():
            return is_value_type(kind.elementType)
        case MapType():
            return is_key_type(kind.keyType) and is_value_type(kind.valueType)
        case StructType():
            return all(is_value_type(each.dataType) for each in kind)
        case _:
            return isinstance(kind, _HELD)


def _has_collation(kind: DataType) -> bool:
    return isinstance(kind, StringType) and "collate" in kind.simpleString()


def stored_type(kind: DataType) -> DataType:
    """Return the type by which Spark stores values of a type: dates and times are numbers."""
    match kind:
        case DateType():
            return IntegerType()
        case TimestampType() | TimestampNTZType():
            return LongType()
        case ArrayType():
            return ArrayType(stored_type(kind.elementType))
        case MapType():
            return MapType(stored_type(kind.keyType), stored_type(kind.valueType))
        case StructType():
            return StructType([StructField(each.name, stored_type(each.dataType)) for each in kind])
        case _:
            return kind


def checked(value: Any, kind: DataType, what: str) -> Any:
    """Return a value as its type holds it; raises StateValueError if the type would change it."""
    if value is None:
        return None
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    match kind:
        case ArrayType() if isinstance(value, list | tuple):
            return [_item(item, kind.elementType, what, kind.containsNull) for item in value]
        case MapType() if isinstance(value, Mapping):
            pairs = value.items()
            return _by_key(
                [
                    (checked(key, kind.keyType, what), _item(item, kind.valueType, what, kind.valueContainsNull))
                    for key, item in pairs
                ]
            )
        case StructType() if isinstance(value, Mapping):
            return checked_fields(value, kind, what)
        case _:
            convert = next((convert for types, convert in _PLAIN if isinstance(kind, types)), _nothing)
            if (found := convert(value, kind)) is not None:
                return found
    raise StateValueError(
        f"{what} is {value!r}, a {type(value).__name__}\n  allowed: a value of {kind.simpleString().upper()}"
    )


def checked_fields(value: Mapping[str, Any], kind: StructType, what: str) -> dict[str, Any]:
    """Return the fields of a struct or a row, in its order; raises StateValueError for missing and unknown ones."""
    if value.keys() != set(kind.names):
        missing, odd = ([*kind.names], [*value])
        raise StateValueError(f"{what} has {', '.join(map(str, odd)) or 'nothing'}\n  allowed: {', '.join(missing)}")
    return {each.name: _item(value[each.name], each.dataType, f"{what}: '{each.name}'", each.nullable) for each in kind}


def _item(value: Any, kind: DataType, what: str, may_be_null: bool) -> Any:
    if value is None and not may_be_null:
        raise StateValueError(f"{what} is None\n  allowed: a value, since its schema says NOT NULL")
    return checked(value, kind, what)


def _nothing(*_: object) -> Any:
    return None


def _whole(value: Any, kind: DataType) -> Any:
    most = 1 << _BITS[type(kind)] - 1
    return value if type(value) is int and -most <= value < most else None


def _decimal(value: Any, kind: DataType) -> Any:
    assert isinstance(kind, DecimalType)
    if type(value) is int:
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + kind.scale
    number = int("".join(map(str, digits)))
    if shift < 0 and number % 10**-shift:
        return None
    number = number // 10**-shift if shift < 0 else number * 10**shift
    if number >= 10**kind.precision:
        return None
    return Decimal((sign if number else 0, tuple(map(int, str(number))), -kind.scale))


def _double(value: Any, _: DataType) -> Any:
    if type(value) is int and -(2**53) <= value <= 2**53:
        return float(value)
    return value if type(value) is float else None


def _float(value: Any, kind: DataType) -> Any:
    wide = _double(value, kind)
    if type(value) is int and abs(value) > 2**24:
        return None
    if wide is None or abs(wide) == float("inf"):
        return wide
    try:
        return struct.unpack("<f", struct.pack("<f", wide))[0]
    except OverflowError:
        return None


def _local_time(value: Any, _: DataType) -> Any:
    is_time = isinstance(value, datetime) and value == value  # noqa: PLR0124  # not pandas' NaT
    # A Timestamp of pandas has nanoseconds, too.
    return value if is_time and value.tzinfo is None and not getattr(value, "nanosecond", 0) else None


def _time(value: Any, kind: DataType) -> Any:
    zone = getattr(value, "tzinfo", None)
    if zone is None:
        return None if (found := _local_time(value, kind)) is None else found.replace(tzinfo=UTC)
    is_exact = isinstance(value, datetime) and not getattr(value, "nanosecond", 0)
    return value.astimezone(UTC) if is_exact else None


_PLAIN: tuple[tuple[tuple[type[DataType], ...], Callable[[Any, DataType], Any]], ...] = (
    ((BooleanType,), lambda value, _: value if type(value) is bool else None),
    ((ByteType, ShortType, IntegerType, LongType), _whole),
    ((DecimalType,), _decimal),
    ((StringType, VarcharType, CharType), lambda value, _: value if isinstance(value, str) else None),
    ((BinaryType,), lambda value, _: bytes(value) if isinstance(value, bytes | bytearray) else None),
    ((DateType,), lambda value, _: value if isinstance(value, date) and not isinstance(value, datetime) else None),
    ((TimestampType,), _time),
    ((TimestampNTZType,), _local_time),
    ((DoubleType,), _double),
    ((FloatType,), _float),
)


_Leaf: TypeAlias = Callable[[Any, DataType], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A form of values: how it has maps and structs, and what is changed in others, by their types."""

    leaves: Mapping[type[DataType], _Leaf] = field(default_factory=dict)
    of_pairs: Callable[[list[tuple[Any, Any]]], Any] = dict
    fields_of: Callable[[Any, StructType], Iterable[Any]] = lambda value, kind: map(value.__getitem__, kind.names)
    of_fields: Callable[[StructType, Iterable[Any]], Any] = lambda kind, values: dict(
        zip(kind.names, values, strict=True)
    )

    def __call__(self, value: Any, kind: DataType) -> Any:
        """Return a value in this form."""
        if value is None:
            return None
        match kind:
            case ArrayType():
                return [self(item, kind.elementType) for item in value]
            case MapType():
                pairs = value.items() if isinstance(value, Mapping) else value
                return self.of_pairs([(self(key, kind.keyType), self(item, kind.valueType)) for key, item in pairs])
            case StructType():
                found = zip(self.fields_of(value, kind), kind, strict=True)
                return self.of_fields(kind, [self(item, each.dataType) for item, each in found])
            case _:
                leaf = self.leaves.get(type(kind))
                return value if leaf is None else leaf(value, kind)


def _by_key(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    return dict(sorted(pairs, key=lambda pair: pair[0]))


def _microseconds(value: datetime, _: DataType) -> int:
    return (value.replace(tzinfo=value.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)


from_arrow = _Form(
    leaves={
        TimestampType: lambda value, _: value.astimezone(UTC),
        VariantType: lambda value, _: VariantVal(value["value"], value["metadata"]),
    }
)
"""Return a value of a row as functions get it."""
to_arrow = _Form(of_pairs=list)
"""Return a checked value as Arrow takes it."""
to_stored = _Form(
    leaves={
        DateType: lambda value, _: (value - _DAY_ONE).days,
        TimestampType: _microseconds,
        TimestampNTZType: _microseconds,
    },
    of_fields=lambda _, values: tuple(values),
)
"""Return a checked value as it is stored."""
from_stored = _Form(
    leaves={
        DateType: lambda value, _: _DAY_ONE + timedelta(days=value),
        TimestampType: lambda value, _: _EPOCH + timedelta(microseconds=value),
        TimestampNTZType: lambda value, _: _EPOCH.replace(tzinfo=None) + timedelta(microseconds=value),
        BinaryType: lambda value, _: bytes(value),
        DecimalType: _decimal,
    },
    of_pairs=_by_key,
    fields_of=lambda value, _: value,
)
"""Return a stored value as it was."""
