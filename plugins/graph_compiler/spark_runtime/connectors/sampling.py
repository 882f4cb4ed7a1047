"""The columns of a source, from the smallest part that declares them: its declaration, footers, or the first lines."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from pyspark import RDD
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import Connector, Csv, Json
from graph_compiler.spark_runtime.columns.declared_schema import ddl
from graph_compiler.spark_runtime.connectors.source import MISFIT, read_source
from graph_compiler.spark_runtime.secret_values import reveal_all

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
