"""The Parquet files that one write left in a folder, with what their footers say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.deployment.manifest import DataFile, ManifestPartition

_PART = re.compile(r"part-(\d+)-.*\.parquet")


def written_partitions(
    spark: SparkSession, folder: str, *, partitions: int | None
) -> tuple[ManifestPartition, ...]:
    """List partitions 0 to n-1 with their files; n is what the files show, and at least `partitions`.

    Spark numbers a file by the task that wrote it. A partition without rows may have no file.
    """
    rows_in = _footer_rows(spark)
    found: dict[int, list[DataFile]] = {}
    for path in sorted(Path(folder).iterdir()):
        if part := _PART.fullmatch(path.name):
            file = DataFile(name=path.name, rows=rows_in(path), bytes=path.stat().st_size)
            found.setdefault(int(part[1]), []).append(file)
    count = max(partitions or 0, max(found, default=-1) + 1)
    return tuple(
        ManifestPartition(index=index, files=tuple(found.get(index, ()))) for index in range(count)
    )


def _footer_rows(spark: SparkSession) -> Callable[[Path], int]:
    """Give a function that reads a Parquet footer on the driver: no Spark job, and exact.

    Classes are looked up once: each dot of a Java name is a call to the JVM, and a result may have thousands of files.
    """
    jvm, context = spark._jvm, spark._jsc
    assert jvm is not None
    assert context is not None
    hadoop_path, input_file = (
        jvm.org.apache.hadoop.fs.Path,
        jvm.org.apache.parquet.hadoop.util.HadoopInputFile,
    )
    open_file = jvm.org.apache.parquet.hadoop.ParquetFileReader.open
    configuration = context.hadoopConfiguration()

    def rows(path: Path) -> int:
        reader = open_file(input_file.fromPath(hadoop_path(str(path)), configuration))
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    return rows
