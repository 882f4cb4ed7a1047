"""Files as the libraries in Spark's JVM see them: Hadoop's patterns, the footers of Parquet and ORC.

Spark includes these libraries. The calls here are public API of each: 4.3, with Hadoop 3 and parquet-java. Types of
columns are converted by Spark's own classes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JError,
    Py4JJavaError,
    hadoop_configuration,
    java_class,
    once_for_context,
)
from graph_compiler.spark_runtime.spark_internals.versions import defaults_from

_HEAD = 1 << 16
_COLUMNS_OF_SPARK = "org.apache.spark.sql.parquet.row.metadata"
"""Where Spark writes in a footer which columns it had."""
_MOST_FOOTERS = 100

_DATA_SOURCES = "org.apache.spark.sql.execution.datasources"


def unmatched_path(spark: SparkSession, path: str) -> str | None:
    """Return the qualified path or pattern if nothing on its file system matches it, otherwise None."""
    pattern = java_class(spark, "org.apache.hadoop.fs.Path")(path)
    files = pattern.getFileSystem(hadoop_configuration(spark))
    if files.globStatus(pattern):  # null if no file has that name, empty if none matches the pattern
        return None
    return str(files.makeQualified(pattern).toString())


def existing(spark: SparkSession, paths: Iterable[str]) -> list[str]:
    """Return which of some files and folders are there; not those that may not be looked at."""
    found, made = [], java_class(spark, "org.apache.hadoop.fs.Path")
    for path in paths:
        if (local := local_path(path)) is not None:  # a hundred times faster than through the JVM
            found += [path] if os.path.exists(local) else []
            continue
        java = made(path)
        with suppress(Py4JJavaError):
            found += [path] if java.getFileSystem(hadoop_configuration(spark)).exists(java) else []
    return found


def first_bytes(uri: str) -> bytes:
    """Return the beginning of a file, empty if it cannot be read: 64 KiB are enough to tell how it is written."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        return b""
    try:
        path = java_class(spark, "org.apache.hadoop.fs.Path")(java_class(spark, "java.net.URI")(uri))
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


def parquet_columns(spark: SparkSession) -> Callable[[str], StructType]:
    """Return a function that reads a Parquet file's columns from its footer; a REQUIRED field is NOT NULL at any depth.

    Types are those that Spark reads. `ParquetFileFormat.readSchemaFromFooter`, `ParquetToSparkSchemaConverter`: 4.3.
    Footers that say the same are converted once: a stream asks for each of its files.
    """
    open_file = _parquet_opener(spark)
    formats = f"{_DATA_SOURCES}.parquet"
    spark_columns = java_class(spark, f"{formats}.ParquetFileFormat").readSchemaFromFooter
    footer = java_class(spark, "org.apache.parquet.hadoop.Footer")
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    session_state = spark._jsparkSession.sessionState()
    converter = java_class(spark, f"{formats}.ParquetToSparkSchemaConverter")(session_state.conf())
    known: dict[tuple[str, str | None], StructType] = {}

    def columns(path: str) -> StructType:
        reader = open_file(path)
        try:
            metadata = reader.getFooter()
        finally:
            reader.close()
        file_metadata = metadata.getFileMetaData()
        schema = file_metadata.getSchema()
        said = str(schema.toString()), file_metadata.getKeyValueMetaData().get(_COLUMNS_OF_SPARK)
        if (found := known.get(said)) is not None:
            return found
        typed = _schema(spark_columns(footer(hadoop_path(path), metadata), converter))
        # Spark's own text in the footer may be a copy: only the file's schema says what is REQUIRED.
        found = _with_nullability(typed, _schema(converter.convert(schema)))
        if len(known) >= _MOST_FOOTERS:
            known.clear()
        known[said] = found
        return found

    return columns


def parquet_columns_of(spark: SparkSession, kind: str) -> Callable[[str], list[str]]:
    """Return a function that finds a Parquet file's columns of one type, as in Spark's messages: `INT64 (DATE)`."""
    open_file = _parquet_opener(spark)

    def columns(path: str) -> list[str]:
        reader = open_file(path)
        try:
            found = list(reader.getFooter().getFileMetaData().getSchema().getColumns())
        finally:
            reader.close()
        return [".".join(column.getPath()) for column in found if _words(column.getPrimitiveType()) == kind]

    return columns


def _words(primitive: Any) -> str:
    name, annotation = str(primitive.getPrimitiveTypeName().toString()), primitive.getLogicalTypeAnnotation()
    return name if annotation is None else f"{name} ({annotation.toString()})"


def orc_columns(spark: SparkSession) -> Callable[[str], StructType]:
    """Return a function that reads an ORC file's columns from its footer. `OrcUtils`: 4.3."""
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    orc = java_class(spark, f"{_DATA_SOURCES}.orc.OrcUtils")
    configuration, others = hadoop_configuration(spark), defaults_from(orc, "readSchema", 4)

    def columns(path: str) -> StructType:
        found = orc.readSchema(hadoop_path(path), configuration, False, *others)
        return _schema(orc.toCatalystSchema(found.get())) if found.isDefined() else StructType()

    return columns


def _schema(java: Any) -> StructType:
    return StructType.fromJson(json.loads(java.json()))


def _with_nullability(typed: StructType, physical: StructType) -> StructType:
    """Return fields that are NOT NULL only if both schemas say so."""
    known = {field.name: field for field in physical}
    fields = []
    for field in typed:
        other = known.get(field.name)
        kind, nullable = field.dataType, field.nullable or other is None or other.nullable
        if other is not None:
            kind = _type_with_nullability(kind, other.dataType)
        fields.append(StructField(field.name, kind, nullable))
    return StructType(fields)


def _type_with_nullability(typed: DataType, physical: DataType) -> DataType:
    if isinstance(typed, StructType):
        return _with_nullability(typed, physical if isinstance(physical, StructType) else StructType())
    if isinstance(typed, ArrayType) and isinstance(physical, ArrayType):
        return ArrayType(_type_with_nullability(typed.elementType, physical.elementType))
    if isinstance(typed, MapType) and isinstance(physical, MapType):
        return MapType(
            _type_with_nullability(typed.keyType, physical.keyType),
            _type_with_nullability(typed.valueType, physical.valueType),
        )
    return typed


def _parquet_opener(spark: SparkSession) -> Callable[[str], Any]:
    """Return a function that opens a Parquet file at its footer.

    Classes are looked up and options read once: a result may have thousands of files, and without options parquet-java
    reads Hadoop's configuration files for each.
    """
    opener: Callable[[str], Any] = once_for_context(spark, "parquet", lambda: _new_parquet_opener(spark))
    return opener


def _new_parquet_opener(spark: SparkSession) -> Callable[[str], Any]:
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    input_file = java_class(spark, "org.apache.parquet.hadoop.util.HadoopInputFile")
    reader = java_class(spark, "org.apache.parquet.hadoop.ParquetFileReader")
    configuration = hadoop_configuration(spark)
    options = java_class(spark, "org.apache.parquet.HadoopReadOptions").builder(configuration).build()
    open_reader, from_path = reader.open, input_file.fromPath  # py4j asks for each name again
    return lambda name: open_reader(from_path(hadoop_path(name), configuration), options)
