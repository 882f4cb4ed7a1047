"""Types that Spark compares or combines without changing a value.

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

_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 20}
"""The digits of the DECIMAL to which Spark casts a whole number; BIGINT needs 19."""
_MOST_DIGITS = 38
_DOUBLE_DIGITS = 15
"""A DOUBLE holds every whole number with so many digits."""
_FLOATING = (FloatType, DoubleType)


def share_a_type(one: DataType, other: DataType) -> bool:
    """Whether Spark's common type of both holds every value of each; True for pairs that Spark refuses itself."""
    if one == other or isinstance(one, NullType) or isinstance(other, NullType):
        return True
    if isinstance(one, StringType) or isinstance(other, StringType):
        return all(isinstance(each, StringType | BinaryType) for each in (one, other))
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return share_a_type(one.elementType, other.elementType)
    if isinstance(one, MapType) and isinstance(other, MapType):
        return share_a_type(one.keyType, other.keyType) and share_a_type(
            one.valueType, other.valueType
        )
    if isinstance(one, StructType) and isinstance(other, StructType):
        return _structs_share_types(one, other)
    if isinstance(one, _FLOATING) or isinstance(other, _FLOATING):
        return _is_held_by_double(one) and _is_held_by_double(other)
    left, right = _as_decimal(one), _as_decimal(other)
    if left is None or right is None:
        return True
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return whole + max(left.scale, right.scale) <= _MOST_DIGITS


def cast_to_share(one: DataType, other: DataType) -> tuple[int, str]:
    """Return which of two types to cast (0 or 1), and to what: the text, or the less exact one, to the other."""
    inexact = (StringType, FloatType, DoubleType)
    first = next((kind for kind in inexact if isinstance(one, kind) != isinstance(other, kind)), None)
    number = 0 if first is not None and isinstance(one, first) else 1
    return number, type_words((other, one)[number])


def _structs_share_types(one: StructType, other: StructType) -> bool:
    """Compare fields by name if the names are the same, as unions do, else by position."""
    names = [name.lower() for name in one.names], [name.lower() for name in other.names]
    fields = list(other.fields)
    if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
        fields = [fields[names[1].index(name)] for name in names[0]]
    return all(
        share_a_type(left.dataType, right.dataType)
        for left, right in zip(one.fields, fields, strict=False)
    )


def _is_held_by_double(kind: DataType) -> bool:
    if isinstance(kind, DecimalType):
        return kind.scale == 0 and kind.precision <= _DOUBLE_DIGITS
    return not isinstance(kind, LongType)


def _as_decimal(kind: DataType) -> DecimalType | None:
    if isinstance(kind, DecimalType):
        return kind
    digits = _DIGITS.get(type(kind))
    return None if digits is None else DecimalType(digits, 0)
