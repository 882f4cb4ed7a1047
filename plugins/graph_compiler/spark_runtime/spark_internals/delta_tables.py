"""Tables of Delta Lake, through the classes of its log: 4.4, with Spark 4.1 and 4.2. Spark's session: 4.x classic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.spark_internals.java import (
    jar_of,
    java_class,
    java_exceptions,
    scala_object,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import elements

_DELTA = "org.apache.spark.sql.delta"
_NOT_THERE = -1


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A version of a table: the last one, when it was loaded. `exists` is false for a folder without a log."""

    spark: SparkSession
    path: str
    java: Any

    @classmethod
    def load(cls, spark: SparkSession, path: str) -> DeltaTable:
        """Return the last version of a table, which need not exist."""
        none = java_class(spark, "scala.Option").empty()
        log = scala_object(spark, f"{_DELTA}.DeltaLog").forTable(spark._jsparkSession, path)
        return cls(spark, path, log.update(False, none, none))

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        return self.version != _NOT_THERE

    @property
    def version(self) -> int:
        """Return the version's number."""
        return int(self.java.version())

    @property
    def id(self) -> str:
        """Return the table's id: one that is removed and created again has another one."""
        return str(self.java.metadata().id())

    @property
    def schema(self) -> StructType:
        """Return its columns, with what Delta notes of each."""
        return StructType.fromJson(json.loads(str(self.java.schema().json())))

    @property
    def partitions(self) -> tuple[str, ...]:
        """Return the columns of its folders."""
        return tuple(map(str, elements(self.java.metadata().partitionColumns())))

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the table's properties: `delta.constraints.positive`."""
        found = self.java.metadata().configuration()
        return {str(pair._1()): str(pair._2()) for pair in elements(found.toSeq())}

    def added_rows(self, after: int, until: int) -> tuple[DataFrame | None, int | None]:
        """Return the rows that were added behind one version up to another, None if there are none.

        If a version in between has removed or changed rows, return its number instead. Raises Py4JJavaError if the log
        does not have all of these versions any more.
        """
        log = self.java.deltaLog()
        none = java_class(self.spark, "scala.Option").empty()
        added = []
        commits = log.getChanges(after + 1, until, none, True)
        while commits.hasNext():
            commit = commits.next()
            for action in elements(commit._2()):
                kind = str(action.getClass().getSimpleName())
                if kind in ("AddFile", "RemoveFile") and action.dataChange():
                    if kind == "RemoveFile":
                        return None, int(commit._1())
                    added.append(action)
        if not added:
            return None, None
        files = scala_sequence(self.spark, added)
        return DataFrame(log.createDataFrame(self.java, files, False, none), self.spark), None

    def commit_times(self) -> dict[int, float]:
        """Return when each version was committed that the log still has, in seconds since the epoch."""
        rows = self.spark.sql(f"DESCRIBE HISTORY delta.{quoted(self.path)}").select("version", "timestamp")
        return {int(row.version): row.timestamp.timestamp() for row in rows.collect()}

    @property
    def files(self) -> int:
        """Return the number of its data files."""
        return int(self.java.numOfFiles())

    @property
    def retention(self) -> float:
        """Return how long its owner wants removed files to stay, in seconds: `delta.deletedFileRetentionDuration`."""
        log = scala_object(self.spark, f"{_DELTA}.DeltaLog")
        return int(log.tombstoneRetentionMillis(self.java.metadata())) / 1000

    def has_committed(self, application: str) -> bool:
        """Whether a commit of this id is in the log."""
        return self.exists and bool(self.java.transactions().contains(application))


def delta_jar(spark: SparkSession) -> str | None:
    """Return the place of Delta's jar, None if the driver has none."""
    return jar_of(spark, f"{_DELTA}.DeltaLog")


def delta_version(spark: SparkSession) -> str:
    """Return the version of the driver's Delta."""
    return str(java_class(spark, "io.delta").package.VERSION())


def is_concurrent(error: BaseException) -> bool:
    """Whether a commit failed because another one came between: nothing of it was done."""
    return _has_kind(error, "DeltaConcurrentModificationException")


def is_violation(error: BaseException) -> bool:
    """Whether rows violate a constraint of the table."""
    return _has_kind(error, "DeltaInvariantViolationException")


def _has_kind(error: BaseException, name: str) -> bool:
    for java in java_exceptions(error):
        kind = java.getClass()
        while kind is not None:
            if str(kind.getSimpleName()) == name:
                return True
            kind = kind.getSuperclass()
    return False
