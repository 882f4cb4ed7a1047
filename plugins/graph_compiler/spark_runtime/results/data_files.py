"""The Parquet files that one write left in a folder, with what their footers say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.spark_internals.java import java_class
from graph_compiler.staging.results.hadoop_checksums import checksum_file, checksums_digest

_PART = re.compile(r"part-(\d+)-.*\.parquet")


def written_partitions(
    spark: SparkSession, folder: str, *, partitions: int | None
) -> tuple[ManifestPartition, ...]:
    """List partitions 0 to n-1 with their files; n is what the files show, and at least `partitions`.

    Spark numbers a file by the task that wrote it. A partition without rows may have no file.
    """
    rows_in = footer_rows(spark)
    found: dict[int, list[DataFile]] = {}
    for path in sorted(Path(folder).iterdir()):
        if part := _PART.fullmatch(path.name):
            found.setdefault(int(part[1]), []).append(_data_file(path, rows_in(path)))
        elif not path.name.startswith(("_", ".")):
            raise StagingError(
                f"{path} is not named as Spark names what it writes: part-00000-….parquet"
            )
    count = max(partitions or 0, max(found, default=-1) + 1)
    return tuple(
        ManifestPartition(index=index, files=tuple(found.get(index, ()))) for index in range(count)
    )


def _data_file(path: Path, rows: int) -> DataFile:
    checksums = checksums_digest(path)
    if checksums is None:
        raise StagingError(
            f"{path} was written without checksums ({checksum_file(path).name} is missing)\n"
            "  hint: a commit protocol or an output committer of your own does not keep them"
        )
    return DataFile(name=path.name, rows=rows, bytes=path.stat().st_size, checksums=checksums)


def footer_rows(spark: SparkSession) -> Callable[[Path], int]:
    """Give a function that counts a Parquet file's rows by its footer, on the driver: no Spark job, and exact."""
    open_file = _opener(spark)

    def rows(path: Path) -> int:
        reader = open_file(str(path))
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    return rows


def orc_rows(spark: SparkSession) -> Callable[[Path], int]:
    """Return a function that counts an ORC file's rows by its footer, on the driver: no Spark job, and exact."""
    assert spark._jsc is not None
    hadoop_path = java_class(spark, "org.apache.hadoop.fs.Path")
    orc = java_class(spark, "org.apache.orc.OrcFile")
    configuration = spark._jsc.hadoopConfiguration()

    def rows(path: Path) -> int:
        # A reader leaves its file's footer in its options: each file has its own.
        reader = orc.createReader(hadoop_path(str(path)), orc.readerOptions(configuration))
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
