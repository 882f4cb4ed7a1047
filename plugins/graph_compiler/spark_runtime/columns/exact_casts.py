"""Casts that change no value: a value that the wanted type cannot hold fails the task.

    BIGINT 9007199254740993 → DOUBLE    DOUBLE 1.5 → INT    TIMESTAMP 12:30 → DATE    STRING '1.256' → DECIMAL(5,2)

Spark's ANSI cast fails on overflow, and rounds, truncates or saturates all of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import abs as absolute
from pyspark.sql.functions import (
    array,
    btrim,
    call_function,
    char_length,
    coalesce,
    concat,
    expr,
    hex,
    raise_error,
    when,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    NumericType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    YearMonthIntervalType,
)

from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.strict_values import TextFormat
from graph_compiler.spark_runtime.failures.causes import Cause, own_fragments, read_cause
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.origins import own_casts
from graph_compiler.spark_runtime.spark_internals.plans import error_of_constant

_WHOLE: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_INTERVALS = (DayTimeIntervalType, YearMonthIntervalType)
_COMPARED = (NumericType, BooleanType, DateType, TimestampType, TimestampNTZType, *_INTERVALS)
"""Types whose values are compared after a cast there and back."""
_SATURATES: dict[type[DataType], float] = {IntegerType: 2.0**31, LongType: 2.0**63}
"""The first number that Spark casts to the largest whole number instead of failing."""
_TEXT = TextFormat(nan="nan", positive_infinity="inf", negative_infinity="-inf", keeps_digits=True)
"""As Python and SQL write values."""
_CHECKED_AS_TEXT = (DecimalType, DoubleType, FloatType, DateType, TimestampType, TimestampNTZType)
"""Types for whose text Spark's cast is lenient."""


def exact_cast(value: Column, found: DataType, wanted: DataType) -> Column:
    """Return the value as the wanted type; NULL stays NULL.

    DOUBLE to FLOAT is the exception: it is rounded, and fails only if the number is too large.
    """
    cast = value.cast(wanted)
    kept = None if is_wider(wanted, found) else _kept(value, cast, found, wanted)
    if kept is None:
        return cast
    shown = hex(value) if isinstance(found, BinaryType) else value.cast(StringType())
    lost = concat(lit(f"a {type_words(found)} does not fit {type_words(wanted)}: "), coalesce(shown, lit("NULL")))
    return when(value.isNull() | kept, cast).otherwise(raise_error(lost).cast(wanted))


def is_wider(wide: DataType, narrow: DataType) -> bool:
    """Whether `wide` holds every value of `narrow` and is a different type: BIGINT of INT, DOUBLE of FLOAT and INT."""
    if isinstance(narrow, _WHOLE):
        return _is_wider_than_whole(wide, type(narrow))
    if isinstance(narrow, FloatType):
        return isinstance(wide, DoubleType)
    if isinstance(narrow, DateType):
        return isinstance(wide, TimestampNTZType)
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        whole = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return wide != narrow and whole and wide.scale >= narrow.scale
    return False


def _kept(value: Column, cast: Column, found: DataType, wanted: DataType) -> Column | None:
    """Return the condition that the cast has kept a value; None for casts that fail or keep it by themselves."""
    if isinstance(found, StringType):
        return kept_from_text(value, wanted)
    if isinstance(found, BinaryType) and isinstance(wanted, StringType):
        return call_function("is_valid_utf8", cast)
    if isinstance(found, DoubleType) and isinstance(wanted, FloatType):
        return (absolute(cast) == float("inf")) == (absolute(value) == float("inf"))
    if not isinstance(found, _COMPARED) or not isinstance(wanted, _COMPARED):
        return None
    kept = cast.try_cast(found).eqNullSafe(value)
    for number, other, kind in ((value, found, wanted), (cast, wanted, found)):
        limit = _SATURATES.get(type(kind))
        if limit is not None and isinstance(other, FloatType | DoubleType):
            kept = kept & (number < limit)
    return kept


def kept_from_text(value: Column, wanted: DataType) -> Column | None:
    """Return the condition that text fits a type, as in a file of CSV; None for types whose cast fails by itself.

    Spark's cast rounds decimals, makes 1e400 infinite, cuts dates and times, and adds parts that they do not have.
    Unlike in CSV, blanks around a value are allowed, and yes and no are Booleans, which loses nothing. The check is a
    lambda, since `value` may be an item of a list, for which SQL has no name.
    """
    if isinstance(wanted, CharType | VarcharType):
        return char_length(value) <= wanted.length
    if not isinstance(wanted, _CHECKED_AS_TEXT):
        return None
    misfit = _TEXT.misfit("text", _TEXT.value("text", wanted), wanted)
    is_misfit = call_function("exists", array(btrim(value, lit(" \t\r\n"))), expr(f"text -> {misfit}"))
    return ~is_misfit


def _is_wider_than_whole(wide: DataType, narrow: type[DataType]) -> bool:
    if isinstance(wide, _WHOLE):
        return _WHOLE.index(type(wide)) > _WHOLE.index(narrow)
    if isinstance(wide, DecimalType):
        return wide.precision - wide.scale >= _DIGITS[narrow]
    return isinstance(wide, DoubleType) and narrow is not LongType


# Pairs of types that Spark brings to one type, which holds every value of both.
#
#     INT with BIGINT or DOUBLE, DATE with TIMESTAMP (in UTC)   the common type holds every value of both
#     BIGINT with DOUBLE                                       ids above 2^53 are rounded
#     STRING with BIGINT                                       '007' becomes 7
#     DECIMAL(38,0) with DECIMAL(38,10)                        no DECIMAL has 48 digits: the last ones are cut
#
# `tests/spark/columns/test_common_types.py` compares this with what Spark does to values, for each pair of types and
# each operator.

_SPARKS_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 20}
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


def cast_to_share(one: DataType, other: DataType) -> tuple[int, DataType]:
    """Return which of two types to cast (0 or 1), and to what: the text, or the less exact one, to the other."""
    inexact = (StringType, FloatType, DoubleType)
    first = next((kind for kind in inexact if isinstance(one, kind) != isinstance(other, kind)), None)
    number = 0 if first is not None and isinstance(one, first) else 1
    return number, (other, one)[number]


def lost_by_cast(found: DataType, target: DataType) -> str | None:
    """Return what a cast between types that `share_a_type` refuses does to values; None if it changes none."""
    if isinstance(found, StringType):
        return "'007' is 7 then" if isinstance(target, NumericType) else None
    if isinstance(found, FloatType | DoubleType):
        return "fractions are cut" if isinstance(target, _WHOLE) else "it is rounded"
    if isinstance(found, DecimalType) and isinstance(target, DecimalType) and target.scale < found.scale:
        return "it is rounded"
    if isinstance(found, TimestampType | TimestampNTZType) and isinstance(target, DateType):
        return "the time of day is cut"
    return None


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


def failing_casts(rows: DataFrame, node_id: int) -> Iterator[str]:
    """Yield a warning for each literal in an operator's own expressions that Spark cannot cast as it would."""
    found = (error_of_constant(cast) for cast in own_casts(rows, str(node_id)))
    yield from dict.fromkeys(_sentence(read_cause(error)) for error in found if error is not None)


def _sentence(cause: Cause) -> str:
    fragments = own_fragments([context.fragment for context in cause.contexts], ())
    where = "".join(f"\n  in: {fragment}" for fragment in fragments)
    if cause.condition != "CAST_INVALID_INPUT":
        return f"{cause.message}{where}"
    value, target = cause.parameters["expression"], cause.parameters["targetType"].strip('"')
    return (
        f"Spark casts {value} to {target}, which it does not fit: the first row fails the task{where}\n"
        f"  hint: write a value of that type, or try_cast({value} AS {target}) for NULL"
    )
