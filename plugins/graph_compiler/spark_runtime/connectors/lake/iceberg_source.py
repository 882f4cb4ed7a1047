"""Read a snapshot of an Iceberg table; which catalogs and versions a driver needs for that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, create_map, lower

from graph_compiler.declaration.connectors.connector import NO_COMMIT
from graph_compiler.declaration.connectors.iceberg import CATALOG_SETTINGS, Iceberg, unnumbered_commits
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.connectors.lake.formats import (
    READ_ALL,
    ReadCommit,
    TableFormatError,
    as_inserted,
    check_format,
    other_changes,
    read_commit,
)
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import (
    IcebergTable,
    TableCommit,
    iceberg_jar,
    iceberg_version,
)
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.tested_versions import ICEBERG

_APPEND, _REPLACE = "append", "replace"
"""Iceberg's words for commits that only add rows, and that only move them to other files."""
_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


@read.register
def _(connector: Iceberg, reading: Reading) -> Found:
    spark = reading.spark
    table = loaded(connector, spark)
    snapshot = _snapshot(connector, table)
    if snapshot is None:  # without one, a query would read what comes later
        rows = spark.createDataFrame([], spark.table(connector.sql_name).schema)
        rows = as_inserted(rows, 0) if connector.changes else rows
        return Found(rows=rows, schema=rows.schema)
    if connector.since is not None:
        since = str(connector.since)
        # A snapshot that has expired may still be known as the one before another.
        found = int(since) if since.isdigit() and table.snapshot_of(since) is None else _named(connector, table, since)
        rows = _since(connector, table, found, snapshot)
    else:
        rows = spark.read.option("versionAsOf", str(snapshot)).table(connector.sql_name)
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
        changes = table.changes(since, until)
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


def _numbers(connector: Iceberg, commits: Sequence[TableCommit]) -> dict[int, int]:
    if any(commit.number == 0 for commit in commits):
        raise TableFormatError(str(unnumbered_commits(connector)))
    return {commit.id: commit.number for commit in commits}


@read_commit.register
def _(connector: Iceberg, spark: SparkSession) -> ReadCommit:
    table = loaded(connector, spark)
    return ReadCommit(kind="snapshot", table=table.uuid, commit=table.snapshot)


def loaded(connector: Iceberg, spark: SparkSession) -> IcebergTable:
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
        found = table.snapshot_at(round(moment.timestamp() * 1000))
        if found is None:
            raise TableFormatError(
                f"{connector.place} has no snapshot of {moment.isoformat()}: it is newer, or expired"
            )
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
