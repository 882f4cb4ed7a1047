"""Write rows as files of a format into an empty folder, and say exactly what was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import count, lit

from graph_compiler.spark_runtime.data_files import footer_rows
from graph_compiler.spark_runtime.observed_counts import observed_count

# part-00003-<uuid>-c000.snappy.parquet, part-00003-<uuid>.c000.csv.gz: the task, and how the name ends
_PART = re.compile(r"part-(\d+)-.*?[-.]c\d+(\..+)")
_EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """How files are written: Spark's name of the format and its options, folders, and how many tasks write."""

    name: str = "parquet"
    options: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    files: int | None = None


PARQUET = FileFormat(options={})


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file by its name relative to the folder that was written; `task` is Spark's number of who wrote it."""

    name: str
    task: int
    suffix: str
    bytes: int

    @property
    def folder(self) -> str:
        """Give the partition it is in, `.` for none: `year=2013/month=1`."""
        return str(Path(self.name).parent)


def write_files(
    rows: DataFrame, folder: str, format: FileFormat
) -> tuple[tuple[WrittenFile, ...], int]:
    """Write the rows; give the files, and how many rows are in them.

    Rows are counted in Parquet's footers. In other formats they are counted as they go to the writer, in the last stage
    of the write's own job, where Spark takes the count of exactly one attempt of each task. To read files back would
    count something else: a line break in a CSV value makes two lines, a lone NULL an empty line that readers skip.
    Spark's write metrics count what each attempt wrote.
    """
    if format.files is not None:
        rows = rows.repartition(format.files)
    observation = None if format.name == "parquet" else Observation()
    if observation is not None:
        rows = rows.observe(observation, count(lit(1)).alias("rows"))
    writer = rows.write.format(format.name).options(**format.options)
    writer.partitionBy(*format.partition_by).save(folder)
    files = _list(Path(folder))
    if observation is not None:
        return files, observed_count(observation, "rows")
    rows_in = footer_rows(rows.sparkSession)
    return files, sum(rows_in(Path(folder, file.name)) for file in files)


def write_empty_file(
    spark: SparkSession, rows: DataFrame, folder: str, format: FileFormat
) -> tuple[WrittenFile, ...]:
    """Write a file without rows into `folder`/empty: where no row names a partition folder, Spark writes no file."""
    # Text has room for one column; other files keep all, so that they can be read without any folder.
    hidden = format.partition_by if format.name == "text" else ()
    nothing = spark.createDataFrame([], rows.schema).drop(*hidden).coalesce(1)
    nothing.write.format(format.name).options(**format.options).save(f"{folder}/{_EMPTY}")
    return _list(Path(folder))


def _list(folder: Path) -> tuple[WrittenFile, ...]:
    found = []
    for path in sorted(folder.rglob("part-*")):
        if part := _PART.fullmatch(path.name):
            name = str(path.relative_to(folder))
            size = path.stat().st_size
            found.append(WrittenFile(name=name, task=int(part[1]), suffix=part[2], bytes=size))
    return tuple(found)
