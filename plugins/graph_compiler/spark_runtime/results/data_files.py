"""Write a staged result's Parquet files, and describe them, with their row counts from the footers.

a store with renames    Spark writes the folder, and what is listed there is described
any other               files get their final names at once; those of committed task attempts are described
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.results.pinned_settings import WRITE_OPTIONS
from graph_compiler.spark_runtime.spark_internals.executed_queries import ExecutedQueries
from graph_compiler.spark_runtime.spark_internals.hadoop_files import footer_rows
from graph_compiler.staging.store.staging_store import StagingStore, StoredFile

_PART = re.compile(r"part-(\d+)-.*\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenResult:
    """The files that a write left, and how many rows went to their writers."""

    files: tuple[StoredFile, ...]
    rows: int


def write_result(rows: DataFrame, store: StagingStore, folder: str) -> WrittenResult:
    """Write rows to a folder of their own; raises StagingError if a written file is not there."""
    if store.promises.atomic_move:
        queries = ExecutedQueries.of(rows.sparkSession)
        with queries.writing(folder) as metrics:
            rows.write.options(**WRITE_OPTIONS).parquet(folder)
            written = metrics().rows
        return WrittenResult(files=tuple(store.files(folder)), rows=written)
    from graph_compiler.spark_runtime.spark_internals.direct_write import write_directly  # most drivers need none

    direct = write_directly(rows, folder, options=WRITE_OPTIONS)
    listed = {file.key: file for file in store.files(folder)}
    files = []
    for file in direct.files:
        found = listed.get(f"{folder}/{file.name}")
        if found is None or found.bytes != file.bytes:
            what = "is not listed" if found is None else f"has {found.bytes} bytes, not {file.bytes}"
            raise StagingError(f"{folder}/{file.name}, which Spark has written, {what}")
        files.append(found)
    return WrittenResult(files=tuple(files), rows=direct.counted.rows)


def written_partitions(
    spark: SparkSession, store: StagingStore, folder: str, files: Iterable[StoredFile], *, partitions: int | None
) -> tuple[ManifestPartition, ...]:
    """Return partitions 0 to n-1 with their files; n is at least `partitions`, and more if the files show it.

    Spark numbers a file by the task that wrote it. A partition without rows may have no file.
    """
    rows_in = footer_rows(spark)
    found: dict[int, list[DataFile]] = {}
    for file in sorted(files, key=lambda each: each.key):
        name = file.key.removeprefix(f"{folder}/")
        if part := _PART.fullmatch(name):
            rows = rows_in(file.key)
            found.setdefault(int(part[1]), []).append(_data_file(store, file, name, rows))
        elif not name.startswith(("_", ".")):
            raise StagingError(f"{file.key} does not have a name that Spark gives its files: part-00000-….parquet")
    count = max(partitions or 0, max(found, default=-1) + 1)
    return tuple(ManifestPartition(index=index, files=tuple(found.get(index, ()))) for index in range(count))


def _data_file(store: StagingStore, file: StoredFile, name: str, rows: int) -> DataFile:
    checksums = file.digest or store.digest(file.key)
    if checksums is None:
        raise StagingError(
            f"{file.key} was written without checksums: its bytes could not be verified\n"
            "  hint: your own commit protocol or output committer does not keep them"
        )
    return DataFile(name=name, rows=rows, bytes=file.bytes, checksums=checksums)
