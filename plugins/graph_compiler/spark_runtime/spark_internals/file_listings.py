"""The files that Spark has listed for a source: `InMemoryFileIndex`, which a relation of files contains.

It lists everything below the paths of a read, and then leaves out files for which it has no place: those in folders
that are not named `column=value`, and those beside such folders. If a stream of Spark has written a folder, the index
is a `MetadataLogFileIndex`, of the files that the stream's log lists there.

`HadoopFsRelation` and its file index, undocumented classes of Spark: 4.3.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors.file_uris import is_pattern, local_path
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    hadoop_configuration,
    java_class,
    java_class_name,
    java_identity,
    scala_map,
    scala_object,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, elements
from graph_compiler.staging.publications.listing import hidden_matches, is_hidden, visible_pattern

_FILE_SOURCES = "org.apache.spark.sql.execution.datasources"
_OF_LOG = "MetadataLogFileIndex"
_FILTERS = ("pathGlobFilter", "modifiedBefore", "modifiedAfter")
"""Options of a read that leave out files on purpose."""
_OF_LISTING = (
    *("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "timezone"),
    *("basepath", "ignoreinvalidpartitionpaths"),
)
_STATUS = re.compile(
    r"path=(?P<path>.*?); isDirectory=false; length=(?P<bytes>\d+);.*? modification_time=(?P<modified>\d+);", re.DOTALL
)


_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_MOST_TASKS = 64


def load_files(reader: DataFrameReader, paths: Iterable[str]) -> DataFrame:
    """Load what paths match and is not hidden; Spark lists more than 32 of them in a job, here with few tasks."""
    declared = list(paths)
    found = [visible_pattern(path) for path in declared]
    try:
        return _load(reader, found)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND" or found == declared:
            raise
    return _load(reader, declared)  # hidden names may match: then there is something, and it has no rows


def _load(reader: DataFrameReader, found: list[str]) -> DataFrame:
    if len(found) <= _MOST_TASKS:
        return reader.load(found)
    with few_listing_tasks(reader._spark):
        return reader.load(found)


@contextmanager
def few_listing_tasks(spark: SparkSession) -> Iterator[None]:
    """Let a job that lists files have at most 64 tasks, or four for each core if these are more.

    By default it has up to 10,000, of which each takes longer to start than to list a file. The jobs of VACUUM of Delta
    Lake always have as many: 100,000 in all for a table of six files.
    """
    most = max(_MOST_TASKS, 4 * spark.sparkContext.defaultParallelism)
    before = spark.conf.get(_LISTING_TASKS, None)
    spark.conf.set(_LISTING_TASKS, str(min(most, int(before or most))))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_LISTING_TASKS)
        else:
            spark.conf.set(_LISTING_TASKS, before)


_ALL_AGES = {"maxFileAge": "1000000d"}
"""Otherwise Spark leaves out files that are a week older than the newest one, and says nothing."""


def stream_files(
    spark: SparkSession, path: str, format: str, options: Mapping[str, str], columns: StructType
) -> DataFrame:
    """Return a stream of the files that arrive in a folder, as a format of Spark reads them."""
    reader = spark.readStream.format(format).options(**{**options, **_ALL_AGES})
    return reader.schema(columns).load(visible_pattern(path))


@dataclass(frozen=True, slots=True, order=True)
class FileVersion:
    """A file as it was listed: its size in bytes, and when it was changed, in milliseconds since the epoch."""

    path: str
    bytes: int
    modified: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Spark's index of the files that were listed for a read, and the options of that read."""

    index: Any
    options: Any

    @property
    def state(self) -> int:
        """A number that differs once Spark has listed the same index again, after a write or a refresh."""
        return java_identity(self.index.leafFiles())

    @property
    def of_listing(self) -> tuple[tuple[str, str], ...]:
        """The options that determine which files are listed, by their names in lower case."""
        given = {str(pair._1()).lower(): str(pair._2()) for pair in elements(self.options.toSeq())}
        return tuple((name, given[name]) for name in _OF_LISTING if name in given)

    @property
    def given_path(self) -> str | None:
        """The path of the read, which may be a pattern; None if it has none or several, or is named in SQL text."""
        path = self.options.get("path")
        return str(path.get()) if path.isDefined() else None


class PinnedPath(str):
    """The path of a source of which only some files are read; for messages, it is the path.

    `base` is the folder below which names of folders are columns, None if there are none: single files do not show it.
    """

    __slots__ = ("base", "files")
    files: tuple[str, ...]
    base: str | None

    @classmethod
    def of(cls, path: str, files: Iterable[str], base: str | None = None) -> PinnedPath:
        """Return a path of which only these files are read."""
        pinned = cls(path)
        pinned.files, pinned.base = tuple(files), base
        return pinned

    def __eq__(self, other: object) -> bool:
        """Whether the other one is the same path with the same files."""
        return isinstance(other, PinnedPath) and str.__eq__(self, other) and self.files == other.files

    def __hash__(self) -> int:
        """Return a number that equal paths share."""
        return hash((str.__hash__(self), self.files))


def listed_files(rows: DataFrame) -> tuple[int, int]:
    """Return the number of files that a read of files only has listed, and their bytes."""
    location = analyzed_plan(rows).relation().location()
    return len(location.inputFiles()), int(location.sizeInBytes())


def drops_records(node: Any) -> bool:
    """Whether a node of a plan reads files with the mode DROPMALFORMED."""
    kind = java_class_name(node)
    if kind == "LogicalRelation" and java_class_name(node.relation()) == "HadoopFsRelation":
        options = node.relation().options()
        given = {str(pair._1()).lower(): str(pair._2()) for pair in elements(options.toSeq())}
        return given.get("mode", "").upper() == "DROPMALFORMED"
    if kind == "DataSourceV2Relation":
        return str(node.options().get("mode")).upper() == "DROPMALFORMED"
    return False


def versions_again(spark: SparkSession, listing: Listing) -> Iterator[FileVersion]:
    """List the files again with the same options, without changing the index that the plan reads.

    Filters are left out: a file that was written again is no longer before the time of `modifiedBefore`.
    """
    options = listing.options
    for name in _FILTERS:
        options = getattr(options, "$minus")(name)
    yield from _listed_now(spark, listing.index.rootPaths(), options)


def modification_times(spark: SparkSession, paths: Iterable[str]) -> dict[str, int]:
    """Return when each of some files was modified, in milliseconds; without those that are not there.

    A file on this host is asked by this process, which is a hundred times faster than through the JVM.
    """
    hadoop_path, conf = java_class(spark, "org.apache.hadoop.fs.Path"), hadoop_configuration(spark)
    found = {}
    for path in paths:
        local = local_path(path)
        with suppress(Py4JJavaError, OSError):  # it is not there
            if local is not None:
                found[path] = os.stat(local).st_mtime_ns // 1_000_000
                continue
            java = hadoop_path(path)
            found[path] = int(java.getFileSystem(conf).getFileStatus(java).getModificationTime())
    return found


def versions_below(spark: SparkSession, paths: Iterable[str], options: Mapping[str, str]) -> Iterator[FileVersion]:
    """List files and folders now, with options of a read; none if one of them is gone."""
    made = java_class(spark, "org.apache.hadoop.fs.Path")
    roots = scala_sequence(spark, [made(path) for path in paths])
    yield from _listed_now(spark, roots, scala_map(spark, dict(options)))


def _listed_now(spark: SparkSession, roots: Any, options: Any) -> Iterator[FileVersion]:
    none = scala_object(spark, "scala.None")
    cache = scala_object(spark, f"{_FILE_SOURCES}.NoopCache")
    again = java_class(spark, f"{_FILE_SOURCES}.InMemoryFileIndex")
    try:
        listed = again(spark._jsparkSession, roots, options, none, cache, none, none)
    except (Py4JJavaError, PySparkException):  # the listed files are gone
        return
    yield from _versions(listed.allFiles())


def rows_of_no_files(spark: SparkSession, path: str, schema: StructType) -> DataFrame | None:
    """Return no rows, of a listing of a path at which nothing is; None if there are files by now.

    The path is taken as it is, not as a pattern.
    """
    made = java_class(spark, "org.apache.hadoop.fs.Path")
    none = scala_object(spark, "scala.None")
    session, options = spark._jsparkSession, scala_map(spark, {"path": path})
    index = java_class(spark, f"{_FILE_SOURCES}.InMemoryFileIndex")(
        *(session, scala_sequence(spark, [made(path)]), options, none),
        *(scala_object(spark, f"{_FILE_SOURCES}.NoopCache"), none, none),
    )
    if not index.leafFiles().isEmpty():
        return None
    kind = java_class(spark, "org.apache.spark.sql.types.DataType")
    columns, none_of_folders = (kind.fromJson(each.json()) for each in (schema, StructType()))
    format = java_class(spark, f"{_FILE_SOURCES}.parquet.ParquetFileFormat")()  # of any type, since it reads nothing
    relation = java_class(spark, f"{_FILE_SOURCES}.HadoopFsRelation")(
        index, none_of_folders, columns, none, format, options, session
    )
    return DataFrame(session.baseRelationToDataFrame(relation), spark)


def listed_paths(listing: Listing) -> tuple[str, ...]:
    """Return the files and folders that were listed."""
    return tuple(str(path.toString()) for path in elements(listing.index.rootPaths()))


def _lines(collection: Any) -> list[str]:
    """Return the texts of a collection of Scala, which are fetched as one, since each call to the JVM takes time."""
    return str(collection.mkString("\n")).split("\n")


def listed_folders(listing: Listing) -> tuple[str, ...]:
    """Return the folders that were listed, and those of single files."""
    roots = _lines(listing.index.rootPaths())
    files = {file.path for file in file_versions(listing)} if roots else set()
    return tuple(dict.fromkeys(root.rpartition("/")[0] if root in files else root for root in roots))


def file_versions(listing: Listing) -> Iterator[FileVersion]:
    """Yield the files that are read."""
    yield from _versions(listing.index.allFiles())


def files_read(spark: SparkSession, listing: Listing) -> Iterator[FileVersion]:
    """Yield the files that are read, as they are: the log of a stream may have other times, of before a copy.

    A file that its log has elsewhere is as it was logged.
    """
    if not is_of_log(listing):
        yield from file_versions(listing)
        return
    now = {file.path: file for file in versions_again(spark, listing)}
    yield from (now.get(file.path, file) for file in file_versions(listing))


def partition_folders(listing: Listing) -> tuple[StructType, list[str]]:
    """Return the columns that are names of folders, and the folders with files; Spark has read types from the names."""
    columns = folder_columns(listing)
    if not columns:
        return columns, []
    return columns, _lines(listing.index.leafDirToChildrenFiles().keySet())


def folder_columns(listing: Listing) -> StructType:
    """Return the columns that are names of folders. Names of folders above the path are none."""
    return StructType.fromJson(json.loads(listing.index.partitionSpec().partitionColumns().json()))


def columns_in_files_and_folders(rows: DataFrame) -> list[str]:
    """Return the columns that a read of files only finds in the files and in names of folders; it reads the latter."""
    plan = analyzed_plan(rows)
    if listing_of(plan) is None:
        return []
    relation = plan.relation()
    of_folders = {str(name).lower() for name in relation.partitionSchema().fieldNames()}
    return [str(name) for name in relation.dataSchema().fieldNames() if str(name).lower() in of_folders]


def skipped_file(listing: Listing) -> str | None:
    """Return a file that a read names and Spark's listing leaves out; None if there is none."""
    if not listing.index.leafFiles().isEmpty():
        return None
    for path in elements(listing.index.rootPaths()):
        if is_hidden(str(path.getName())):
            files = path.getFileSystem(listing.index.hadoopConf())
            if files.exists(path) and files.getFileStatus(path).isFile():
                return str(path.toString())
    return None


def hidden_folder(listing: Listing, pattern: str) -> str | None:
    """Return a hidden folder with files that were listed because a wildcard of a pattern matches its name, or None."""
    if not is_pattern(pattern):
        return None
    hidden = tuple(hidden_matches(pattern, _lines(listing.index.rootPaths())))
    if not hidden:
        return None
    folders = _lines(listing.index.leafDirToChildrenFiles().keySet())
    return next((each for each in hidden for folder in folders if f"{folder}/".startswith(f"{each}/")), None)


def unread_files(listing: Listing) -> list[str]:
    """Return the files with rows that were listed, are not read, and are not left out by an option of the read.

    Numbers are compared first: only if they differ is a list of files fetched.
    """
    index = listing.index
    listed, partitions = index.leafFiles(), index.partitionSpec().partitions()
    if partitions.isEmpty():
        if listed.size() == index.allFiles().size():
            return []
        read = {file.path for file in file_versions(listing)}
        unread = [file for file in _versions(listed.values().toSeq()) if file.path not in read]
    else:
        folders = index.leafDirToChildrenFiles().size()
        if folders == partitions.size() or index.ignoreInvalidPartitionPaths():
            return []
        read = {str(partition.path().toString()) for partition in elements(partitions)}
        files = _versions(listed.values().toSeq())
        unread = [file for file in files if file.path.rpartition("/")[0] not in read]
    found = {file.path for file in unread if file.bytes and not _is_hidden(file.path)}
    if not found or not any(listing.options.contains(name) for name in _FILTERS):
        return sorted(found)
    statuses = ((status, str(status.getPath().toString())) for status in elements(listed.values().toSeq()))
    return sorted(path for status, path in statuses if path in found and index.matchPathPattern(status))


def is_of_log(listing: Listing) -> bool:
    """Whether a stream of Spark has written a folder, and only the files in its log are read."""
    return java_class_name(listing.index) == _OF_LOG


def unlogged_files(spark: SparkSession, listing: Listing) -> list[str]:
    """Return the files with rows that are not read since a stream of Spark has written others beside them."""
    if not is_of_log(listing):
        return []
    logged = {file.path for file in file_versions(listing)}
    there = _listed_now(spark, listing.index.rootPaths(), listing.options)
    return sorted(each.path for each in there if each.bytes and each.path not in logged and not _is_hidden(each.path))


def _is_hidden(path: str) -> bool:
    """Whether a file is not one of rows; Spark lists Parquet's summaries, `_metadata`."""
    return path.rpartition("/")[2].startswith(("_", "."))


def _versions(statuses: Any) -> Iterator[FileVersion]:
    """Yield the files of statuses, which are fetched as one text, since each call to the JVM takes time."""
    found = [
        FileVersion(match["path"], int(match["bytes"]), int(match["modified"]))
        for match in _STATUS.finditer(str(statuses.mkString("\n")))
    ]
    if len(found) == statuses.size():
        yield from found
        return
    for status in elements(statuses.toSeq()):  # a file system with a different format
        path = str(status.getPath().toString())
        yield FileVersion(path, int(status.getLen()), int(status.getModificationTime()))


def listing_of(leaf: Any) -> Listing | None:
    """Return the listing of files from when the plan was made, None if a leaf has none."""
    if java_class_name(leaf) != "LogicalRelation":
        return None
    relation = leaf.relation()
    if java_class_name(relation) != "HadoopFsRelation":
        return None
    index = relation.location()
    if java_class_name(index) not in ("InMemoryFileIndex", _OF_LOG):
        return None
    return Listing(index, relation.options())
