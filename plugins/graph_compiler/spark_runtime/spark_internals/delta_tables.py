"""Tables of Delta Lake, through the classes of its log: 4.4, with Spark 4.1 and 4.2. Spark's session: 4.x classic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import StructType

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    is_java_instance,
    jar_of,
    java_class,
    java_exceptions,
    scala_object,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import elements

_DELTA = "org.apache.spark.sql.delta"
_NOT_THERE = -1
_ADDED, _REMOVED = "AddFile", "RemoveFile"
"""Delta's names of what a commit does to files."""
_MERGE_METRICS = ("numTargetRowsDeleted", "numTargetRowsUpdated")
_MOST_FILES = 1000
"""How many removed files are looked up for their rows."""


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
        added = []
        for version, found in self._commits(after + 1, until):
            actions = [each for each in found if _kind(each) in (_ADDED, _REMOVED) and each.dataChange()]
            if any(_kind(each) == _REMOVED for each in actions):
                return None, version
            added += actions
        return (self._rows(added) if added else None), None

    def rows_of(self, version: int) -> DataFrame | None:
        """Return the rows that a version has added, None if it has added none, or the log has forgotten it."""
        added = self._added_by(version)
        return self._rows(added) if added else None

    def has_all_of(self, version: int) -> bool:
        """Whether readers see all files that a version has added."""
        added = self._added_by(version)
        return added is not None and len(self._left(added, self.java)) == len(added)

    def has_marks(self, version: int) -> bool:
        """Whether rows in files that a version has added are marked as removed: by deletion vectors."""
        return _has_marks(self._left(self._added_by(version) or [], self.java))

    def changes_since(self, version: int) -> frozenset[str]:
        """Return what the commits after a version do to rows before them: "adds", "moves", "removes", "changes".

        "removes": all rows of a file go. "changes": some rows go, and others are moved; also if it is not known.
        """
        return self._changes(version + 1, self.version)

    def replace(self, version: int, rows: DataFrame, commit: str, note: str) -> bool:
        """Add rows, and remove the files that a version has added, in one commit with an id and a note for people.

        Files that others have removed with their rows are left out. False if rows may be in other files by now: nothing
        was done. Raises Delta's errors of concurrent changes if others have made this commit, or removed one of the
        files, since this one began.
        """
        change = self.java.deltaLog().startTransaction(self._none, self._none)
        change.txnVersion(commit)  # so that Delta refuses a second commit of this id
        added = self._added_by(version)
        left = self._left(added or [], change.snapshot())
        changes = self._changes(version + 1, int(change.snapshot().version()))
        if added is None or ((len(left) < len(added) or _has_marks(left)) and not changes <= {"adds", "removes"}):
            return False
        removed = [each.remove() for each in left]
        files = elements(change.writeFiles(rows._jdf))
        id = java_class(self.spark, f"{_DELTA}.actions.SetTransaction")(commit, 0, self._none)
        mode, note_ = java_class(self.spark, "org.apache.spark.sql.SaveMode").Append, self._some(note)
        what = java_class(self.spark, f"{_DELTA}.DeltaOperations$Write")(
            mode, *[self._none] * 2, note_, *[self._none] * 5
        )
        change.commit(scala_sequence(self.spark, [id, *files, *removed]), what)
        return True

    def version_of(self, commit: str, after: int) -> int | None:
        """Return the first version after another that was made under an id, None if the log has none any more."""
        with suppress(Py4JJavaError):
            return self._made_by(commit, after + 1, self.version)
        return None

    def has_made(self, commit: str, version: int | None) -> bool | None:
        """Whether a version, or any if it is None, was made under an id, which may have expired.

        None if the log has forgotten the version.
        """
        first, last = (0, self.version) if version is None else (version, version)
        if last > self.version:
            return False
        with suppress(Py4JJavaError):
            return self._made_by(commit, first, last) is not None
        return None

    def _made_by(self, commit: str, first: int, last: int) -> int | None:
        for version, actions in self._commits(first, last):
            if any(_kind(each) == "SetTransaction" and str(each.appId()) == commit for each in actions):
                return version
        return None

    def rows_removed_by(self, version: int) -> int | None:
        """Return how many rows readers do not see any more, or see with other values, since a version.

        None if the log does not tell, or would have to be asked for more than a thousand files.
        """
        with suppress(Py4JJavaError):
            for _, actions in self._commits(version, version):
                return self._removed_rows(version, actions)
        return None

    def _removed_rows(self, version: int, actions: Sequence[Any]) -> int | None:
        removed = [each for each in actions if _kind(each) == _REMOVED and each.dataChange()]
        if not removed:
            return 0
        done = next((each for each in actions if _kind(each) == "CommitInfo"), None)
        if done is not None and str(done.operation()) == "MERGE":
            metrics = done.operationMetrics()
            counts = [metrics.get().get(name) for name in _MERGE_METRICS] if metrics.isDefined() else []
            return sum(int(each.get()) for each in counts) if all(each.isDefined() for each in counts) else None
        if len(removed) > _MOST_FILES:
            return None
        before = self.java.deltaLog().getSnapshotAt(version - 1, self._none, self._none, False)
        counts = [each.numLogicalRecords() for each in self._left(removed, before)]
        return sum(int(each.get()) for each in counts) if all(each.isDefined() for each in counts) else None

    def _commits(self, first: int, last: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield versions, each with its actions; raises Py4JJavaError if the log does not have all of them any more."""
        commits = self.java.deltaLog().getChanges(first, last, self._none, True)
        while commits.hasNext():
            commit = commits.next()
            yield int(commit._1()), list(elements(commit._2()))

    def _added_by(self, version: int) -> list[Any] | None:
        """Return the files with rows that a version has added, None if the log has forgotten it."""
        with suppress(Py4JJavaError):
            for _, actions in self._commits(version, version):
                return [each for each in actions if _kind(each) == _ADDED and each.dataChange()]
        return None

    def _left(self, files: Sequence[Any], snapshot: Any) -> list[Any]:
        """Return the files that a snapshot has, as it has them: others may have marked rows in them as removed."""
        paths = [str(each.path()) for each in files]
        return list(snapshot.allFiles().where(col("path").isin(paths)._jc).collect())

    def _changes(self, first: int, last: int) -> frozenset[str]:
        try:
            return frozenset(_change(actions) for _, actions in self._commits(first, last))
        except Py4JJavaError:  # the log has forgotten some
            return frozenset({"changes"})

    def _rows(self, files: Sequence[Any]) -> DataFrame:
        java = self.java.deltaLog().createDataFrame(self.java, scala_sequence(self.spark, files), False, self._none)
        return DataFrame(java, self.spark)

    @property
    def _none(self) -> Any:
        return java_class(self.spark, "scala.Option").empty()

    def _some(self, value: str) -> Any:
        return java_class(self.spark, "scala.Option").apply(value)

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


def is_missing_file(error: BaseException) -> bool:
    """Whether a file of the table is gone: others have removed what only older versions need."""
    return any(is_java_instance(java, "java.io.FileNotFoundException") for java in java_exceptions(error))


def is_violation(error: BaseException) -> bool:
    """Whether rows violate a constraint of the table."""
    return _has_kind(error, "DeltaInvariantViolationException")


def _change(actions: Sequence[Any]) -> str:
    removed = [each for each in actions if _kind(each) == _REMOVED]
    if not removed:
        return "adds"
    if not any(each.dataChange() for each in removed):
        return "moves"
    replaces = any(_kind(each) == "CommitInfo" and _replaces_files(each) for each in actions)
    return "removes" if replaces or not any(_kind(each) == _ADDED for each in actions) else "changes"


def _replaces_files(done: Any) -> bool:
    """Whether a commit replaces whole files: one with a condition, `replaceWhere`, also moves rows of those."""
    return str(done.operation()) == "WRITE" and not done.operationParameters().contains("predicate")


def _has_marks(files: Sequence[Any]) -> bool:
    return any(each.deletionVector() is not None for each in files)


def _kind(action: Any) -> str:
    return str(action.getClass().getSimpleName())


def _has_kind(error: BaseException, name: str) -> bool:
    for java in java_exceptions(error):
        kind = java.getClass()
        while kind is not None:
            if str(kind.getSimpleName()) == name:
                return True
            kind = kind.getSuperclass()
    return False
