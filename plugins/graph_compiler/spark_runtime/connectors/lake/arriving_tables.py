"""Tables of Iceberg and Delta whose commits arrive: each row that a commit has added, once.

Both formats fail if a commit has changed or removed rows, or if commits that were not read yet are gone. Iceberg begins
with the oldest snapshot that it has, and would leave out the rows of those that have expired before the stream began;
and it reads a table that was created again from the old one's snapshot on. Both is found here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Delta, Iceberg
from graph_compiler.errors import GraphCompilerError, SourceChangedError
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    SOURCE,
    ArrivingSource,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.arriving.format_source import check_facts
from graph_compiler.spark_runtime.connectors.lake.delta import by_path, existing
from graph_compiler.spark_runtime.connectors.lake.formats import TableFormatError
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import loaded

_BEGIN, _CHECKSUM_OF_BEGIN = "offsets/0", "offsets/.0.crc"
"""Where Iceberg keeps the offset with which a stream began (`SparkMicroBatchStream.InitialOffsetStore`: 1.12)."""
_CHANGED = re.compile(r"Cannot process (?:\w+) snapshot: (\d+)")
_GONE = re.compile(r"Cannot load current offset at snapshot (\d+)|Cannot find snapshot after (\d+)")
_RESET = (
    "`graph-compiler streams reset` begins a new stream, which reads all that is there again: what is published stays"
)
_OF_DELTA = re.compile(r"DELTA_SOURCE_(?:TABLE_)?IGNORE_(?:CHANGES|DELETE).* at version (\d+)", re.DOTALL)


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
            return _changed(self.connector, f"snapshot {found[1]}")
        if found := _GONE.search(words):
            return SourceChangedError(
                f"{self.connector.place} does not know any more what was committed after snapshot "
                f"{found[1] or found[2]}: snapshots have expired that no run has read, or it was rolled back\n"
                f"  allowed: snapshots that are kept longer than the time between two runs\n  hint: {_RESET}"
            )
        return None


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

    def explained(self, words: str) -> GraphCompilerError | None:
        """Return what a failure of the query says of the table, None if it is about something else."""
        found = _OF_DELTA.search(words)
        return _changed(self.connector, f"version {found[1]}") if found else None


def _move_begin(log: SourceLog, last: dict[str, int]) -> None:
    """Let Iceberg look for what is new from the snapshot on that was read last.

    It would look from that on with which the stream began, and fail when that one has expired; and it fails if it finds
    nothing at all. So it finds the files of this snapshot, which are read already.
    """
    if last["position"] > 0:
        log.store.delete(f"{log.folder}/{_CHECKSUM_OF_BEGIN}")
        log.store.put(f"{log.folder}/{_BEGIN}", json.dumps({**last, "position": 0}).encode())


def _changed(connector: Iceberg | Delta, commit: str) -> SourceChangedError:
    return SourceChangedError(
        f"{connector.place}: {commit} has changed or removed rows, and a stream has only rows that are added\n"
        "  allowed: tables to which rows are appended, and whose files are compacted\n"
        "  hint: a batch pipeline, with only_new=True and changes=True, has what was changed and removed, too; "
        f"{_RESET}"
    )


@arriving_source.register
def _(connector: Iceberg, spark: SparkSession, name: str) -> ArrivingSource:
    return IcebergCommits(connector=connector, spark=spark, name=name)


@arriving_source.register
def _(connector: Delta, spark: SparkSession, name: str) -> ArrivingSource:
    return DeltaCommits(connector=connector, spark=spark, name=name)
