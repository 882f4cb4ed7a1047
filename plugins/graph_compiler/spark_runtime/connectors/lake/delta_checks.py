"""What a Delta table would refuse or cut, found before any sink is published.

Delta checks rows when they are committed, and then the other sinks of a region may have been published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr, raise_error, when
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.connectors.delta import COMPUTED, Delta, computed_columns
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.publishing.merging import Merging
from graph_compiler.spark_runtime.spark_internals.delta_tables import DeltaTable
from graph_compiler.spark_runtime.spark_internals.java import lit

_CONSTRAINT = "delta.constraints."
_APPEND_ONLY = "delta.appendOnly"
_NAMES = "delta.columnMapping.mode"
_REPLACING = (SinkMode.OVERWRITE, SinkMode.OVERWRITE_PARTITIONS)
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of a column's metadata with the type that it was declared with."""
_LENGTH = re.compile(r"(?:var)?char\((\d+)\)", re.IGNORECASE)


def name_mapping(table: DeltaTable) -> Mapping[str, str]:
    """Return the properties of a table by which its columns may have other names."""
    settings = table.settings if table.exists else {}
    return {_NAMES: settings[_NAMES]} if _NAMES in settings else {}


def refuse_what_it_forbids(connector: Delta, table: DeltaTable, mode: SinkMode) -> None:
    """Raise PublicationError for a table that computes columns, or whose rows may not be replaced."""
    if not table.exists:
        return
    if mode in _REPLACING and table.settings.get(_APPEND_ONLY, "").lower() == "true":
        raise PublicationError(
            f"{connector.place} has {_APPEND_ONLY}: its rows cannot be replaced\n  allowed: mode='append'"
        )
    if found := [field.name for field in table.schema if any(key in field.metadata for key in COMPUTED)]:
        raise PublicationError(str(computed_columns(connector, found)))


def held_to_constraints(rows: DataFrame, table: DeltaTable, sink: Sink) -> DataFrame:
    """Fail for rows that violate a constraint of the table, before anything is published."""
    connector = sink.connector
    removed = Merging.of(sink).resolved(rows.schema).removed()
    first = rows.columns[0]
    value = col(quoted(first))
    conditions = {
        f"the constraint {key.removeprefix(_CONSTRAINT)} of {connector.place}: {condition}": condition
        for key, condition in table.settings.items()
        if key.startswith(_CONSTRAINT)
    }
    conditions |= {
        f"NOT NULL of column '{path.replace('`', '')}' of {connector.place}": f"{path} IS NOT NULL"
        for path in _required(table.schema)
    }
    for field in table.schema:
        if found := _LENGTH.fullmatch(field.metadata.get(_DECLARED, "")):
            what = f"{found[0].upper()} of column '{field.name}' of {connector.place}"
            conditions[what] = f"coalesce(char_length({quoted(field.name)}) <= {found[1]}, true)"
    for what, condition in conditions.items():
        violated = raise_error(lit(f"a row violates {what}")).cast(rows.schema[first].dataType)
        value = when(removed | expr(f"({condition}) IS TRUE"), value).otherwise(violated)
    return rows.withColumn(first, value) if conditions else rows


def _required(columns: StructType, above: str = "") -> Iterator[str]:
    """Yield the columns and fields that are NOT NULL; for Delta, such a field is NULL also if its struct is."""
    for field in columns:
        path = f"{above}{quoted(field.name)}"
        if not field.nullable:
            yield path
        if isinstance(field.dataType, StructType):
            yield from _required(field.dataType, f"{path}.")
