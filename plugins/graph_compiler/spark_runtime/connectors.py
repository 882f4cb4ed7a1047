"""Read what connectors describe."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Csv, FileConnector


def read_source(connector: FileConnector, spark: SparkSession) -> DataFrame:
    """Give the rows of a source; Spark raises PATH_NOT_FOUND for a missing path at once."""
    reader = spark.read.format(connector.format).options(**connector.spark_options())
    if isinstance(connector, Csv) and connector.schema is not None:
        reader = reader.schema(connector.schema)
    return reader.load(connector.path)
