"""The Parquet files that one write left in a folder, with their row counts from the footers."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.spark_internals.hadoop_files import footer_rows
from graph_compiler.staging.store.staging_store import StagingStore, StoredFile

_PART = re.compile(r"part-(\d+)-.*\.parquet")


def written_partitions(
    spark: SparkSession, store: StagingStore, folder: str, *, partitions: int | None
) -> tuple[ManifestPartition, ...]:
    """List partitions 0 to n-1 with their files; n is at least `partitions`, and more if the files show it.

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
            f"{file.key} was written without checksums: its bytes could not be verified\n"
            "  hint: a commit protocol or an output committer of your own does not keep them"
        )
    return DataFile(name=name, rows=rows, bytes=file.bytes, checksums=checksums)
