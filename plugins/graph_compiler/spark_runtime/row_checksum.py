"""A checksum of the rows of a result, whatever their order and their files: the sum of the rows' hashes, modulo 2⁶⁴.

Equal rows give equal checksums, so a result that was computed again can be compared with the copy that was lost
(DESIGN D11). It is summed up in the action that writes the rows (Spark's `observe`), by tasks whose output counts.

What a row's hash is made of is finer than Spark's own `xxhash64`, which skips NULL, takes −0.0 for 0.0, cannot tell
[[1], []] from [[], [1]], and refuses maps:

    columns         their values, and a bit for each that may be NULL
    float, double   beside it "-0.0" or "0.0" where it is zero; every NaN is one value, as for Spark
    array           its length, and the hash of each element, in order
    map             the hashes of its entries, sorted: a map has no order
    struct          the hash of its fields

Types it cannot hash (variants, strings with a collation, user-defined types) give no checksum: nothing is comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.functions import (
    array_size,
    col,
    count,
    isnull,
    lit,
    map_entries,
    shiftrightunsigned,
    sort_array,
    transform,
    try_sum,
    when,
    xxhash64,
)
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    MapType,
    StringType,
    StructType,
    UserDefinedType,
    VariantType,
)

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.observed_counts import observed_numbers

_OPAQUE = (VariantType, UserDefinedType, GeographyType, GeometryType)
_PART_BITS = 28
"""A hash is summed up in two parts: no sum overflows below 2³⁵ rows. 56 bits of each hash count."""
_PARTS = ("low", "high")
_BITS_OF_NULL = 60
"""How many columns share a number that says which of them are NULL: one number is cheaper than a hash of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChecksum:
    """Rows whose checksum is summed up when an action writes them."""

    rows: DataFrame
    observation: Observation | None

    @classmethod
    def of(cls, rows: DataFrame) -> ObservedChecksum:
        """Attach the summing to a plan; rows that cannot be hashed stay as they are."""
        row_hash = _row_hash(rows.schema)
        if row_hash is None:
            return cls.none(rows)
        observation = Observation()
        mask = lit((1 << _PART_BITS) - 1)
        sums = (
            try_sum(shiftrightunsigned(row_hash, number * _PART_BITS).bitwiseAND(mask)).alias(name)
            for number, name in enumerate(_PARTS)
        )
        observed = rows.observe(observation, count(lit(1)).alias("rows"), *sums)
        return cls(rows=observed, observation=observation)

    @classmethod
    def none(cls, rows: DataFrame) -> ObservedChecksum:
        """Leave a plan as it is."""
        return cls(rows=rows, observation=None)

    def value(self, rows: int) -> str | None:
        """Give the checksum, 16 hexadecimal digits, once `rows` rows are written.

        None where the rows cannot be hashed, or where other rows were summed up than were written.
        """
        if self.observation is None:
            return None
        found = observed_numbers(self.observation)
        if found.get("rows", 0) != rows:
            return None
        sums = [found.get(name) for name in _PARTS]
        if rows and None in sums:
            return None  # too many rows for a sum
        total = sum((part or 0) << number * _PART_BITS for number, part in enumerate(sums))
        return f"{total % (1 << 64):016x}"


def _row_hash(schema: StructType) -> Column | None:
    return _hash([(col(quoted(field.name)), field.dataType, field.nullable) for field in schema])


def _hash(values: Sequence[tuple[Column, DataType, bool]]) -> Column | None:
    """Hash values, each with its type and whether it may be NULL; None where one cannot be hashed."""
    hashed = [_parts(value, data_type) for value, data_type, _ in values]
    known = [parts for parts in hashed if parts is not None]
    if len(known) < len(hashed):
        return None
    may_be_null = [value if nullable else None for value, _, nullable in values]
    return xxhash64(*chain.from_iterable(known), *_which_are_null(may_be_null), lit(0))


def _which_are_null(values: Sequence[Column | None]) -> Iterator[Column]:
    """Give numbers with a bit for each place, set where the value there is NULL; those of None never are."""
    for start in range(0, len(values), _BITS_OF_NULL):
        bits = (
            when(isnull(value), lit(1 << number)).otherwise(lit(0)).cast("bigint")
            for number, value in enumerate(values[start : start + _BITS_OF_NULL])
            if value is not None
        )
        yield reduce(Column.bitwiseOR, bits, lit(0).cast("bigint"))


def _parts(value: Column, data_type: DataType) -> list[Column] | None:
    """Give what stands for a value that is not NULL, None where the type cannot be hashed."""
    if _is_opaque(data_type):
        return None
    if isinstance(data_type, FloatType | DoubleType):
        return [value, when(value == 0, value.cast("string"))]
    if isinstance(data_type, StructType):
        fields = [(value.getField(f.name), f.dataType, True) for f in data_type]
        hashed = _hash(fields)
        return None if hashed is None else [when(value.isNotNull(), hashed)]
    if isinstance(data_type, ArrayType):
        return _elements(value, data_type.elementType)
    if isinstance(data_type, MapType):
        entry = StructType().add("key", data_type.keyType).add("value", data_type.valueType)
        return _elements(map_entries(value), entry, in_order=False)
    return [value]


def _is_opaque(data_type: DataType) -> bool:
    """Say whether Spark has no hash of a type, or one that is the same for values that differ."""
    if isinstance(data_type, StringType):
        return not data_type.isUTF8BinaryCollation()  # its hash is that of all strings it equals
    return isinstance(data_type, _OPAQUE)


def _elements(array: Column, data_type: DataType, *, in_order: bool = True) -> list[Column] | None:
    if _parts(lit(None), data_type) is None:
        return None
    hashes = transform(array, lambda element: _element_hash(element, data_type))
    return [array_size(array), hashes if in_order else sort_array(hashes)]


def _element_hash(element: Column, data_type: DataType) -> Column:
    hashed = _hash([(element, data_type, True)])
    assert hashed is not None, "its type has been looked at"
    return hashed
