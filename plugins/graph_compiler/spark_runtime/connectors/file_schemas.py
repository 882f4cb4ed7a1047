"""The columns of the files below a path, as far as the files declare them.

A format declares names and types (Parquet, ORC), names only (a CSV header), or nothing. Whatever it does not declare is
assumed to be as expected: the types of CSV columns, and those of partition folders, whose names are text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from urllib.parse import unquote, urlparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from graph_compiler.declaration.connectors.files import FileConnector, Parquet, SchemaInFiles
from graph_compiler.spark_runtime.publishing.literal_paths import literal, reads_everything
from graph_compiler.spark_runtime.publishing.partition_names import unescaped
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.hadoop_files import required_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A sink's target: its literal path, and the files that are inspected; None for all."""

    folder: str
    files: tuple[str, ...] | None


def held_schema(
    connector: FileConnector,
    spark: SparkSession,
    expected: StructType,
    target: Target | None = None,
) -> StructType:
    """Return the columns of all files below the connector's path, or of a sink's target; reads no rows."""
    if connector.schema_in_files is SchemaInFiles.NOTHING:
        return expected
    reader = spark.read.format(connector.spark_format)
    options = reveal_all(connector.spark_options())
    where: str | list[str] = connector.path
    if target is not None:
        options = reads_everything(options) | {"basePath": target.folder}
        names = [""] if target.files is None else [f"/{file}" for file in target.files]
        where = [literal(f"{target.folder}{name}") for name in names]
    if connector.schema_in_files is SchemaInFiles.NAMES:
        names = reader.options(**options, inferSchema="false").load(where).columns
        return _with_types(names, expected) if names else expected
    rows = reader.options(**{"mergeSchema": "true", **options}).load(where)
    folders = {name.lower() for name in _folder_columns(rows)}
    known = {field.name.lower(): field for field in expected}
    fields = [
        known.get(field.name.lower(), field) if field.name.lower() in folders else field
        for field in rows.schema
    ]
    if any(not field.nullable for field in expected):
        never_null = _never_null(connector, rows)
        fields = [
            StructField(f.name, f.dataType, nullable=f.nullable and f.name not in never_null)
            for f in fields
        ]
    return StructType(fields)


@singledispatch
def _never_null(connector: FileConnector, rows: DataFrame) -> frozenset[str]:
    """Return the columns without NULL according to the files; only Parquet records this."""
    return frozenset()


@_never_null.register
def _(connector: Parquet, rows: DataFrame) -> frozenset[str]:
    files = [unquote(file) for file in rows.inputFiles()]  # URIs; a Hadoop path is not encoded
    return required_columns(rows.sparkSession, files)


def _with_types(names: list[str], expected: StructType) -> StructType:
    known = {field.name.lower(): field for field in expected}
    return StructType(
        [
            StructField(name, field.dataType, field.nullable)
            if (field := known.get(name.lower()))
            else StructField(name, StringType())
            for name in names
        ]
    )


def _folder_columns(rows: DataFrame) -> set[str]:
    """Return the columns whose values are names of folders: `year=2013`; some files may be in none."""
    paths = {urlparse(file).path.rpartition("/")[0] for file in rows.inputFiles()}
    folders = {unquote(part) for path in paths for part in path.split("/")}
    return {unescaped(part.partition("=")[0]) for part in folders if "=" in part} & set(
        rows.columns
    )
