"""Rows of a sink that are prepared in the staging root, as Parquet, because their target is no folder."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.publishing.literal_paths import literal_path
from graph_compiler.spark_runtime.publishing.written_files import PARQUET, in_store, write_files
from graph_compiler.spark_runtime.results.data_files import write_result
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsInRoot:
    """Files below a folder of the staging root, all of them if `files` is None, with their rows and bytes."""

    folder: str
    files: tuple[str, ...] | None
    rows: int = 0
    bytes: int = 0

    @classmethod
    def write(cls, rows: DataFrame, store: StagingStore, folder: str) -> RowsInRoot:
        """Write rows, and count them; they survive the driver."""
        store.make_folder(folder.rpartition("/")[0])
        if store.promises.atomic_move:
            written, count = write_files(rows, folder, PARQUET, in_store(store))
            return cls(folder=folder, files=None, rows=count, bytes=sum(file.bytes for file in written))
        result = write_result(rows, store, folder)
        names = tuple(file.key.removeprefix(f"{folder}/") for file in result.files)
        return cls(folder=folder, files=names, rows=result.rows, bytes=sum(file.bytes for file in result.files))

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the rows: the same in every read."""
        below = [""] if self.files is None else [f"/{name}" for name in self.files]
        return spark.read.parquet(*(literal_path(f"{self.folder}{name}") for name in below))
