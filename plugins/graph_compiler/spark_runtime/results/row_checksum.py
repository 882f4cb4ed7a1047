"""A checksum of rows, independent of their order and files: the sum of 48 bits of each row's hash, modulo 2⁶⁴.

Equal rows give equal checksums, so a recomputed result can be compared with the lost copy (decision 11). The checksum
is computed in the action that writes the rows (Spark's `observe`), from the tasks whose output counts.

A row's hash distinguishes more than Spark's `xxhash64`, which skips NULL, treats −0.0 as 0.0, has the same hash for
[[1], []] and [[], [1]], and refuses maps:

    columns         their values, and a bit for each that may be NULL
    float, double   plus "-0.0" or "0.0" if it is zero; all NaNs are one value, as in Spark
    array           its length, and the hash of each element, in order
    map             the hashes of its entries, sorted: a map has no order
    struct          the hash of its fields

Types that it cannot hash (variants, strings with a collation, user-defined types) give no checksum: results with them
cannot be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.functions import expr
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
from graph_compiler.spark_runtime.columns.alignment import all_nullable
from graph_compiler.spark_runtime.spark_internals.executed_queries import observed_numbers

_OPAQUE = (VariantType, UserDefinedType, GeographyType, GeometryType)
_PART_BITS = 24
"""A hash is summed in two parts, so that no sum overflows below 2³⁹ rows (in ANSI mode an overflow is an error)."""
_PARTS = ("low", "high")
_BITS_OF_NULL = 60
"""How many columns share one number for their NULL bits: one number costs less than a hash of each bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChecksum:
    """Rows whose checksum is computed when an action writes them."""

    rows: DataFrame
    observation: Observation | None

    @classmethod
    def of(cls, rows: DataFrame) -> ObservedChecksum:
        """Attach the checksum to a plan; rows that cannot be hashed are unchanged."""
        sums = _sums(rows.schema)
        if sums is None:
            return cls.none(rows)
        observation = Observation()
        return cls(rows=rows.observe(observation, *sums), observation=observation)

    @classmethod
    def none(cls, rows: DataFrame) -> ObservedChecksum:
        """Leave a plan unchanged: there is no checksum."""
        return cls(rows=rows, observation=None)

    def value(self, rows: int) -> str | None:
        """Return the checksum, 16 hexadecimal digits, once `rows` rows are written.

        None if the rows cannot be hashed, or if the checksum is not of exactly the written rows.
        """
        if self.observation is None:
            return None
        found = observed_numbers(self.observation)
        if (found.get("rows") or 0) != rows:
            return None
        sums = (found.get(name) or 0 for name in _PARTS)
        total = sum(part << number * _PART_BITS for number, part in enumerate(sums))
        return f"{total % (1 << 64):016x}"


def are_equal(some: DataFrame, others: DataFrame) -> bool:
    """Whether two plans have the same rows, by their number and checksum; False if they cannot be hashed."""
    schema = all_nullable(some.schema)
    if schema != all_nullable(others.schema) or (sums := _sums(schema)) is None:
        return False
    return some.agg(*sums).first() == others.agg(*sums).first()


def _sums(schema: StructType) -> list[Column] | None:
    """Return the aggregates that count and hash rows, None if they cannot be hashed."""
    row_hash, mask = _row_hash(schema), (1 << _PART_BITS) - 1
    if row_hash is None:
        return None
    # `sum`, not `try_sum`: Spark then computes the hash once for both.
    return [
        expr("count(1) AS rows"),
        *(
            expr(f"sum(shiftrightunsigned({row_hash}, {number * _PART_BITS}) & {mask}L) AS {name}")
            for number, name in enumerate(_PARTS)
        ),
    ]


def _row_hash(schema: StructType) -> str | None:
    """Return a row's hash as SQL text, since a call to the JVM for each function is expensive."""
    return _hash([(quoted(field.name), field.dataType, field.nullable) for field in schema])


def _hash(values: Sequence[tuple[str, DataType, bool]], depth: int = 0) -> str | None:
    """Return SQL that hashes values, each with its type and nullability; None if one cannot be hashed."""
    parts = [_parts(value, data_type, depth) for value, data_type, _ in values]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return f"xxhash64({', '.join([*known, *_which_are_null(values), '0'])})"


def _which_are_null(values: Sequence[tuple[str, DataType, bool]]) -> list[str]:
    """Return SQL for numbers with a bit for each value, set if it is NULL."""
    numbers = []
    for start in range(0, len(values), _BITS_OF_NULL):
        bits = [
            f"if(isnull({value}), {1 << place}L, 0L)"
            for place, (value, _, nullable) in enumerate(values[start : start + _BITS_OF_NULL])
            if nullable
        ]
        numbers.append(" + ".join(bits) or "0L")
    return numbers


def _parts(value: str, data_type: DataType, depth: int) -> str | None:
    """Return SQL for the parts of a non-NULL value that are hashed; None if the type cannot be hashed."""
    if _is_opaque(data_type):
        return None
    if isinstance(data_type, FloatType | DoubleType):
        return f"{value}, if({value} = 0, CAST({value} AS STRING), NULL)"
    if isinstance(data_type, StructType):
        fields = [(f"{value}.{quoted(f.name)}", f.dataType, True) for f in data_type]
        hashed = _hash(fields, depth)
        return None if hashed is None else f"if(isnull({value}), NULL, {hashed})"
    if isinstance(data_type, ArrayType):
        return _elements(value, data_type.elementType, depth)
    if isinstance(data_type, MapType):
        entry = StructType().add("key", data_type.keyType).add("value", data_type.valueType)
        return _elements(f"map_entries({value})", entry, depth, in_order=False)
    return value


def _is_opaque(data_type: DataType) -> bool:
    """Whether Spark has no hash for a type, or one that is equal for different values."""
    if isinstance(data_type, StringType):
        return not data_type.isUTF8BinaryCollation()  # equal strings have equal hashes
    return isinstance(data_type, _OPAQUE)


def _elements(array: str, data_type: DataType, depth: int, *, in_order: bool = True) -> str | None:
    element = f"graph_compiler_element_{depth}"
    hashed = _hash([(element, data_type, True)], depth + 1)
    if hashed is None:
        return None
    hashes = f"transform({array}, {element} -> {hashed})"
    return f"array_size({array}), {hashes if in_order else f'sort_array({hashes})'}"
