"""Pairs of types that Spark brings to one type, which holds every value of both.

    INT with BIGINT or DOUBLE, DATE with TIMESTAMP (in UTC)   the common type holds every value of both
    BIGINT with DOUBLE                                       ids above 2^53 are rounded
    STRING with BIGINT                                       '007' becomes 7
    DECIMAL(38,0) with DECIMAL(38,10)                        no DECIMAL has 48 digits: the last ones are cut

`tests/spark/columns/test_common_types.py` compares this with what Spark does to values, for each pair of types and each
operator.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
)

from graph_compiler.spark_runtime.columns.declared_schema import type_words

_SPARKS_DIGITS: dict[type[DataType], int] = {
    ByteType: 3,
    ShortType: 5,
    IntegerType: 10,
    LongType: 20,
}
"""The digits of the DECIMAL to which Spark casts a whole number: one more than a BIGINT needs."""
_MOST_DIGITS, _DOUBLE_DIGITS = 38, 15
"""The most digits of a DECIMAL; a DOUBLE holds every whole number of so many."""


def share_a_type(one: DataType, other: DataType) -> bool:
    """Whether Spark's common type of both holds every value of each; True for pairs that Spark refuses itself."""
    if one == other or isinstance(one, NullType) or isinstance(other, NullType):
        return True
    if isinstance(one, StringType) or isinstance(other, StringType):
        return all(isinstance(each, StringType | BinaryType) for each in (one, other))
    if isinstance(one, FloatType | DoubleType) or isinstance(other, FloatType | DoubleType):
        return _is_held_by_double(one) and _is_held_by_double(other)
    if inner := _pairs_within(one, other):
        return all(share_a_type(*pair) for pair in inner)
    return _decimals_fit(_as_decimal(one), _as_decimal(other))


def cast_to_share(one: DataType, other: DataType) -> tuple[int, str]:
    """Return which of two types to cast (0 or 1), and to what: the text, or the less exact one, to the other."""
    inexact = (StringType, FloatType, DoubleType)
    first = next(
        (kind for kind in inexact if isinstance(one, kind) != isinstance(other, kind)), None
    )
    number = 0 if first is not None and isinstance(one, first) else 1
    return number, type_words((other, one)[number])


def _pairs_within(one: DataType, other: DataType) -> list[tuple[DataType, DataType]]:
    """Return the types in two types that meet; fields by name if the names are the same, as in unions."""
    match one, other:
        case ArrayType(), ArrayType():
            return [(one.elementType, other.elementType)]
        case MapType(), MapType():
            return [(one.keyType, other.keyType), (one.valueType, other.valueType)]
        case StructType(), StructType():
            names, others = ([name.lower() for name in each.names] for each in (one, other))
            fields = list(other.fields)
            if sorted(names) == sorted(others):
                fields = [fields[others.index(name)] for name in names]
            return [(a.dataType, b.dataType) for a, b in zip(one.fields, fields, strict=False)]
    return []


def _is_held_by_double(kind: DataType) -> bool:
    if isinstance(kind, DecimalType):
        return kind.scale == 0 and kind.precision <= _DOUBLE_DIGITS
    return not isinstance(kind, LongType)


def _as_decimal(kind: DataType) -> DecimalType | None:
    if isinstance(kind, DecimalType):
        return kind
    digits = _SPARKS_DIGITS.get(type(kind))
    return None if digits is None else DecimalType(digits, 0)


def _decimals_fit(one: DecimalType | None, other: DecimalType | None) -> bool:
    """Whether a DECIMAL has room for the digits of both; True if one is no number."""
    if one is None or other is None:
        return True
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return whole + max(one.scale, other.scale) <= _MOST_DIGITS
