"""Read a snapshot of an Iceberg table; which catalogs and versions a driver needs for that."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors.iceberg import CATALOG_SETTINGS, Iceberg
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.connectors.lake.formats import TableFormatError, check_format
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable, iceberg_jar, iceberg_version
from graph_compiler.tested_versions import ICEBERG

_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


@read.register
def _(connector: Iceberg, reading: Reading) -> Found:
    spark = reading.spark
    connect(connector, spark)
    if not spark.catalog.tableExists(connector.sql_name):
        raise TableFormatError(f"{connector.place} does not exist")
    table = IcebergTable.load(spark, connector.sql_name)
    snapshot = _snapshot(connector, table)
    if snapshot is None:  # without one, a query would read what comes later
        schema = spark.table(connector.sql_name).schema
        return Found(rows=spark.createDataFrame([], schema), schema=schema)
    rows = spark.read.option("versionAsOf", str(snapshot)).table(connector.sql_name)
    return Found(rows=rows, schema=rows.schema)


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
    version = str(connector.version)
    found = table.snapshot_of(version)
    if found is None and version.isdigit() and table.has(int(version)):
        found = int(version)
    if found is None:
        refs = listing(sorted(map(str, table.java.refs().keySet())))
        raise TableFormatError(
            f"{connector.place} has no version {version}\n  allowed: {refs}, or the id of a snapshot that it still has"
        )
    return found
