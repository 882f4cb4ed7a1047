"""The columns of the files below a path, as far as the files declare them.

A format declares names and types (Parquet, ORC), names only (a CSV header), or nothing. Whatever it does not declare is
assumed to be as expected: the types of CSV columns, and those of partition folders, whose names are text.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from graph_compiler.declaration.connectors.files import FileConnector, SchemaInFiles
from graph_compiler.spark_runtime.connectors.typed_files import TypedFiles, or_no_files
from graph_compiler.spark_runtime.publishing.literal_paths import literal, reads_everything
from graph_compiler.spark_runtime.secret_values import reveal_all


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
    where = [connector.path]
    if target is not None:
        options = reads_everything(options, spark) | {"basePath": target.folder}
        names = [""] if target.files is None else [f"/{file}" for file in target.files]
        where = [literal(f"{target.folder}{name}") for name in names]
    if connector.schema_in_files is SchemaInFiles.NAMES:
        named = reader.options(**options, inferSchema="false")
        rows = or_no_files(lambda: named.load(where))
        return _with_types(rows.columns, expected) if rows and rows.columns else expected
    files = TypedFiles(
        spark=spark, format=connector.spark_format.lower(), options=options, where=tuple(where)
    )
    part = files.one_schema(expected)
    return expected if part is None else part.schema


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
