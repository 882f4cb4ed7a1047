"""The files that Spark has listed for a source: `InMemoryFileIndex`, which a relation of files contains.

`HadoopFsRelation` and its file index, undocumented classes of Spark: 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    java_class,
    java_class_name,
    scala_map,
    scala_object,
)
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, elements

_FILE_SOURCES = "org.apache.spark.sql.execution.datasources"
_STATUS = re.compile(
    r"path=(?P<path>.*?); isDirectory=false; length=(?P<bytes>\d+);.*? modification_time=(?P<modified>\d+);",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, order=True)
class FileVersion:
    """A file as it was listed: its size in bytes, and when it was changed, in milliseconds since the epoch."""

    path: str
    bytes: int
    modified: int


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """A leaf of a plan by its class; `index` is Spark's index of the listed files, None if a leaf has none."""

    kind: str
    index: Any


def plan_leaves(rows: DataFrame) -> list[PlanLeaf]:
    """Return the leaves of an analyzed plan."""
    leaves = elements(analyzed_plan(rows).collectLeaves())
    return [PlanLeaf(java_class_name(leaf), _listing(leaf)) for leaf in leaves]


def listed_files(rows: DataFrame) -> tuple[int, int]:
    """Return the number of files that a read of files only has listed, and their bytes."""
    location = analyzed_plan(rows).relation().location()
    return len(location.inputFiles()), int(location.sizeInBytes())


def versions_again(spark: SparkSession, index: Any) -> Iterator[FileVersion]:
    """List the files again, without changing the index that the plan reads."""
    none = scala_object(spark, "scala.None")
    no_options = scala_map(spark, {})
    cache = scala_object(spark, f"{_FILE_SOURCES}.NoopCache")
    again = java_class(spark, f"{_FILE_SOURCES}.InMemoryFileIndex")
    try:
        listed = again(spark._jsparkSession, index.rootPaths(), no_options, none, cache, none, none)
    except (Py4JJavaError, PySparkException):  # the listed files are gone
        return
    yield from versions(listed)


def listed_paths(index: Any) -> tuple[str, ...]:
    """Return the files and folders that an index has listed."""
    return tuple(str(path.toString()) for path in elements(index.rootPaths()))


def versions(index: Any) -> Iterator[FileVersion]:
    """Yield the files of an index; their statuses are fetched as one text, since each call to the JVM takes time."""
    statuses = index.allFiles()
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


def _listing(leaf: Any) -> Any:
    """Return the index of the files that were listed when the plan was made, None if a leaf has none."""
    if java_class_name(leaf) != "LogicalRelation":
        return None
    relation = leaf.relation()
    if java_class_name(relation) != "HadoopFsRelation":
        return None
    index = relation.location()
    return index if java_class_name(index) == "InMemoryFileIndex" else None
