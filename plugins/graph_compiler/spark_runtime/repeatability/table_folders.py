"""Folders of tables, in which a log says which files count: Delta Lake, Iceberg and Hudi keep files that are replaced.

Who reads all files there has rows of former versions; and no reader of the table sees a file that is put beside them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePosixPath

from pyspark.sql import SparkSession

from graph_compiler.errors import PublicationError, UnreadFilesError
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path
from graph_compiler.spark_runtime.spark_internals.file_listings import Listing, is_of_log, listed_folders
from graph_compiler.spark_runtime.spark_internals.hadoop_files import existing, unmatched_path
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError

_LOGS = {"_delta_log": "a table of Delta Lake", ".hoodie": "a table of Hudi"}
_OF_STREAMS = "_spark_metadata"
_ICEBERG, _OF_ICEBERG = "a table of Iceberg", "{v[0-9]*,[0-9][0-9][0-9][0-9][0-9]*-*-*-*-*-*}.metadata.json"
_AS_TABLE = {
    "a table of Delta Lake": "Delta(…) with the path of the table",
    "a table of Hudi": "Table(…) with its name in Spark's catalog",
    _ICEBERG: "Iceberg(…) with the name of the table",
}


def refuse_folders_of_tables(spark: SparkSession, listing: Listing) -> None:
    """Raise UnreadFilesError if files that are read are those of a table, and are read without its log.

    Also for a folder below one that a stream of Spark writes: its log is not read there.
    """
    parts = {_whole(folder): folder for folder in listed_folders(listing)}
    for whole, part in parts.items():
        if kind := _table_at(spark, whole):
            raise UnreadFilesError(
                f"{whole} is {kind}, whose log says which of its files count: all of them would be read, with rows "
                f"that were replaced or removed\n  hint: read it with {_AS_TABLE[kind]}"
            )
        if not is_of_log(listing) and _is_of_stream(spark, whole):
            raise UnreadFilesError(
                f"{part} is a part of what a stream of Spark writes, and Spark reads the stream's log "
                "(_spark_metadata) only with the whole folder: files of batches that failed would be read, too\n"
                f"  hint: read {whole} without a pattern, and filter by the columns of its folders"
            )


def refuse_target_of_tables(spark: SparkSession, target: str, *, is_file: bool) -> None:
    """Raise PublicationError if files are to be written into a folder that a log rules: no reader would see them."""
    folder = _whole(_above(target) if is_file else target)
    kind = _table_at(spark, folder)
    if kind or _is_of_stream(spark, folder):
        what = f"is {kind}, and readers" if kind else "is what a stream of Spark writes, and Spark's readers"
        other = f"write to it with {_AS_TABLE[kind]}; or " if kind else ""
        raise PublicationError(
            f"{folder} {what} see only the files that its log lists: none would see what is published there\n"
            f"  hint: {other}write to another folder"
        )


def _whole(folder: str) -> str:
    """Return the folder without those at its end that are named `column=value`."""
    while "=" in PurePosixPath(folder).name:
        folder = _above(folder)
    return folder


def _above(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0]


def _table_at(spark: SparkSession, folder: str) -> str | None:
    if found := existing(spark, [f"{folder}/{log}" for log in _LOGS]):
        return _LOGS[PurePosixPath(found[0]).name]
    above, _, name = folder.rpartition("/")
    is_bucket = above.endswith("/")  # s3a://data
    if name != "data" or is_bucket or not existing(spark, [f"{above}/metadata"]):
        return None
    with suppress(Py4JJavaError):  # it may not be listed
        if unmatched_path(spark, f"{literal_path(above)}/metadata/{_OF_ICEBERG}") is None:
            return _ICEBERG
    return None


def _is_of_stream(spark: SparkSession, folder: str) -> bool:
    return bool(existing(spark, [f"{folder}/{_OF_STREAMS}"]))
