"""New files of a source: those that no increment has read; and a source of which only some files are read.

A file is its path, its size and its time of modification. What counts is which paths were read, not when a file was
written: late files and the clocks of other hosts change nothing. A file that was read, and then written again under its
name, is refused: reading it again could double its rows, and leaving it out could lose some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.connector import as_pairs
from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.missing_files import rows_if_missing
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path
from graph_compiler.spark_runtime.repeatability.source_files import refuse_files_in_two, refuse_unread_files
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.file_listings import (
    FileVersion,
    Listing,
    PinnedPath,
    file_versions,
    listed_paths,
    load_files,
    partition_folders,
)
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves
from graph_compiler.staging.positions.known import SeenFile
from graph_compiler.staging.positions.position_log import PositionError
from graph_compiler.staging.publications.listing import is_hidden

_SHOWN = 3


def paths_of(connector: FileConnector) -> list[str]:
    """Return what Spark loads for a source of one path: the path, or the files of it that are read."""
    path = connector.one_path
    return [literal_path(file) for file in path.files] if isinstance(path, PinnedPath) else [path]


def with_base(connector: FileConnector) -> FileConnector:
    """Return a source of one path with the option that says below which folder names of folders are columns."""
    path = connector.path
    if not isinstance(path, PinnedPath) or path.base is None:
        return connector
    return replace(connector, options=(*as_pairs(connector.options), ("basePath", path.base)))


def reads_nothing(connector: FileConnector) -> bool:
    """Whether none of a source's files is read."""
    path = connector.one_path
    return isinstance(path, PinnedPath) and not path.files


def new_files(
    connector: FileConnector, spark: SparkSession, known: Mapping[str, tuple[int, int, int]], position: str
) -> tuple[SeenFile, ...]:
    """Return the files of a source that are not known; `position` is what commands call it.

    Raises PositionError if a known file was written again, UnreadFilesError if files below the path would be left out.
    """
    found = files_now(connector, spark)
    again = [each for each in found if each.path in known]
    if changed := [each for each in again if known[each.path][:2] != (each.bytes, each.modified)]:
        files = " ".join(f"--file '{each.path}'" for each in changed[:_SHOWN])
        others = f" and {counted(len(changed) - 1, 'other file')}" if changed[1:] else ""
        raise PositionError(
            f"{changed[0].path}{others} changed after increment {known[changed[0].path][2]} had read it: what it had "
            "then is published\n"
            "  allowed: files that are complete when they get their name, and do not change; new rows in new files\n"
            f"  hint: put back what was there; or graph-compiler positions reset {position} {files}: the next run "
            "reads all of it as a new file, and what it had before stays published"
        )
    return tuple(each for each in found if each.path not in known)


def pinned_files(connector: FileConnector, spark: SparkSession, files: Sequence[SeenFile]) -> FileConnector:
    """Return a source that reads exactly these files; raises PositionError if one of them is gone, or has changed."""
    if not files:
        return replace(connector, path=tuple(PinnedPath.of(path, ()) for path in connector.paths))
    there = _files_of_places(connector, spark)
    now = {each.path: each for found in there for each in found}
    if wrong := [each for each in files if now.get(each.path) != each]:
        what = "has changed" if wrong[0].path in now else "is gone"
        others = f", and so are {counted(len(wrong) - 1, 'other file')}" if wrong[1:] else ""
        raise PositionError(
            f"{wrong[0].path} {what} since this run first listed it{others}: each attempt of a run reads the same\n"
            "  hint: put it back, and clear the task; or start a new run, which reads what is there then"
        )
    wanted = {each.path for each in files}
    return replace(
        connector,
        path=tuple(
            PinnedPath.of(path, (each.path for each in found if each.path in wanted), found.base)
            for path, found in zip(connector.paths, there, strict=True)
        ),
    )


def files_now(connector: FileConnector, spark: SparkSession) -> list[SeenFile]:
    """Return the files of a source; raises UnreadFilesError if files below the path would be left out."""
    return [file for files in _files_of_places(connector, spark) for file in files]


class _FilesOfPlace(list[SeenFile]):
    """The files below one path, and the folder below which names of folders are columns."""

    base: str | None = None


def _files_of_places(connector: FileConnector, spark: SparkSession) -> list[_FilesOfPlace]:
    """Return the files below each path of a source; none below one at which nothing is, if that is declared.

    Raises RepeatedReadError if a file is below two of them.
    """
    there: list[_FilesOfPlace] = []
    for place in connector.each_place():
        found = _FilesOfPlace()
        if rows_if_missing(place, spark) is None:
            listing = _listed(place, spark)
            found.extend(_files(listing))
            found.base = _base(place, listing)
        there.append(found)
    refuse_files_in_two(zip(connector.paths, ([each.path for each in found] for found in there), strict=True))
    return there


def _base(connector: FileConnector, listing: Listing) -> str | None:
    """Return the folder below which names of folders are columns; None if there are none, or an option says it."""
    if any(name.lower() == "basepath" for name, _ in as_pairs(connector.options)):
        return None
    columns, _ = partition_folders(listing)
    if not columns.names:
        return None
    roots = listed_paths(listing)
    if len(roots) > 1:
        raise SchemaChangedError(
            f"folders below {connector.one_path} are columns ({', '.join(columns.names)}), and the path matches "
            f"{len(roots)} folders\n  hint: declare options={{'basePath': …}}, the folder that contains all of them"
        )
    return roots[0]


def _listed(connector: FileConnector, spark: SparkSession) -> Listing:
    """List a source's files, as Spark would for its rows, without reading one."""
    line = StructType([StructField("graph_compiler_line", StringType())])
    reader = spark.read.format("text").options(**reveal_all(connector.spark_options())).schema(line)
    leaves = plan_leaves(load_files(reader, [connector.one_path]))
    refuse_unread_files(spark, leaves, connector.one_path)
    (leaf,) = leaves
    assert leaf.listing is not None, "it is a read of files"
    return leaf.listing


def _files(listing: Listing) -> list[SeenFile]:
    versions: list[FileVersion] = sorted(file_versions(listing))
    return [
        SeenFile(each.path, each.bytes, each.modified)
        for each in versions
        if not is_hidden(each.path.rpartition("/")[2])
    ]
