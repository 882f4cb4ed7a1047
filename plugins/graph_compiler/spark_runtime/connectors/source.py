"""Read the rows of a connector, with the columns of its declared schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import Connector, FileConnector, OnSchemaChange
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.columns.schema_change import (
    SOURCE_EVOLVES,
    ChangeKind,
    Expectation,
    conform,
)
from graph_compiler.spark_runtime.repeatability.source_files import refuse_unread_files
from graph_compiler.spark_runtime.secret_values import reveal_all

_NO_FILES = "UNABLE_TO_INFER_SCHEMA"
"""What Spark raises if a folder has no file that it reads, from which it could learn the columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How rows are read: the session, and the source's parallelism; None if it sets none."""

    spark: SparkSession
    parallelism: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rows, and their columns as the source itself describes them (Spark's readers forget NOT NULL)."""

    rows: DataFrame
    schema: StructType


def read_source(
    connector: Connector, spark: SparkSession, parallelism: int | None = None
) -> DataFrame:
    """Return the rows of a source; to find the columns, it reads only what is needed.

    Raises SchemaChangedError if the columns do not match the declared schema, UnreadFilesError if files below its
    folder would be left out, ExtensionError for another package's connector whose Spark half is not installed; Spark
    raises PATH_NOT_FOUND for a missing path.
    """
    load_spark_half(type(connector))
    try:
        found = read(connector, Reading(spark=spark, parallelism=parallelism))
    except AnalysisException as error:
        if error.getCondition() == _NO_FILES and isinstance(connector, FileConnector):
            lines = spark.read.format("text").options(**reveal_all(connector.spark_options()))
            refuse_unread_files(lines.load(connector.path))
        raise
    refuse_unread_files(found.rows)
    return as_declared(connector, found)


def as_declared(connector: Connector, found: Found) -> DataFrame:
    """Return found rows with the columns a source declares; raises SchemaChangedError if they differ too much."""
    if connector.schema is None:
        return found.rows
    expectation = Expectation(
        schema=parse_schema(connector.schema),
        whose="that are declared",
        policy=OnSchemaChange(connector.on_schema_change or OnSchemaChange.FAIL),
        evolves=SOURCE_EVOLVES,
        follows=frozenset({ChangeKind.WIDENED}),
    )
    return conform(found.rows, expectation, found.schema)


@singledispatch
def read(connector: Connector, reading: Reading) -> Found:
    """Return the rows of a source without its declared schema; each kind of connector registers its function."""
    raise AssertionError(f"no reader for {type(connector).__name__}")
