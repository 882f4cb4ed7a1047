"""The Parquet files that one write left in a folder, with what their footers say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.spark_internals.java import java_class
from graph_compiler.staging.store.staging_store import StagingStore, StoredFile

_PART = re.compile(r"part-(\d+)-.*\.parquet")


def written_partitions(
    spark: SparkSession, store: StagingStore, folder: str, *, partitions: int | None
) -> tuple[ManifestPartition, ...]:
    """List partitions 0 to n-1 with their files; n is what the files show, and at least `partitions`.

    Spark numbers a file by the task that wrote it. A partition without rows may have no file.
    """
    rows_in = footer_rows(spark)
    found: dict[int, list[DataFile]] = {}
    for file in sorted(store.files(folder), key=lambda each: each.key):
        name = file.key.removeprefix(f"{folder}/")
        if part := _PART.fullmatch(name):
            rows = rows_in(file.key)
            found.setdefault(int(part[1]), []).append(_data_file(store, file, name, rows))
        elif not name.startswith(("_", ".")):
            raise StagingError(
                f"{file.key} is not named as Spark names what it writes: part-00000-….parquet"
            )
    count = max(partitions or 0, max(found, default=-1) + 1)
    return tuple(
        ManifestPartition(index=index, files=tuple(found.get(index, ()))) for index in range(count)
    )


def _data_file(store: StagingStore, file: StoredFile, name: str, rows: int) -> DataFile:
    checksums = store.digest(file.key)
    if checksums is None:
        raise StagingError(
            f"{file.key} was written without checksums: nothing would vouch for its bytes\n"
            "  hint: a commit protocol or an output committer of your own does not keep them"
        )
    return DataFile(name=name, rows=rows, bytes=file.bytes, checksums=checksums)


def footer_rows(spark: SparkSession) -> Callable[[str], int]:
    """Return a function that counts a Parquet file's rows by its footer, on the driver: no Spark job, and exact."""
    open_file = _opener(spark)

    def rows(path: str) -> int:
        reader = open_file(path)
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    return rows


def orc_rows(spark: SparkSession) -> Callable[[str], int]:
    """Return a function that counts an ORC file's rows by its footer, on the driver: no Spark job, and exact."""
    assert spark._jsc is not None
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    orc = java_class(spark, "org.apache.orc.OrcFile")
    configuration = spark._jsc.hadoopConfiguration()

    def rows(path: str) -> int:
        # A reader leaves its file's footer in its options: each file has its own.
        reader = orc.createReader(hadoop_path(path), orc.readerOptions(configuration))
        try:
            return int(reader.getNumberOfRows())
        finally:
            reader.close()

    return rows


def required_columns(spark: SparkSession, files: list[str]) -> frozenset[str]:
    """Give the top-level columns that every one of these Parquet files declares REQUIRED; reads all their footers."""
    open_file = _opener(spark)
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


def _opener(spark: SparkSession) -> Callable[[str], Any]:
    """Give a function that opens a Parquet file where its footer is.

    Classes are looked up once: a result may have thousands of files.
    """
    assert spark._jsc is not None
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    input_file = java_class(spark, "org.apache.parquet.hadoop.util.HadoopInputFile")
    reader = java_class(spark, "org.apache.parquet.hadoop.ParquetFileReader")
    configuration = spark._jsc.hadoopConfiguration()
    return lambda name: reader.open(input_file.fromPath(hadoop_path(name), configuration))


def _is_required(column: Any) -> bool:
    return str(column.getRepetition().toString()) == "REQUIRED"
