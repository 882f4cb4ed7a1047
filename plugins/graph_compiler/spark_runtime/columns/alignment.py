"""Rows with the columns of a schema: fields are found by name at every depth, and only leaves are cast.

    rows      pos STRUCT<lon: DOUBLE, lat: FLOAT>
    schema    pos STRUCT<lat: DOUBLE, lon: DOUBLE, alt: DOUBLE>
    →         pos STRUCT<lat (cast), lon, alt (NULL)>

Structs may be in structs, in arrays, and in keys and values of maps. Spark itself casts, inserts and (inside maps)
unites structs by position. Names are compared as Spark compares them, ignoring case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, struct, transform, transform_keys, transform_values, when
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.exact_casts import exact_cast, is_wider
from graph_compiler.spark_runtime.spark_internals.java import lit


def by_name(schema: StructType) -> dict[str, StructField]:
    """Return fields by their name in lower case."""
    return {field.name.lower(): field for field in schema}


def align(rows: DataFrame, schema: StructType) -> DataFrame:
    """Return the rows with exactly these columns, in this order and spelling; NULL for those they do not have.

    A value that does not fit its type fails the task: `exact_cast`.
    """
    if _is_alike(rows.schema, schema):
        return rows
    there = by_name(rows.schema)
    columns = [
        _aligned(col(quoted(found.name)), found.dataType, field.dataType)
        if (found := there.get(field.name.lower()))
        else lit(None).cast(field.dataType)
        for field in schema
    ]
    named = zip(columns, schema.names, strict=True)
    return rows.select(*(column.alias(name) for column, name in named))


def united(*schemas: StructType) -> StructType:
    """Return every field of these schemas at every depth: those of the first one first, with the wider of two types."""
    return reduce(_united_structs, schemas)


def with_all_fields(own: StructType, all_fields: StructType) -> StructType:
    """Return the fields of `all_fields` in its order and spelling; with a schema's own types where it has them."""
    return _filled_struct(own, all_fields)


def all_nullable(schema: StructType) -> StructType:
    """Return the same columns, in which everything at every depth may be NULL."""
    return StructType([StructField(field.name, as_nullable(field.dataType)) for field in schema])


def as_nullable(data_type: DataType) -> DataType:
    """Return the same type, in which every field, element and value may be NULL."""
    if isinstance(data_type, StructType):
        return all_nullable(data_type)
    if isinstance(data_type, ArrayType):
        return ArrayType(as_nullable(data_type.elementType))
    if isinstance(data_type, MapType):
        return MapType(as_nullable(data_type.keyType), as_nullable(data_type.valueType))
    return data_type


def _aligned(value: Column, found: DataType, wanted: DataType) -> Column:
    if _is_alike(found, wanted):
        return value
    if isinstance(found, StructType) and isinstance(wanted, StructType):
        return when(value.isNotNull(), _struct(value, found, wanted))
    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        one, other = found.elementType, wanted.elementType
        return transform(value, lambda element: _aligned(element, one, other))
    if isinstance(found, MapType) and isinstance(wanted, MapType):
        return _map(value, found, wanted)
    return exact_cast(value, found, wanted)


def _struct(value: Column, found: StructType, wanted: StructType) -> Column:
    there = by_name(found)
    fields = [
        _aligned(value.getField(inner.name), inner.dataType, field.dataType)
        if (inner := there.get(field.name.lower()))
        else lit(None).cast(field.dataType)
        for field in wanted
    ]
    named = zip(fields, wanted.names, strict=True)
    return struct(*(field.alias(name) for field, name in named))


def _map(value: Column, found: MapType, wanted: MapType) -> Column:
    """Align keys and values; Spark fails the task if two keys become equal."""
    if not _is_alike(found.keyType, wanted.keyType):
        value = transform_keys(value, lambda key, _: _key(key, found.keyType, wanted.keyType))
    if not _is_alike(found.valueType, wanted.valueType):
        value = transform_values(value, lambda _, inner: _aligned(inner, found.valueType, wanted.valueType))
    return value


def _key(key: Column, found: DataType, wanted: DataType) -> Column:
    """Align a map's key, which is never NULL."""
    if isinstance(found, StructType) and isinstance(wanted, StructType):
        return _struct(key, found, wanted)
    return _aligned(key, found, wanted)


def _is_alike(one: DataType, other: DataType) -> bool:
    """Whether types differ at most in nullability and metadata."""
    if isinstance(one, StructType) and isinstance(other, StructType):
        return one.names == other.names and all(
            _is_alike(mine.dataType, its.dataType) for mine, its in zip(one, other, strict=True)
        )
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _is_alike(one.elementType, other.elementType)
    if isinstance(one, MapType) and isinstance(other, MapType):
        return _is_alike(one.keyType, other.keyType) and _is_alike(one.valueType, other.valueType)
    return one == other


def _united_structs(one: StructType, other: StructType) -> StructType:
    there, here = by_name(other), by_name(one)
    known = [
        StructField(field.name, _united(field.dataType, mine.dataType), field.nullable or mine.nullable)
        if (mine := there.get(field.name.lower()))
        else _nullable(field)
        for field in one
    ]
    added = [_nullable(field) for field in other if field.name.lower() not in here]
    return StructType([*known, *added])


def _united(one: DataType, other: DataType) -> DataType:
    return merged(one, other, _united_structs, lambda mine, theirs: theirs if is_wider(theirs, mine) else mine)


def merged(
    one: DataType,
    other: DataType,
    of_structs: Callable[[StructType, StructType], StructType],
    of_others: Callable[[DataType, DataType], DataType],
) -> DataType:
    """Return the type made of two, through lists and maps: `of_structs` makes structs, `of_others` all other types."""
    match one, other:
        case StructType(), StructType():
            return of_structs(one, other)
        case ArrayType(), ArrayType():
            return ArrayType(merged(one.elementType, other.elementType, of_structs, of_others))
        case MapType(), MapType():
            return MapType(
                merged(one.keyType, other.keyType, of_structs, of_others),
                merged(one.valueType, other.valueType, of_structs, of_others),
            )
    return of_others(one, other)


def _filled_struct(own: StructType, all_fields: StructType) -> StructType:
    mine = by_name(own)
    return StructType(
        [
            StructField(field.name, _filled(found.dataType, field.dataType), found.nullable, found.metadata)
            if (found := mine.get(field.name.lower()))
            else _nullable(field)
            for field in all_fields
        ]
    )


def _filled(own: DataType, full: DataType) -> DataType:
    return merged(own, full, _filled_struct, lambda mine, _full: mine)


def _nullable(field: StructField) -> StructField:
    return StructField(field.name, field.dataType)
