"""Join keys that Spark has to cast: each value of one side must then be valid in the other side's type."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.types import DataType, StringType, StructType


def cast_keys(
    on: tuple[tuple[str, str], ...], left: StructType, right: StructType
) -> Iterator[str]:
    """Yield a warning for each pair of keys of which only one is text; a missing key is a finding elsewhere."""
    for one, other in on:
        left_type, right_type = _type(left, one), _type(right, other)
        if left_type is None or right_type is None:
            continue
        types = left_type, right_type
        texts = [isinstance(type, StringType) for type in types]
        if texts == [True, False]:
            yield _sentence(one, other, types, text=one, cast_to=types[1])
        elif texts == [False, True]:
            yield _sentence(one, other, types, text=other, cast_to=types[0])


def _type(schema: StructType, name: str) -> DataType | None:
    found = (field.dataType for field in schema.fields if field.name.lower() == name.lower())
    return next(found, None)


def _sentence(
    left: str, right: str, types: tuple[DataType, DataType], *, text: str, cast_to: DataType
) -> str:
    words = [type.simpleString().upper() for type in types]
    target = cast_to.simpleString().upper()
    return (
        f"it joins '{left}' ({words[0]}) with '{right}' ({words[1]}): Spark casts the text to {target}, "
        f"and the first value that does not fit fails the task\n"
        f'  hint: cast one side before the join, so that both have one type: cast({text}="{target}"), '
        f'or filter("try_cast({text} AS {target}) IS NOT NULL")'
    )
