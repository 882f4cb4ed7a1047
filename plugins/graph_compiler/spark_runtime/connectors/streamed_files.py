"""Files that arrive, as a stream of Spark: of each batch, the log of the source has the files."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import FileConnector

_ALL_AGES = {"maxFileAge": "36500d"}
"""Otherwise Spark leaves out files that are a week older than the newest one, without a word."""


def stream_files(
    connector: FileConnector, spark: SparkSession, format: str, options: Mapping[str, str], columns: StructType
) -> DataFrame:
    """Return a stream of a folder's files, as a format of Spark reads them."""
    reader = spark.readStream.format(format).options(**{**options, **_ALL_AGES})
    return reader.schema(columns).load(connector.one_path)
