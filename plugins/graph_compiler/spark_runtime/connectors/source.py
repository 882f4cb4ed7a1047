"""Read the rows of a connector, with the columns of its declared schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import Connector, OnSchemaChange
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.columns.schema_change import (
    SOURCE_EVOLVES,
    UNKNOWN,
    ChangeKind,
    Expectation,
    Origin,
    Part,
    conform,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How rows are read: the session, and the source's parallelism; None if it sets none."""

    spark: SparkSession
    parallelism: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rows, and their columns as the source itself describes them (Spark's readers forget NOT NULL).

    `others` are the rest of the rows, if a declared source has parts in which a column has different types.
    """

    rows: DataFrame
    schema: StructType
    others: tuple[Part, ...] = ()
    origin: Origin = UNKNOWN


def read_source(
    connector: Connector, spark: SparkSession, parallelism: int | None = None
) -> DataFrame:
    """Return the rows of a source; to find the columns, it reads only what is needed.

    Raises SchemaChangedError if the columns do not match the declared schema, ExtensionError for another package's
    connector whose Spark half is not installed; Spark raises PATH_NOT_FOUND for a missing path.
    """
    load_spark_half(type(connector))
    return as_declared(connector, read(connector, Reading(spark=spark, parallelism=parallelism)))


def as_declared(connector: Connector, found: Found) -> DataFrame:
    """Return found rows with the columns a source declares; raises SchemaChangedError if they differ too much."""
    if connector.schema is None:
        return found.rows
    expectation = Expectation(
        schema=parse_schema(connector.schema),
        policy=OnSchemaChange(connector.on_schema_change or OnSchemaChange.FAIL),
        evolves=SOURCE_EVOLVES,
        follows=frozenset({ChangeKind.WIDENED}),
    )
    parts = (Part(rows=found.rows, schema=found.schema), *found.others)
    return conform(parts, expectation, found.origin)


@singledispatch
def read(connector: Connector, reading: Reading) -> Found:
    """Return the rows of a source without its declared schema; each kind of connector registers its function."""
    raise AssertionError(f"no reader for {type(connector).__name__}")
