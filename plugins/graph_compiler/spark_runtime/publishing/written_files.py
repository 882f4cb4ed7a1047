"""Write rows as files of a format into an empty folder, and return exactly which files were written.

The files that the driver sees are compared with the metrics of the write, so rows that were written elsewhere are never
published: on another host's disk, or where a file system does not yet show all of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.exchange.distribution import has_exactly
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path, reads_everything
from graph_compiler.spark_runtime.publishing.partition_names import watch_folders
from graph_compiler.spark_runtime.spark_internals.executed_plan import WriteMetrics
from graph_compiler.spark_runtime.spark_internals.executed_queries import ExecutedQueries
from graph_compiler.spark_runtime.spark_internals.hadoop_files import footer_rows, orc_rows
from graph_compiler.staging.publications.listing import files_with_rows, has_rows, is_hidden
from graph_compiler.staging.publications.publications import MARKER
from graph_compiler.staging.store.staging_store import StagingStore

# part-00003-<uuid>-c000.snappy.parquet, part-00003-<uuid>.c000.csv.gz: the ending shows readers the format
_ENDING = re.compile(r"[-.]c\d+(\..+)")
_EMPTY = "empty"
_ROWS_IN_FOOTERS: Mapping[str, Callable[[SparkSession], Callable[[str], int]]] = {
    "parquet": footer_rows,
    "orc": orc_rows,
}
_PINNED = {"mapreduce.output.basename": "part"}
"""Overrides Hadoop settings of the session that would change files' names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """How files are written: Spark's format name and its options, the partition columns, and the number of tasks."""

    name: str = "parquet"
    options: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    files: int | None = None


PARQUET = FileFormat(options={})


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file, by its path relative to the folder that was written."""

    name: str
    bytes: int

    @property
    def folder(self) -> str:
        """Return its partition folder, `year=2013/month=1`; `.` if it has none."""
        return str(Path(self.name).parent)

    @property
    def suffix(self) -> str:
        """Return the ending that shows readers its format and compression: `.csv.gz`."""
        name = Path(self.name).name
        found = _ENDING.search(name)
        return found[1] if found else "".join(name.partition(".")[1:])


def published_name(file: WrittenFile, number: int, execution: str, *, is_marker: bool) -> str:
    """Return a file's final name in its target."""
    ending = f"{number:05}-{execution}{file.suffix}"
    return f"{MARKER}{ending}" if is_marker else str(Path(file.folder, f"part-{ending}"))


Lister = Callable[[str], tuple[WrittenFile, ...]]
"""Type of a function that returns the files of a folder from which readers read rows."""


def on_disk(place: str) -> tuple[WrittenFile, ...]:
    """List a folder of a disk."""
    folder = Path(place)
    return tuple(
        WrittenFile(name=name, bytes=(folder / name).stat().st_size) for name in sorted(files_with_rows(folder))
    )


def in_store(store: StagingStore) -> Lister:
    """Return a function that lists a folder of a store."""

    def files(folder: str) -> tuple[WrittenFile, ...]:
        found = {file.key.removeprefix(f"{folder}/"): file.bytes for file in store.files(folder)}
        return tuple(
            WrittenFile(name=name, bytes=size)
            for name, size in sorted(found.items())
            if not any(map(is_hidden, name.split("/"))) and has_rows(Path(name).name)
        )

    return files


def write_files(
    rows: DataFrame, folder: str, format: FileFormat, lists: Lister = on_disk
) -> tuple[tuple[WrittenFile, ...], int]:
    """Write the rows; return the files, and the number of rows in them.

    Spark's write counts the rows of exactly one attempt of each task (stage metrics count those of every attempt). This
    is compared with the footers of Parquet and ORC. In other formats, reading files back could give a different count:
    a line break in a CSV value makes two lines, and a lone NULL an empty line, which readers skip.

    Raises PublicationError if the files do not contain the rows that were written, or if a folder's name cannot
    store a value.
    """
    if format.files is not None and not has_exactly(rows, format.files):
        rows = rows.repartition(format.files)
    watched = watch_folders(rows, format.partition_by)
    writer = watched.rows.write.format(format.name).options(**{**format.options, **_PINNED})
    with ExecutedQueries.of(rows.sparkSession).writing(folder) as metrics:
        if format.partition_by:
            writer = writer.partitionBy(*format.partition_by)
        writer.save(folder)
        written = metrics()
    watched.check()
    files = lists(folder)
    _compare(rows.sparkSession, folder, files, format, written.rows)
    _compare_sizes(folder, files, written)
    return files, written.rows


def without_rows(rows: DataFrame, format: FileFormat) -> DataFrame:
    """Return the columns of rows in a file that is in no partition folder: one task, which has no rows."""
    # A text file has one column; other formats keep all columns, so that they can be read without partition folders.
    hidden = format.partition_by if format.name == "text" else ()
    return rows.sparkSession.createDataFrame([], rows.schema).drop(*hidden).coalesce(1)


def read_aside(rows: DataFrame, format: FileFormat, *places: str) -> DataFrame:
    """Return rows that were written to these files or folders, which are taken literally, and read as a whole."""
    reader = rows.sparkSession.read.format(format.name).schema(rows.schema)
    return reader.options(**reads_everything(format.options, rows.sparkSession)).load([*map(literal_path, places)])


def write_empty_file(
    rows: DataFrame, folder: str, format: FileFormat, lists: Lister = on_disk
) -> tuple[WrittenFile, ...]:
    """Write a file without rows into `folder`/empty: Spark writes no file if no row leads to a partition folder."""
    writer = without_rows(rows, format).write.format(format.name).options(**{**format.options, **_PINNED})
    writer.save(f"{folder}/{_EMPTY}")
    return lists(folder)


def _compare(spark: SparkSession, folder: str, files: tuple[WrittenFile, ...], format: FileFormat, rows: int) -> None:
    """Raise PublicationError if readers would not find in the files the rows that the writer received."""
    depth = len(format.partition_by)
    if odd := [file for file in files if file.name.count("/") != depth]:
        raise PublicationError(
            f"{format.name} files were written where readers do not look: {odd[0].name} (in {folder})\n"
            "  hint: an option or setting gives files other names"
        )
    count_rows = _ROWS_IN_FOOTERS.get(format.name.lower())
    if count_rows is not None:
        rows_in = count_rows(spark)
        found = sum(rows_in(f"{folder}/{file.name}") for file in files)
        is_same = found == rows
    else:
        found = 0
        is_same = bool(files) if rows else not (files and depth)
    if not is_same:
        raise PublicationError(
            f"{counted(rows, 'row')} went to the writer, and its {counted(len(files), f'{format.name} file')} "
            f"in {folder} hold {counted(found, 'row') if count_rows else 'others'}; nothing of it is visible\n"
            "  hint: an option or setting (a committer, a name for files) writes elsewhere, or leaves files behind"
        )


def _compare_sizes(folder: str, files: tuple[WrittenFile, ...], written: WriteMetrics) -> None:
    """Raise PublicationError if the driver does not see every file at the size that its executor saw."""
    size = sum(file.bytes for file in files)
    if (len(files), size) != (written.files, written.bytes):
        raise PublicationError(
            f"executors wrote {counted(written.files, 'file')} of {written.bytes:,} bytes in {folder}, but the driver "
            f"sees {len(files)} of {size:,}; nothing of it is visible\n"
            "  hint: mount the same file system on the driver's host and on every executor's"
        )
