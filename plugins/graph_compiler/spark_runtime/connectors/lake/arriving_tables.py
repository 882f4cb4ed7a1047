"""Tables of Iceberg and Delta whose commits arrive: each row that a commit has added, once.

Both formats fail if a commit has changed or removed rows, or if commits that were not read yet are gone. Iceberg begins
with the oldest snapshot that it has, and would leave out the rows of those that have expired before the stream began;
and it reads a table that was created again from the old one's snapshot on. Both is found here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Delta, Iceberg
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    SOURCE,
    ArrivingSource,
    BatchInput,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.arriving.format_source import KeptByFormat, check_facts
from graph_compiler.spark_runtime.connectors.lake.delta import by_path, existing
from graph_compiler.spark_runtime.connectors.lake.formats import TableFormatError
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCommits(ArrivingSource):
    """The commits of a table, in one execution."""

    connector: Iceberg
    spark: SparkSession
    name: str

    def read(self) -> DataFrame:
        """Return the rows that commits add, from the oldest snapshot on."""
        loaded(self.connector, self.spark)
        return self.spark.readStream.format("iceberg").option(SOURCE, self.name).load(self.connector.sql_name)

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError for another table of this name, TableFormatError if rows are in no snapshot."""
        table = loaded(self.connector, self.spark)
        check_facts({"format": "iceberg", "table": table.uuid}, log, last)
        if last is None and (expired := table.expired_before()) is not None:
            raise TableFormatError(
                f"{self.connector.place} has no snapshots from before {expired} any more: they have expired, and a "
                "stream would leave out the rows that they added\n"
                "  allowed: a new stream of a table that has all its snapshots\n"
                "  hint: only_new=True in place of unbounded=True reads all rows that are there, and then, run by run, "
                "those that are added"
            )

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:  # noqa: ARG002  # of the format
        """Return that the format has the rows between two offsets."""
        return KeptByFormat()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaCommits(ArrivingSource):
    """The commits of a table, in one execution."""

    connector: Delta
    spark: SparkSession
    name: str

    def read(self) -> DataFrame:
        """Return the rows that are there, and those that commits add."""
        found = by_path(self.connector, self.spark)
        existing(found, self.spark)
        return self.spark.readStream.format("delta").option(SOURCE, self.name).load(found.path)

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError for another table in this place."""
        table = existing(by_path(self.connector, self.spark), self.spark)
        check_facts({"format": "delta", "table": table.id}, log, last)

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:  # noqa: ARG002  # of the format
        """Return that the format has the rows between two offsets."""
        return KeptByFormat()


@arriving_source.register
def _(connector: Iceberg, spark: SparkSession, name: str) -> ArrivingSource:
    return IcebergCommits(connector=connector, spark=spark, name=name)


@arriving_source.register
def _(connector: Delta, spark: SparkSession, name: str) -> ArrivingSource:
    return DeltaCommits(connector=connector, spark=spark, name=name)
