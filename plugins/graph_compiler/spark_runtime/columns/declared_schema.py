"""Columns as text: declared schemas, which are Spark DDL and only Spark can parse, and types as messages show them."""

from __future__ import annotations

import re

from pyspark.errors import ParseException
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import quoted

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


def ddl(schema: StructType) -> str:
    """Return a schema as Spark DDL, which `parse_schema` reads: `carrier STRING NOT NULL, delay INT`."""
    return _fields(schema, " ")


def _fields(schema: StructType, between: str) -> str:
    return ", ".join(
        f"{field.name if _PLAIN.fullmatch(field.name) else quoted(field.name)}{between}"
        f"{_type_ddl(field.dataType)}{'' if field.nullable else ' NOT NULL'}"
        for field in schema
    )


def _type_ddl(data_type: DataType) -> str:
    if isinstance(data_type, StructType):
        return f"STRUCT<{_fields(data_type, ': ')}>"
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{_type_ddl(data_type.elementType)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{_type_ddl(data_type.keyType)}, {_type_ddl(data_type.valueType)}>"
    return data_type.simpleString().upper()
