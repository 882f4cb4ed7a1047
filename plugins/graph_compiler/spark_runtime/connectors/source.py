"""Read the rows of a connector, with the columns of its declared schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch

from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import Connector, Csv, FileConnector, Json, OnSchemaChange
from graph_compiler.deployment.documents.jvm_settings import STRICT_SOURCES
from graph_compiler.errors import SchemaChangedError
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema
from graph_compiler.spark_runtime.columns.schema_change import (
    SOURCE_EVOLVES,
    UNKNOWN,
    ChangeKind,
    Expectation,
    Origin,
    Part,
    conform,
)
from graph_compiler.spark_runtime.connectors.folder_values import check_folder_values, folder_refusal
from graph_compiler.spark_runtime.repeatability.source_files import refuse_unread_files
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves

MISFIT = "graph_compiler_misfit"
"""The column of a record that is set aside: a struct of REJECTS; NULL for all other records."""
REJECTS = "file STRING, record STRING, column STRING, text STRING, reason STRING"
"""The columns of records that are set aside. `column` and `text` are NULL if the record as a whole does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How rows are read: the session, and the source's parallelism; None if it sets none.

    `scans`: whether files may be read for their checks before the rows are.
    """

    spark: SparkSession
    parallelism: int | None
    scans: bool = True


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
    connector: Connector, spark: SparkSession, parallelism: int | None = None, *, scans: bool = True
) -> DataFrame:
    """Return the rows of a source; to find the columns, it reads only what is needed.

    With `scans`, files may be read for their checks. Records that the source sets aside are among the rows, with the
    column MISFIT.

    Raises SchemaChangedError if the columns do not match the declared schema, UnreadFilesError if files below its
    folder would be left out, ExtensionError for another package's connector whose Spark half is not installed; Spark
    raises PATH_NOT_FOUND for a missing path.
    """
    load_spark_half(type(connector))
    path = connector.path if isinstance(connector, FileConnector) else None
    try:
        found = read(connector, Reading(spark=spark, parallelism=parallelism, scans=scans))
    except SchemaChangedError:  # perhaps all files are in folders below
        if isinstance(connector, FileConnector):
            lines = spark.read.format("text").options(**reveal_all(connector.spark_options()))
            refuse_unread_files(plan_leaves(lines.load(connector.path)), path)
        raise
    except PySparkException as error:
        if not isinstance(connector, FileConnector) or (refusal := folder_refusal(error)) is None:
            raise
        raise refusal from error
    if spark.conf.get(STRICT_SOURCES, "true") != "false":
        leaves = plan_leaves(found.rows)
        refuse_unread_files(leaves, path)
        if isinstance(connector, FileConnector):
            check_folder_values(leaves, found.schema, connector.schema)
    return as_declared(connector, found)


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
    parts = (Part(rows=found.rows.drop(MISFIT), schema=found.schema), *found.others)
    origin = replace(found.origin, place=connector.place)
    rows = conform(parts, expectation, origin)
    if MISFIT not in found.rows.columns:
        return rows
    mark = found.rows.schema[MISFIT]
    with_mark = replace(expectation, schema=StructType([*expectation.schema, mark]))
    marked = Part(rows=found.rows, schema=StructType([*found.schema, mark]))
    return conform((marked,), with_mark, origin)


@singledispatch
def read(connector: Connector, reading: Reading) -> Found:
    """Return the rows of a source without its declared schema; each kind of connector registers its function."""
    raise AssertionError(f"no reader for {type(connector).__name__}")


SAMPLED_LINES = 1_000


def source_schema(connector: Connector, spark: SparkSession) -> StructType:
    """Return a source's columns; for text files without a declared schema, inferred from their first lines."""
    return _sampled(connector, spark) if connector.schema is None else _inferred(connector, spark)


@singledispatch
def _sampled(connector: Connector, spark: SparkSession) -> StructType:
    return _inferred(connector, spark)


@_sampled.register
def _(connector: Csv, spark: SparkSession) -> StructType:
    options = reveal_all(connector.spark_options()) | {"inferSchema": "true"}
    return spark.read.options(**options).csv(_first_lines(connector.path, spark)).schema


@_sampled.register
def _(connector: Json, spark: SparkSession) -> StructType:
    if dict(connector.spark_options()).get("multiLine", "false") == "true":
        return _inferred(connector, spark)
    options = reveal_all(connector.spark_options())
    return spark.read.options(**options).json(_first_lines(connector.path, spark)).schema


def with_known_schema(connector: Connector, spark: SparkSession) -> Connector:
    """Return the source with its inferred schema, so that planning it reads nothing."""
    if connector.schema is not None or not isinstance(connector, Csv | Json):
        return connector
    columns = source_schema(connector, spark)
    if not columns.names:  # reading it says so
        return connector
    return replace(connector, schema=ddl(columns))


def _inferred(connector: Connector, spark: SparkSession) -> StructType:
    rows = read_source(connector, spark, scans=False)
    return rows.drop(MISFIT).schema


def _first_lines(path: str, spark: SparkSession) -> RDD[str]:
    lines = [row[0] for row in spark.read.text(path).limit(SAMPLED_LINES).collect()]
    return spark.sparkContext.parallelize(lines, 1)
