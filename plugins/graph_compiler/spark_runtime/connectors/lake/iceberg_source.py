"""Read a snapshot of an Iceberg table, or its commits as they arrive; which catalogs and versions that needs.

On a stream, Iceberg fails if a commit has changed or removed rows, or if commits are gone that were not read yet. It
begins with the oldest snapshot that it has, and would leave out the rows of those that have expired before the stream
began; and it reads a table that was created again from the old one's snapshot on. Both are found here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, create_map, lower
from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors.connector import NO_COMMIT
from graph_compiler.declaration.connectors.iceberg import CATALOG_SETTINGS, Iceberg, unnumbered_commits
from graph_compiler.errors import GraphCompilerError, SourceChangedError
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    BEGIN_AGAIN,
    SOURCE,
    ArrivingSource,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.arriving.format_source import check_facts
from graph_compiler.spark_runtime.connectors.lake.formats import (
    READ_ALL,
    ReadCommit,
    TableFormatError,
    as_inserted,
    changes_of_a_stream,
    check_format,
    other_changes,
    read_commit,
)
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import (
    JAVA_ERRORS,
    IcebergTable,
    TableCommit,
    iceberg_jar,
    iceberg_version,
    iceberg_words,
)
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.tested_versions import ICEBERG

_APPEND, _REPLACE = "append", "replace"
"""Iceberg's words for commits that only add rows, and that only move them to other files."""
_BEGIN, _CHECKSUM_OF_BEGIN = "offsets/0", "offsets/.0.crc"
"""Where Iceberg keeps the offset with which a stream began (`SparkMicroBatchStream.InitialOffsetStore`: 1.12)."""
_CHANGED = re.compile(r"Cannot process (?:\w+) snapshot: (\d+)")
_GONE = re.compile(r"Cannot load current offset at snapshot (\d+)|Cannot find snapshot after (\d+)")
_BYTES = re.compile(r'"(type|elementType|keyType|valueType)": ?"binary"')
_UNORDERED = "unorderable columns"
"""What Iceberg says of a table with a MAP (`CreateChangelogViewProcedure`: 1.12)."""
_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


@read.register
def _(connector: Iceberg, reading: Reading) -> Found:
    spark = reading.spark
    table = _loaded(connector, spark)
    snapshot = _snapshot(connector, table)
    if snapshot is None:  # without one, a query would read what comes later
        rows = spark.createDataFrame([], spark.table(connector.sql_name).schema)
        _refuse_bytes(connector, rows.schema)
        rows = as_inserted(rows, 0) if connector.changes else rows
        return Found(rows=rows, schema=rows.schema)
    if connector.since is not None:
        since = str(connector.since)
        # A snapshot that has expired may still be known as the one before another.
        found = int(since) if since.isdigit() and table.snapshot_of(since) is None else _named(connector, table, since)
        rows = _since(connector, table, found, snapshot)
        _refuse_bytes(connector, rows.schema)
    else:
        rows = spark.read.option("versionAsOf", str(snapshot)).table(connector.sql_name)
        _refuse_bytes(connector, rows.schema)
        if connector.changes:
            rows = as_inserted(rows, _numbers(connector, [table.commit(snapshot)])[snapshot])
    return Found(rows=rows, schema=rows.schema)


def _since(connector: Iceberg, table: IcebergTable, since: int, until: int) -> DataFrame:
    """Return the rows that were added after a snapshot, or all changes."""
    commits = table.commits(since, until)
    if commits is None:
        raise TableFormatError(
            f"{connector.place} does not know what was committed from snapshot {since} to {until}: snapshots in "
            "between have expired, or the table was rolled back\n"
            f"  hint: {READ_ALL}"
        )
    spark = table.spark
    if connector.changes:
        numbers = _numbers(connector, commits)
        rows = spark.read.option("versionAsOf", str(until)).table(connector.sql_name)
        if not commits:
            return as_inserted(rows, 0).limit(0)
        changes = _changes(connector, table, since, commits)
        number = create_map(*(lit(each) for pair in numbers.items() for each in pair))
        return changes.select(
            *(col(quoted(name)) for name in rows.columns),
            lower(col("_change_type")).alias("_change_type"),
            number[col("_commit_snapshot_id")].cast("bigint").alias("_commit_version"),
        )
    if other := next((each for each in commits if each.operation not in (_APPEND, _REPLACE)), None):
        raise other_changes(connector.place, f"snapshot {other.id} ({other.operation})")
    if all(each.operation == _REPLACE for each in commits):
        return spark.read.option("versionAsOf", str(until)).table(connector.sql_name).limit(0)
    reader = spark.read.option("start-snapshot-id", str(since)).option("end-snapshot-id", str(until))
    return reader.table(connector.sql_name)


def _changes(connector: Iceberg, table: IcebergTable, since: int, commits: Sequence[TableCommit]) -> DataFrame:
    """Return what commits behind a snapshot, the newest first, have changed, as Iceberg has it."""
    for commit in commits:
        if commit.operation != _REPLACE and table.has_deletes(commit.id):
            raise TableFormatError(
                f"{connector.place} had files of deletes beside its rows at snapshot {commit.id} (merge-on-read), and "
                "Iceberg reads no changes of such a table\n"
                "  allowed: changes=True of tables whose write.delete.mode, write.update.mode and write.merge.mode are "
                f"copy-on-write, as they are by default\n  hint: {READ_ALL}"
            )
    try:
        return table.changes(since, commits[0].id)
    except JAVA_ERRORS as error:
        words = iceberg_words(error)
        if _UNORDERED not in words:
            raise
        raise TableFormatError(
            f"{connector.place} has columns that Iceberg cannot compare, and so it does not know which rows have "
            f"changed: {words}\n  allowed: changes=True of tables without columns of type MAP"
        ) from error


def _refuse_bytes(connector: Iceberg, schema: StructType) -> None:
    """Raise TableFormatError for changes of a table with BINARY columns: no row of these is equal to itself.

    Iceberg compares two values as Java's arrays, and reports rows that a commit has only moved as removed and added.
    """
    found = [field.name for field in schema if _BYTES.search(field.json())]
    if connector.changes and found:
        raise TableFormatError(
            f"{connector.place} has BINARY in {listing(found)}, and Iceberg reports unchanged rows with it as changes\n"
            "  allowed: changes=True of tables without BINARY\n"
            "  hint: a column with hex(…) or base64(…) of it, in a table that is read for changes"
        )


def _numbers(connector: Iceberg, commits: Sequence[TableCommit]) -> dict[int, int]:
    if any(commit.number == 0 for commit in commits):
        raise TableFormatError(str(unnumbered_commits(connector)))
    return {commit.id: commit.number for commit in commits}


@read_commit.register
def _(connector: Iceberg, spark: SparkSession) -> ReadCommit:
    table = _loaded(connector, spark)
    return ReadCommit(kind="snapshot", table=table.uuid, commit=table.snapshot)


def _loaded(connector: Iceberg, spark: SparkSession) -> IcebergTable:
    """Return a table that is there; raises TableFormatError."""
    connect(connector, spark)
    if not spark.catalog.tableExists(connector.sql_name):
        raise TableFormatError(f"{connector.place} does not exist")
    return IcebergTable.load(spark, connector.sql_name)


def connect(connector: Iceberg, spark: SparkSession) -> None:
    """Set the properties of the table's catalog; raises TableFormatError if the driver cannot use it.

    Secrets go into settings of this session only: they are in no argument of a process, and not among the settings of
    the application.
    """
    check_format(ICEBERG, spark, iceberg_jar, iceberg_version)
    own = f"{CATALOG_SETTINGS}{connector.catalog_name}"
    settings = connector.catalog_settings()
    if settings:
        settings.setdefault(own, _CATALOG)
        settings.setdefault(f"{own}.cache-enabled", "false")  # others change the table
    for key, value in reveal_all(settings).items():
        known = spark.conf.get(key, None)
        if known is None:
            spark.conf.set(key, value)
        elif known != value:  # Spark keeps a catalog as it was when it was first used
            raise TableFormatError(
                f"{connector.place}: {key.removeprefix(own).lstrip('.') or own} of its catalog has another value "
                "elsewhere\n  allowed: one value for each property of a catalog"
            )
    if spark.conf.get(own, None) is None:
        raise TableFormatError(
            f"{connector.place}: Spark has no catalog '{connector.catalog_name}'\n"
            f'  hint: catalog={{"type": "rest", "uri": …}} of {type(connector).__name__}, or the settings {own} and '
            f"{own}.type of the deployment's Spark"
        )


def _snapshot(connector: Iceberg, table: IcebergTable) -> int | None:
    if connector.timestamp is not None:
        moment = datetime.fromisoformat(connector.timestamp)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        is_past = moment <= datetime.now(UTC)  # of a time to come, a later attempt would read other rows
        found = table.snapshot_at(round(moment.timestamp() * 1000)) if is_past else None
        if found is None:
            why = "its first one is newer, or that of this time has expired" if is_past else "this time is yet to come"
            raise TableFormatError(f"{connector.place} has no snapshot of {moment.isoformat()}: {why}")
        return found
    if connector.version is None:
        return table.snapshot
    return None if connector.version == NO_COMMIT else _named(connector, table, connector.version)


def _named(connector: Iceberg, table: IcebergTable, name: str | int) -> int:
    """Return the id of a snapshot by its id, or by the name of a branch or a tag."""
    version = str(name)
    found = table.snapshot_of(version)
    if found is None and version.isdigit() and table.has(int(version)):
        found = int(version)
    if found is None:
        refs = listing(sorted(map(str, table.java.refs().keySet())))
        raise TableFormatError(
            f"{connector.place} has no version {version}\n  allowed: {refs}, or the id of a snapshot that it still has"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCommits(ArrivingSource):
    """The commits of a table, in one execution."""

    connector: Iceberg
    spark: SparkSession
    name: str

    def read(self) -> DataFrame:
        """Return the rows that commits add, from the oldest snapshot on."""
        _loaded(self.connector, self.spark)
        return self.spark.readStream.format("iceberg").option(SOURCE, self.name).load(self.connector.sql_name)

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError for another table of this name, TableFormatError if rows are in no snapshot."""
        table = _loaded(self.connector, self.spark)
        check_facts({"format": "iceberg", "table": table.uuid}, log, last)
        if last is not None:
            _move_begin(log, json.loads(last))
        elif (expired := table.expired_before()) is not None:
            raise TableFormatError(
                f"{self.connector.place} has no snapshots from before {expired} any more: they have expired, and a "
                "stream would leave out the rows that they added\n"
                "  allowed: a new stream of a table that has all its snapshots\n"
                "  hint: only_new=True in place of unbounded=True reads all rows that are there, and then, run by run, "
                "those that are added"
            )

    def explained(self, words: str) -> GraphCompilerError | None:
        """Return what a failure of the query says of the table, None if it is about something else."""
        if found := _CHANGED.search(words):
            return changes_of_a_stream(self.connector.place, f"snapshot {found[1]}")
        if found := _GONE.search(words):
            return SourceChangedError(
                f"{self.connector.place} does not know any more what was committed after snapshot "
                f"{found[1] or found[2]}: snapshots have expired that no run has read, or it was rolled back\n"
                f"  allowed: snapshots that are kept longer than the time between two runs\n  hint: {BEGIN_AGAIN}"
            )
        return None


def _move_begin(log: SourceLog, last: dict[str, int]) -> None:
    """Let Iceberg look for what is new from the snapshot on that was read last.

    It would look from that on with which the stream began, and fail when that one has expired; and it fails if it finds
    nothing at all. So it finds the files of this snapshot, which are read already.
    """
    if last["position"] > 0:
        log.store.delete(f"{log.folder}/{_CHECKSUM_OF_BEGIN}")
        log.store.put(f"{log.folder}/{_BEGIN}", json.dumps({**last, "position": 0}).encode())


@arriving_source.register
def _(connector: Iceberg, spark: SparkSession, name: str) -> ArrivingSource:
    return IcebergCommits(connector=connector, spark=spark, name=name)
