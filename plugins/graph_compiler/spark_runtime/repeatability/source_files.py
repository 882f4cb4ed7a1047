"""The files a source was listed to have: one snapshot for a region, checked before anything of it is committed.

Spark lists a path when a DataFrame is made, and every action reads what was listed then. A file that arrives later is
not read. One that vanishes fails the action. One that is written over in place is read as it is by then: half of the
rows old, half of them new, or another half in each sink. So its size and modification time are compared again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.errors import SourceChangedError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.spark_internals.java import (
    java_class,
    java_class_name,
    scala_object,
)
from graph_compiler.spark_runtime.spark_internals.plan_walk import elements

_FILE_SOURCES = "org.apache.spark.sql.execution.datasources"
_STATUS = re.compile(
    r"path=(?P<path>.*?); isDirectory=false; length=(?P<bytes>\d+);.*? modification_time=(?P<modified>\d+);",
    re.DOTALL,
)
_IN_MEMORY = frozenset({"LocalRelation", "Range", "OneRowRelation"})
"""Leaves of a plan whose rows the driver holds."""
_RDD = frozenset({"LogicalRDD"})
"""Rows of Python's: a list that was given, or what a function asks for anew whenever they are computed."""


@dataclass(frozen=True, slots=True, order=True)
class FileVersion:
    """A file as it was listed: its bytes, and when it was changed, in milliseconds since the epoch."""

    path: str
    bytes: int
    modified: int


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """One listing of Spark's, which every action on its rows reads. `index` is Spark's own."""

    spark: SparkSession
    index: Any
    files: frozenset[FileVersion]

    @classmethod
    def of(cls, spark: SparkSession, index: Any) -> ListedFiles:
        """Return what an index has listed."""
        return cls(spark, index, frozenset(_versions(index)))

    def check(self) -> None:
        """Raise SourceChangedError where a file is not as it was listed any more."""
        if words := self.why_changed():
            raise SourceChangedError(
                f"its input changed while it was read: {words}\n  nothing was published; the next attempt lists anew"
            )

    def why_changed(self) -> str | None:
        """Say what is no longer as it was listed, None where all of it is."""
        now = {version.path: version for version in _versions_again(self.spark, self.index)}
        changed = sorted(file for file in self.files if now.get(file.path) != file)
        if not changed:
            return None
        file = changed[0]
        others = f", and {counted(len(changed) - 1, 'other file')}" if changed[1:] else ""
        return f"{unquote(file.path)} {_difference(file, now.get(file.path))}{others}"


@dataclass(frozen=True, slots=True)
class SourceRows:
    """What a source's rows stand on. `is_held`: on listings, and on what the driver holds, alone."""

    listings: tuple[ListedFiles, ...]
    is_held: bool

    @classmethod
    def of(cls, rows: DataFrame, *, holds_given_rows: bool) -> SourceRows:
        """Look at the leaves of a source's plan. `holds_given_rows`: what Python gave is a list, and stays as it is."""
        in_memory = _IN_MEMORY | _RDD if holds_given_rows else _IN_MEMORY
        leaves = elements(rows._jdf.queryExecution().analyzed().collectLeaves())
        indexes = [_listing(leaf) for leaf in leaves]
        is_held = all(
            index is not None or java_class_name(leaf) in in_memory
            for leaf, index in zip(leaves, indexes, strict=True)
        )
        listings = (ListedFiles.of(rows.sparkSession, index) for index in indexes if index)
        return cls(tuple(listings), is_held)


def _listing(leaf: Any) -> Any:
    """Return the index of files that were listed when the plan was made, None where a leaf has none."""
    if java_class_name(leaf) != "LogicalRelation":
        return None
    relation = leaf.relation()
    if java_class_name(relation) != "HadoopFsRelation":
        return None
    index = relation.location()
    return index if java_class_name(index) == "InMemoryFileIndex" else None


def _versions_again(spark: SparkSession, index: Any) -> Iterator[FileVersion]:
    """List anew, beside the index that the plan reads."""
    none = scala_object(spark, "scala.None")
    no_options = java_class(spark, "org.apache.spark.api.python.PythonUtils").toScalaMap({})
    cache = scala_object(spark, f"{_FILE_SOURCES}.NoopCache")
    again = java_class(spark, f"{_FILE_SOURCES}.InMemoryFileIndex")
    try:
        listed = again(spark._jsparkSession, index.rootPaths(), no_options, none, cache, none, none)
    except (Py4JJavaError, PySparkException):  # what was listed is gone
        return
    yield from _versions(listed)


def _versions(index: Any) -> Iterator[FileVersion]:
    """Yield the files of an index; their statuses come as one text, since each question to the JVM costs."""
    statuses = index.allFiles()
    found = [
        FileVersion(match["path"], int(match["bytes"]), int(match["modified"]))
        for match in _STATUS.finditer(str(statuses.mkString("\n")))
    ]
    if len(found) == statuses.size():
        yield from found
        return
    for status in elements(statuses.toSeq()):  # of a file system that has words of its own
        path = str(status.getPath().toString())
        yield FileVersion(path, int(status.getLen()), int(status.getModificationTime()))


def _difference(before: FileVersion, after: FileVersion | None) -> str:
    if after is None:
        return "is gone"
    if before.bytes != after.bytes:
        return f"had {before.bytes:,} bytes, and has {after.bytes:,}"
    return "was written again"
