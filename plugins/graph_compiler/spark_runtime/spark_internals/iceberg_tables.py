"""Tables of Iceberg, through its Java API: 1.12, with Spark 4.1. Spark's session leads to them: 4.x classic.

Iceberg changes a table by one commit, which its catalog accepts only if no other commit was made since the table was
loaded. Several changes can be one commit: that of `publish` adds the rows and removes their branch.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from graph_compiler.declaration.connectors.iceberg import partitions_words
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JError,
    is_java_instance,
    jar_of,
    java_class,
    java_exceptions,
)

JAVA_ERRORS = (Py4JError, PySparkException)
"""What a call raises if Java does: pyspark has classes of its own for some of its exceptions."""
_ICEBERG = "org.apache.iceberg"
REPLACES_ALL = "graph-compiler.replaces-all"
"""Our property of a snapshot that replaces all rows: Iceberg has the same word for one that changes some."""
_SOURCE = "source-snapshot-id"
"""Iceberg's property of a snapshot that was made from another one, by a cherry-pick."""
_PATH_OF_DELETES = 2147483546
"""Iceberg's id of the column of a file of deletes that has the path of the file with the rows."""
_REFUSALS = (
    f"{_ICEBERG}.exceptions.ValidationException",
    "java.lang.IllegalArgumentException",
    f"{_ICEBERG}.exceptions.CommitFailedException",
)
"""What a commit raises, before it changes anything, if the table is not what it has to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """A commit of a table: the id of its snapshot, Iceberg's word for what it does, and a number that grows."""

    id: int
    operation: str
    number: int

    @classmethod
    def of(cls, snapshot: Any) -> TableCommit:
        """Return that of a snapshot of Java."""
        id, number = int(snapshot.snapshotId()), int(snapshot.sequenceNumber())
        return cls(id=id, operation=str(snapshot.operation()), number=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A file with rows of a table."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """A table as it was when it was loaded."""

    spark: SparkSession
    name: str
    java: Any

    @classmethod
    def load(cls, spark: SparkSession, name: str) -> IcebergTable:
        """Return a table that is there, as it is now: catalogs keep tables for a while."""
        spark.catalog.refreshTable(name)
        table = java_class(spark, f"{_ICEBERG}.spark.Spark3Util").loadIcebergTable(spark._jsparkSession, name)
        loaded = cls(spark, name, table)
        loaded.refresh()
        return loaded

    def refresh(self) -> None:
        """Read its state again, at a tenth of the cost of `load`; Iceberg raises if it was created again."""
        self.java.refresh()

    @property
    def uuid(self) -> str:
        """Return its id: a table that is dropped and created again has another one."""
        return str(self.java.uuid().toString())

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the table's properties: `write.format.default`."""
        return dict(self.java.properties())

    @property
    def snapshot(self) -> int | None:
        """Return the id of the snapshot that readers see, None for a new table."""
        current = self.java.currentSnapshot()
        return None if current is None else int(current.snapshotId())

    def snapshot_of(self, ref: str) -> int | None:
        """Return the id of the snapshot of a branch or a tag, None if there is no such name."""
        found = self.java.snapshot(ref)
        return None if found is None else int(found.snapshotId())

    def snapshot_at(self, milliseconds: int) -> int | None:
        """Return the id of the snapshot that readers saw at a time, None if they saw none, or it is forgotten."""
        try:
            return int(
                java_class(self.spark, f"{_ICEBERG}.util.SnapshotUtil").snapshotIdAsOfTime(self.java, milliseconds)
            )
        except JAVA_ERRORS as error:
            if refused_by_iceberg(error):
                return None
            raise

    def has(self, snapshot: int) -> bool:
        """Whether the table still knows a snapshot."""
        return self.java.snapshot(snapshot) is not None

    def commits(self, after: int, until: int) -> list[TableCommit] | None:
        """Return the commits behind one snapshot up to another, the newest first.

        None if the table does not know that the first one comes before the other: it has forgotten snapshots in
        between, or was rolled back.
        """
        found: list[TableCommit] = []
        java = self.java.snapshot(until)
        while java is not None:
            if int(java.snapshotId()) == after:
                return found
            found.append(TableCommit.of(java))
            parent = java.parentId()
            if parent is not None and int(parent) == after:  # which may have expired
                return found
            java = None if parent is None else self.java.snapshot(int(parent))
        return None

    def expired_before(self) -> int | None:
        """Return the oldest snapshot that the current one comes from, if it had one before it that has expired."""
        if self.java.currentSnapshot() is None:
            return None
        oldest = java_class(self.spark, f"{_ICEBERG}.util.SnapshotUtil").oldestAncestor(self.java)
        return None if oldest.parentId() is None else int(oldest.snapshotId())

    def commit(self, snapshot: int) -> TableCommit:
        """Return the commit that has made a snapshot."""
        return TableCommit.of(self.java.snapshot(snapshot))

    def has_deletes(self, snapshot: int) -> bool:
        """Whether a snapshot has files of deletes beside those with rows: the table's changes cannot be read then."""
        return not self.java.snapshot(snapshot).deleteManifests(self.java.io()).isEmpty()

    def changes(self, after: int, until: int) -> DataFrame:
        """Return the rows that were added and removed behind one snapshot up to another, with Iceberg's three columns.

        A row that a commit has only moved to another file is no change.
        """
        catalog, _, rest = self.name.partition(".")
        view = f"graph_compiler_changes_{secrets.token_hex(8)}"
        options = f"map('start-snapshot-id', '{after}', 'end-snapshot-id', '{until}')"
        table = rest.replace("'", "\\'")
        self.spark.sql(
            f"CALL {catalog}.system.create_changelog_view(table => '{table}', options => {options}, "
            f"changelog_view => '{view}', compute_updates => false)"
        )
        try:
            return self.spark.table(view)
        finally:
            self.spark.catalog.dropTempView(view)

    def summary(self, snapshot: int) -> Mapping[str, str]:
        """Return what Iceberg has noted of a snapshot: counts of rows and files, by their names.

        Nothing if the table has forgotten the snapshot.
        """
        java = self.java.snapshot(snapshot)
        return {} if java is None else dict(java.summary())

    def partitions(self) -> tuple[str, ...]:
        """Return how it is partitioned, as SQL has it: `days(at)`, `bucket(16, id)`."""
        return partitions_words(
            (str(each.transform().toString()), str(self.java.schema().findColumnName(each.sourceId())))
            for each in self.java.spec().fields()
        )

    @property
    def has_other_partitions(self) -> bool:
        """Whether readers see files that were written before it was partitioned as it is now."""
        current, now = self.java.currentSnapshot(), int(self.java.spec().specId())
        return current is not None and any(
            int(each.partitionSpecId()) != now and (each.hasAddedFiles() or each.hasExistingFiles())
            for each in current.dataManifests(self.java.io())
        )

    def make_branch(self, branch: str, milliseconds: int) -> None:
        """Make a branch of what readers see; Iceberg's expiry removes it after that time, and no sooner.

        A new table gets a snapshot without rows first: what is written to the branch has to be based on one.
        """
        if self.snapshot is None:
            self.java.newFastAppend().commit()
        self.java.manageSnapshots().createBranch(branch, self.snapshot).setMaxRefAgeMs(branch, milliseconds).commit()

    def remove(self, name: str) -> None:
        """Remove a branch or a tag, if it is there."""
        self.refresh()
        found = self.java.refs().get(name)
        if found is not None:
            change = self.java.manageSnapshots()
            (change.removeBranch(name) if found.isBranch() else change.removeTag(name)).commit()

    def publish(self, branch: str, snapshot: int, *, picks: bool) -> None:
        """Make the rows of a branch visible, and remove it, in one commit.

        `picks`: what the snapshot has changed is applied to what readers see; otherwise they see the snapshot itself,
        which must have been made from what they see. Raises what `refused_by_iceberg` knows if that is not possible.
        """
        change = self.java.manageSnapshots()
        change = change.cherrypick(snapshot) if picks else change.fastForwardBranch("main", branch)
        change.removeBranch(branch).commit()

    def add_tag(self, tag: str, snapshot: int, *, instead_of: str) -> None:
        """Replace a branch by a tag, in one commit."""
        self.java.manageSnapshots().removeBranch(instead_of).createTag(tag, snapshot).commit()

    def published_as(self, snapshot: int) -> int | None:
        """Return the id of the snapshot in which readers see what another has changed, None if none is known."""
        for found in self._seen():
            if int(found.snapshotId()) == snapshot or str(snapshot) == found.summary().get(_SOURCE):
                return int(found.snapshotId())
        return None

    @property
    def knows_its_beginning(self) -> bool:
        """Whether no snapshot before the one that readers see is forgotten."""
        return all(found.parentId() is None or self.has(int(found.parentId())) for found in self._seen())

    def _seen(self) -> Iterator[Any]:
        """Yield the snapshot that readers see, and those before it, as far as they are known."""
        found = self.java.currentSnapshot()
        while found is not None:
            yield found
            parent = found.parentId()
            found = None if parent is None else self.java.snapshot(int(parent))

    def rows_of(self, snapshot: int) -> DataFrame | None:
        """Return the rows that a snapshot has added to those before it.

        None if the table has forgotten it, or it has also removed rows: Iceberg would find none.
        """
        java = self.java.snapshot(snapshot)
        if java is None or java.parentId() is None or str(java.operation()) != "append":
            return None
        reader = self.spark.read.option("start-snapshot-id", str(int(java.parentId())))
        return reader.option("end-snapshot-id", str(snapshot)).table(self.name)

    def files_of(self, snapshot: int) -> tuple[TableFile, ...]:
        """Return the files that a snapshot has added, as far as readers still see them: it may be forgotten itself."""
        entries = self.spark.sql(
            f"SELECT data_file.file_path, data_file.record_count FROM {self.name}.entries "
            f"WHERE snapshot_id = {snapshot} AND status < 2 AND data_file.content = 0"
        )
        return tuple(TableFile(path=path, rows=rows) for path, rows in entries.collect())

    def has_marks(self, snapshot: int, files: Sequence[TableFile]) -> bool:
        """Whether rows in files that a snapshot has added may be marked as removed, by files of deletes."""
        entries = f"{self.name}.entries"
        lower, upper = (f"data_file.{bound}_bounds[{_PATH_OF_DELETES}]" for bound in ("lower", "upper"))
        path = f"coalesce(data_file.referenced_data_file, if({lower} = {upper}, string({lower}), NULL))"
        deletes = self.spark.sql(
            f"SELECT {path} AS path FROM {entries} WHERE status < 2 AND data_file.content > 0 AND sequence_number >= "
            f"(SELECT min(sequence_number) FROM {entries} WHERE snapshot_id = {snapshot} AND data_file.content = 0)"
        )
        own = [file.path for file in files]
        return not deletes.where(col("path").isNull() | col("path").isin(own)).isEmpty()

    def changes_since(self, snapshot: int) -> frozenset[str]:
        """Return what the commits after a snapshot do to rows before them: "adds", "moves", "removes", "changes".

        "removes": all rows of a file go. "changes": some rows go, and others are moved; also if it is not known.
        """
        current = self.snapshot
        commits = None if current is None else self.commits(snapshot, current)
        return frozenset({"changes"} if commits is None else map(self._change, commits))

    def _change(self, commit: TableCommit) -> str:
        summary = self.summary(commit.id)
        if "true" in (summary.get(REPLACES_ALL), summary.get("replace-partitions")):
            return "removes"
        return {"append": "adds", "replace": "moves", "delete": "removes"}.get(commit.operation, "changes")

    def remove_files(self, files: Sequence[TableFile], branch: str) -> None:
        """Remove files from a branch, by one commit; raises what `refused_by_iceberg` knows if one is not there."""
        change = self.java.newDelete()
        for file in files:
            # Not a String: py4j would call the method of the class that removes a file from the disk.
            path = java_class(self.spark, "java.lang.StringBuilder")(file.path)
            change = change.deleteFile(path)
        change.validateFilesExist().toBranch(branch).commit()


def iceberg_jar(spark: SparkSession) -> str | None:
    """Return the place of the jar with Iceberg's catalogs, None if the driver has none."""
    return jar_of(spark, f"{_ICEBERG}.spark.SparkCatalog")


def iceberg_version(spark: SparkSession) -> str:
    """Return the version of the driver's Iceberg."""
    return str(java_class(spark, f"{_ICEBERG}.IcebergBuild").version())


def refused_by_iceberg(error: BaseException) -> bool:
    """Whether Iceberg has refused a commit, so that it has changed nothing."""
    found = java_exceptions(error)[:1]
    return any(is_java_instance(java, name) for java in found for name in _REFUSALS)


def iceberg_words(error: BaseException) -> str:
    """Return Iceberg's sentence of an error."""
    messages = (java.getMessage() for java in java_exceptions(error))
    return next((str(message).splitlines()[0] for message in messages if message), str(error))
