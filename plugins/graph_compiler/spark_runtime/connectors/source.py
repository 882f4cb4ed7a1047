"""Read the rows of a connector, with the columns of its declared schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce, singledispatch
from typing import TypeAlias

from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import Connector, Csv, FileConnector, Json, OnSchemaChange
from graph_compiler.declaration.connectors.connector import SOURCE_EVOLVES, ChangeKind
from graph_compiler.deployment.documents.jvm_settings import STRICT_SOURCES
from graph_compiler.errors import SchemaChangedError
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema
from graph_compiler.spark_runtime.columns.schema_change import (
    UNKNOWN,
    Expectation,
    Origin,
    Part,
    common_schema,
    conform,
    find_changes,
)
from graph_compiler.spark_runtime.connectors.folder_values import check_folder_values, folder_refusal
from graph_compiler.spark_runtime.repeatability.source_files import refuse_files_in_two, refuse_unread_files
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.file_listings import PinnedPath, file_versions, load_files
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves

MISFIT = "graph_compiler_misfit"
"""The column of a record that is set aside: a struct of REJECTS; NULL for all other records."""
REJECTS = "file STRING, record STRING, column STRING, text STRING, reason STRING"
"""The columns of records that are set aside. `column` and `text` are NULL if the record as a whole does not fit."""


KnownColumns: TypeAlias = Callable[[Connector, Callable[[], StructType]], StructType]


def infer_anew(_: Connector, infer: Callable[[], StructType]) -> StructType:
    """Return the columns of a source that nothing knows."""
    return infer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How rows are read: the session, and the source's parallelism; None if it sets none.

    `scans`: whether files may be read for their checks before the rows are. `known` returns the columns of files
    without types: those that it knows, or what it is given infers.
    """

    spark: SparkSession
    parallelism: int | None
    scans: bool = True
    known: KnownColumns = infer_anew


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
    connector: Connector,
    spark: SparkSession,
    parallelism: int | None = None,
    *,
    scans: bool = True,
    known: KnownColumns = infer_anew,
) -> DataFrame:
    """Return the rows of a source; to find the columns, it reads only what is needed.

    With `scans`, files may be read for their checks. Records that the source sets aside are among the rows, with the
    column MISFIT.

    Raises SchemaChangedError if the columns do not match the declared schema, UnreadFilesError if files below its
    folder would be left out, ExtensionError for another package's connector whose Spark half is not installed; Spark
    raises PATH_NOT_FOUND for a missing path.
    """
    load_spark_half(type(connector))
    reading = Reading(spark=spark, parallelism=parallelism, scans=scans, known=known)
    found = [(place, _read_place(place, reading)) for place in connector.each_place()]
    if len(found) > 1:
        refuse_files_in_two((place.place or "", _files_read(each)) for place, each in found)
    if connector.schema is None or connector.on_schema_change == OnSchemaChange.EVOLVE:
        return as_declared(connector, _united(found))
    return reduce(DataFrame.union, [as_declared(place, each) for place, each in found])


def _united(found: Sequence[tuple[Connector, Found]]) -> Found:
    """Return the rows of all places of a source, each with its own columns.

    Raises SchemaChangedError if they have different ones, and none are declared.
    """
    (place, first), *others = found
    for other, rest in others:
        if place.schema is None:
            _refuse_other_columns(place, first.schema, other, rest.schema)
    origins = [each.origin for _, each in found]
    origin = Origin(
        file_with=lambda change: next((file for one in origins if (file := one.file_with(change))), None),
        notes=tuple(note for one in origins for note in one.notes),
    )
    parts = [part for _, each in others for part in (Part(rows=each.rows, schema=each.schema), *each.others)]
    return replace(first, others=(*first.others, *parts), origin=origin)


def _files_read(found: Found) -> list[str]:
    leaves = [leaf for rows in (found.rows, *(part.rows for part in found.others)) for leaf in plan_leaves(rows)]
    return [file.path for leaf in leaves if leaf.listing is not None for file in file_versions(leaf.listing)]


def _refuse_other_columns(one: Connector, columns: StructType, other: Connector, found: StructType) -> None:
    """Raise SchemaChangedError if two places of a source without a declared schema have different columns."""
    changes = [change for change in find_changes(columns, found) if change.kind is not ChangeKind.NULLABLE]
    if not changes:
        return
    common = common_schema([columns, found])
    policy = "" if all(change.is_of_type for change in changes) else ', on_schema_change="ignore"'
    declared = "schema= with one type for each column" if common is None else f'schema="{ddl(common)}"{policy}'
    raise SchemaChangedError(
        "\n".join(
            [
                f"its paths have different columns: {other.place}, compared with {one.place}",
                *(f"  {change}" for change in changes),
                "  allowed: the same columns below each path, or declared ones",
                f"  hint: declare {declared}",
            ]
        )
    )


def _read_place(connector: Connector, reading: Reading) -> Found:
    """Return the rows of a source of one place, which are checked except for their declared columns."""
    spark = reading.spark
    path = connector.one_path if isinstance(connector, FileConnector) else None
    try:
        found = read(connector, reading)
    except SchemaChangedError:  # perhaps all files are in folders below
        if isinstance(connector, FileConnector):
            lines = spark.read.format("text").options(**reveal_all(connector.spark_options()))
            refuse_unread_files(spark, plan_leaves(load_files(lines, [connector.one_path])), path)
        raise
    except (PySparkException, Py4JJavaError) as error:
        if not isinstance(connector, FileConnector) or (refusal := folder_refusal(error)) is None:
            raise
        raise refusal from error
    if spark.conf.get(STRICT_SOURCES, "true") != "false":
        leaves = plan_leaves(found.rows)
        if not isinstance(path, PinnedPath):  # they were looked at when they were listed
            refuse_unread_files(spark, leaves, path)
        if isinstance(connector, FileConnector):
            check_folder_values(leaves, found.schema, connector.schema)
    return found


def as_declared(connector: Connector, found: Found) -> DataFrame:
    """Return found rows with the columns a source declares; raises SchemaChangedError if they differ too much."""
    if connector.schema is None and not found.others:
        return found.rows
    expectation = Expectation(
        schema=found.schema if connector.schema is None else parse_schema(connector.schema),
        policy=OnSchemaChange(connector.on_schema_change or OnSchemaChange.FAIL),
        evolves=SOURCE_EVOLVES,
        follows=frozenset({ChangeKind.WIDENED}),
    )
    parts = (Part(rows=found.rows, schema=found.schema), *found.others)
    origin = replace(found.origin, place=connector.place)
    rows = conform([replace(part, rows=part.rows.drop(MISFIT)) for part in parts], expectation, origin)
    if MISFIT not in found.rows.columns:
        return rows
    mark = found.rows.schema[MISFIT]
    with_mark = replace(expectation, schema=StructType([*expectation.schema, mark]))
    marked = [Part(rows=part.rows, schema=StructType([*part.schema, mark])) for part in parts]
    return conform(marked, with_mark, origin)


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
    options = reveal_all(connector.spark_options())
    if infers(connector):
        options |= {"inferSchema": "true"}
    return spark.read.options(**options).csv(_first_lines(connector.paths, spark)).schema


@_sampled.register
def _(connector: Json, spark: SparkSession) -> StructType:
    if str(dict(connector.spark_options()).get("multiLine")).lower() == "true":
        return _inferred(connector, spark)
    options = reveal_all(connector.spark_options())
    return spark.read.options(**options).json(_first_lines(connector.paths, spark)).schema


def infers(connector: FileConnector) -> bool:
    """Whether the types of CSV are inferred, unless its options say so themselves: without, each column is text."""
    return "inferschema" not in {name.lower() for name in connector.spark_options()}


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


def _first_lines(paths: tuple[str, ...], spark: SparkSession) -> RDD[str]:
    text = load_files(spark.read.format("text"), paths)
    lines = [row[0] for row in text.limit(SAMPLED_LINES).collect()]
    return spark.sparkContext.parallelize(lines, 1)
