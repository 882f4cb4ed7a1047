"""Which columns the files below a path hold, as far as they tell.

A format tells names and types (Parquet, ORC), names (a CSV header) or nothing. What it does not tell is taken to be as
expected: the types of CSV columns, and of partition folders, whose names are text.
"""

from __future__ import annotations

from functools import singledispatch
from urllib.parse import unquote, urlparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from graph_compiler.declaration.connectors.files import FileConnector, Parquet, SchemaInFiles
from graph_compiler.spark_runtime.data_files import required_columns
from graph_compiler.spark_runtime.secret_values import reveal_all


def held_schema(
    connector: FileConnector,
    spark: SparkSession,
    expected: StructType,
    files: tuple[str, ...] | None = None,
) -> StructType:
    """Give the columns of all files below the connector's path, or of `files` below it; reads no rows."""
    if connector.schema_in_files is SchemaInFiles.NOTHING:
        return expected
    reader = spark.read.format(connector.spark_format)
    options = reveal_all(connector.spark_options())
    where: str | list[str] = connector.path
    if files is not None:
        options["basePath"] = connector.path
        where = [f"{connector.path}/{file}" for file in files]
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
    """Give the columns that files say hold no NULL; only Parquet's do."""
    return frozenset()


@_never_null.register
def _(connector: Parquet, rows: DataFrame) -> frozenset[str]:
    return required_columns(rows.sparkSession, rows.inputFiles())


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
    """Give the columns whose values are names of folders: `year=2013`."""
    files = rows.inputFiles()[:1]
    folders = [part for file in files for part in urlparse(file).path.split("/")[:-1]]
    return {unquote(part.partition("=")[0]) for part in folders if "=" in part} & set(rows.columns)
