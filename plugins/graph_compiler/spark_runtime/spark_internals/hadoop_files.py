"""Files as the libraries in Spark's JVM see them: Hadoop's patterns, the footers of Parquet and ORC.

Spark includes these libraries. The calls here are public API of each: 4.3, with Hadoop 3 and parquet-java.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JError,
    hadoop_configuration,
    java_class,
)

_HEAD = 1 << 16


def unmatched_path(spark: SparkSession, path: str) -> str | None:
    """Return the qualified path or pattern if nothing on its file system matches it, otherwise None."""
    pattern = java_class(spark, "org.apache.hadoop.fs.Path")(path)
    files = pattern.getFileSystem(hadoop_configuration(spark))
    if files.globStatus(
        pattern
    ):  # null if no file has that name, empty if none matches the pattern
        return None
    return str(files.makeQualified(pattern).toString())


def first_bytes(uri: str) -> bytes:
    """Return the beginning of a file, empty if it cannot be read: 64 KiB are enough to tell how it is written."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        return b""
    try:
        path = java_class(spark, "org.apache.hadoop.fs.Path")(
            java_class(spark, "java.net.URI")(uri)
        )
        stream = path.getFileSystem(hadoop_configuration(spark)).open(path)
        try:
            return bytes(stream.readNBytes(_HEAD))
        finally:
            stream.close()
    except (Py4JError, PySparkException):  # the failure that is explained comes first
        return b""


def footer_rows(spark: SparkSession) -> Callable[[str], int]:
    """Return a function that counts a Parquet file's rows by its footer, on the driver: no Spark job, and exact."""
    open_file = _parquet_opener(spark)

    def rows(path: str) -> int:
        reader = open_file(path)
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    return rows


def orc_rows(spark: SparkSession) -> Callable[[str], int]:
    """Return a function that counts an ORC file's rows by its footer, on the driver: no Spark job, and exact."""
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    orc = java_class(spark, "org.apache.orc.OrcFile")
    configuration = hadoop_configuration(spark)

    def rows(path: str) -> int:
        # A reader leaves its file's footer in its options, so each file has its own options.
        reader = orc.createReader(hadoop_path(path), orc.readerOptions(configuration))
        try:
            return int(reader.getNumberOfRows())
        finally:
            reader.close()

    return rows


def required_columns(spark: SparkSession, files: list[str]) -> frozenset[str]:
    """Return the top-level columns that are REQUIRED in each of these Parquet files; reads all their footers."""
    open_file = _parquet_opener(spark)
    found: frozenset[str] | None = None
    for name in files:
        reader = open_file(name)
        try:
            columns = reader.getFooter().getFileMetaData().getSchema().getFields()
            required = {column.getName() for column in columns if _is_required(column)}
        finally:
            reader.close()
        found = frozenset(required) if found is None else found & required
    return found or frozenset()


def _parquet_opener(spark: SparkSession) -> Callable[[str], Any]:
    """Return a function that opens a Parquet file at its footer.

    Classes are looked up and options read once: a result may have thousands of files, and without options parquet-java
    reads Hadoop's configuration files for each.
    """
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    input_file = java_class(spark, "org.apache.parquet.hadoop.util.HadoopInputFile")
    reader = java_class(spark, "org.apache.parquet.hadoop.ParquetFileReader")
    configuration = hadoop_configuration(spark)
    options = (
        java_class(spark, "org.apache.parquet.HadoopReadOptions").builder(configuration).build()
    )
    return lambda name: reader.open(input_file.fromPath(hadoop_path(name), configuration), options)


def _is_required(column: Any) -> bool:
    return str(column.getRepetition().toString()) == "REQUIRED"
