"""Types that hold every value of another type: casts without loss."""

from __future__ import annotations

from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
)

_WHOLE: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}


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


def _is_wider_than_whole(wide: DataType, narrow: type[DataType]) -> bool:
    if isinstance(wide, _WHOLE):
        return _WHOLE.index(type(wide)) > _WHOLE.index(narrow)
    if isinstance(wide, DecimalType):
        return wide.precision - wide.scale >= _DIGITS[narrow]
    return isinstance(wide, DoubleType) and narrow is not LongType
