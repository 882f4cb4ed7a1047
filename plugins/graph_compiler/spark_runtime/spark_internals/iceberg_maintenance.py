"""Maintenance of Iceberg tables by the actions of its Java API: 1.12, with Spark 4.1. Its SQL needs an extension.

An action commits as any writer does, so others may read and write the table meanwhile. Spark's session leads to the
actions: 4.x classic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.functions import sum as total

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from graph_compiler.spark_runtime.spark_internals.java import java_class
from graph_compiler.staging.gc.table_needs import SeenCommit

_ACTIONS = "org.apache.iceberg.spark.actions.SparkActions"
_KEEPS_ALL = "gc.enabled"
"""The table's property that forbids to remove files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedFiles:
    """The numbers of data files before and after, and how many bytes were written again."""

    before: int
    after: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredSnapshots:
    """How many snapshots were removed and are left, and how many files were removed; `bytes` are those of data."""

    removed: int
    left: int
    data_files: int
    other_files: int
    bytes: int


def history_of(table: IcebergTable) -> list[SeenCommit]:
    """Return what readers have seen, as far as the table remembers it: a rollback shows a snapshot again."""
    found = []
    for entry in table.java.history():
        snapshot = table.java.snapshot(entry.snapshotId())
        if snapshot is not None:  # its place in the history may outlive it
            parent = snapshot.parentId()
            found.append(
                SeenCommit(
                    id=int(entry.snapshotId()),
                    shown=entry.timestampMillis() / 1000,
                    made=snapshot.timestampMillis() / 1000,
                    parent=None if parent is None else int(parent),
                )
            )
    return found


def keeps_all_files(table: IcebergTable) -> bool:
    """Whether the table's owner has forbidden to remove files."""
    return str(table.java.properties().get(_KEEPS_ALL)).lower() == "false"


def own_age_of_main(table: IcebergTable) -> float | None:
    """Return the age in seconds at which snapshots that readers see expire, whatever an expiry asks for."""
    main = table.java.refs().get("main")
    age = None if main is None else main.maxSnapshotAgeMs()
    return None if age is None else int(age) / 1000


def compact(table: IcebergTable) -> CompactedFiles:
    """Write small files together, as the table's properties say; raises Java's errors if others change them."""
    before = _data_files(table)
    done = _actions(table).rewriteDataFiles(table.java).execute()
    after = _data_files(IcebergTable.load(table.spark, table.name))
    return CompactedFiles(before=before, after=after, bytes=int(done.rewrittenBytesCount()))


def expire(table: IcebergTable, before: float, retain_last: int | None) -> ExpiredSnapshots:
    """Remove snapshots that are older than a time, in seconds, and the files that only these have.

    Branches and tags keep theirs. `retain_last` None is what the table's properties say.
    """
    known = _snapshots(table)
    files = _files(table).localCheckpoint()  # what lists them will be gone; a cached table would be read again
    action = _actions(table).expireSnapshots(table.java).expireOlderThan(int(before * 1000))
    if retain_last is not None:
        action = action.retainLast(retain_last)
    done = action.execute()
    now = IcebergTable.load(table.spark, table.name)
    gone = files.join(_files(now), "file_path", "left_anti").agg(total("file_size_in_bytes")).first()
    left = _snapshots(now)
    deletes = int(done.deletedPositionDeleteFilesCount()) + int(done.deletedEqualityDeleteFilesCount())
    lists = int(done.deletedManifestsCount()) + int(done.deletedManifestListsCount())
    return ExpiredSnapshots(
        removed=len(known - left),
        left=len(left),
        data_files=int(done.deletedDataFilesCount()),
        other_files=deletes + lists + int(done.deletedStatisticsFilesCount()),
        bytes=int((gone and gone[0]) or 0),
    )


def remove_orphans(table: IcebergTable, before: float) -> int:
    """Remove files below the table's folder that no snapshot has and that are older than a time; return how many."""
    done = _actions(table).deleteOrphanFiles(table.java).olderThan(int(before * 1000)).execute()
    return int(done.orphanFilesCount())


def _actions(table: IcebergTable) -> Any:
    return java_class(table.spark, _ACTIONS).get(table.spark._jsparkSession)


def _snapshots(table: IcebergTable) -> set[int]:
    return {int(each.snapshotId()) for each in table.java.snapshots()}


def _data_files(table: IcebergTable) -> int:
    current = table.snapshot
    return 0 if current is None else int(table.summary(current).get("total-data-files", 0))


def _files(table: IcebergTable) -> DataFrame:
    """Return the data files, and the files of removed rows, of all snapshots."""
    rows = table.spark.table(f"{table.name}.{quoted('all_files')}")
    return rows.select(col("file_path"), col("file_size_in_bytes")).distinct()
