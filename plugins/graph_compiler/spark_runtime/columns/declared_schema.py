"""Columns as text: declared schemas, which are Spark DDL and only Spark can parse, and types as messages show them."""

from __future__ import annotations

from pyspark.errors import ParseException
from pyspark.sql.types import DataType, StructType

from graph_compiler.errors import SchemaChangedError


def type_words(data_type: DataType) -> str:
    """Return a type's SQL name: `BIGINT`, `ARRAY<INT>`; names of nested fields keep their case."""
    text = data_type.simpleString()
    return text if "struct<" in text else text.upper()


def parse_schema(ddl: str) -> StructType:
    """Return the columns of a declared schema; raises SchemaChangedError for text that is not valid DDL."""
    try:
        parsed = StructType.fromDDL(ddl)
    except ParseException as error:
        said = str(error).partition("\n\n")[0].strip()
        raise SchemaChangedError(
            f"its schema '{ddl}' is not Spark DDL: {said}\n  allowed: carrier STRING NOT NULL, delay INT"
        ) from None
    return parsed if isinstance(parsed, StructType) else StructType().add("value", parsed)
