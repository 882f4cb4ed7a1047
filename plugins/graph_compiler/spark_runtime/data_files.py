"""The Parquet files that one write left in a folder, with what their footers say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.deployment.manifest import DataFile, ManifestPartition

_PART = re.compile(r"part-(\d+)-.*\.parquet")


def written_partitions(
    spark: SparkSession, folder: str, *, partitions: int | None
) -> tuple[ManifestPartition, ...]:
    """List partitions 0 to n-1 with their files; n is what the files show, and at least `partitions`.

    Spark numbers a file by the task that wrote it. A partition without rows may have no file.
    """
    found: dict[int, list[DataFile]] = {}
    for path in sorted(Path(folder).iterdir()):
        if part := _PART.fullmatch(path.name):
            file = DataFile(
                name=path.name, rows=footer_rows(spark, path), bytes=path.stat().st_size
            )
            found.setdefault(int(part[1]), []).append(file)
    count = max(partitions or 0, max(found, default=-1) + 1)
    return tuple(
        ManifestPartition(index=index, files=tuple(found.get(index, ()))) for index in range(count)
    )


def footer_rows(spark: SparkSession, path: Path) -> int:
    """Read a Parquet footer on the driver: no Spark job, and exact."""
    jvm, context = spark._jvm, spark._jsc
    assert jvm is not None
    assert context is not None
    hadoop_path = jvm.org.apache.hadoop.fs.Path(str(path))
    configuration = context.hadoopConfiguration()
    file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(hadoop_path, configuration)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
    try:
        return int(reader.getRecordCount())
    finally:
        reader.close()


def required_columns(spark: SparkSession, files: list[str]) -> frozenset[str]:
    """Give the top-level columns that every one of these Parquet files declares REQUIRED; reads all their footers."""
    jvm, context = spark._jvm, spark._jsc
    assert jvm is not None
    assert context is not None
    found: frozenset[str] | None = None
    for name in files:
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            jvm.org.apache.hadoop.fs.Path(name), context.hadoopConfiguration()
        )
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            columns = reader.getFooter().getFileMetaData().getSchema().getFields()
            required = {column.getName() for column in columns if _is_required(column)}
        finally:
            reader.close()
        found = frozenset(required) if found is None else found & required
    return found or frozenset()


def _is_required(column: Any) -> bool:
    return str(column.getRepetition().toString()) == "REQUIRED"
