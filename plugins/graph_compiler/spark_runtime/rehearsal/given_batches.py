"""Batches that a test gives for a source that never ends: its query reads each as one file, one after the other.

given     [batch 0]  [batch 1]                                          DataFrames
folder    0.parquet  1.parquet     written before the query begins; each batch of Spark takes one file of each source
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from graph_compiler.declaration.connectors import Connector, FileConnector, Kafka, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.identifiers import did_you_mean, listing, quoted
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    SOURCE,
    ArrivingSource,
    BatchInput,
    SourceLog,
)
from graph_compiler.spark_runtime.connectors.source import Found, as_declared
from graph_compiler.spark_runtime.publishing.format_values import key_columns, merge, refuse_keys, unusable_keys
from graph_compiler.spark_runtime.rehearsal.test_rows import GivenRow, GivenRowsError
from graph_compiler.spark_runtime.spark_internals.file_listings import stream_files
from graph_compiler.spark_runtime.spark_internals.java import lit


def arriving_columns(connector: Connector) -> str | None:
    """Return the columns of a source that never ends, as DDL; None if they are not known."""
    if isinstance(connector, Kafka):
        return connector.columns()
    is_text = isinstance(connector, FileConnector) and connector.spark_format.lower() == "text"
    return connector.schema or ("value STRING" if is_text else None)


def full_records(connector: Kafka, records: Sequence[GivenRow], first: int) -> list[GivenRow]:
    """Return records with what Kafka gives each: all are in partition 0, and the first one has the offset `first`.

    What a record says itself stays. Its key and its time are NULL if it has none.
    """
    topic = connector.names[0] if len(connector.names) == 1 else None
    return [
        _with_absent(record, {"topic": topic, "partition": 0, "offset": offset, "timestampType": 0})
        for offset, record in enumerate(records, start=first)
    ]


def _with_absent(record: GivenRow, known: Mapping[str, object]) -> GivenRow:
    """Return a record with columns that it does not name; one without names has them all."""
    if not isinstance(record, Mapping):
        return record
    said = {name.lower() for name in record}
    return {**{name: value for name, value in known.items() if name.lower() not in said}, **record}


def with_columns_of_records(source: str, rows: DataFrame, connector: Kafka) -> DataFrame:
    """Return rows with the columns of Kafka's records, NULL if they are missing.

    Raises GivenRowsError for columns that no record has.
    """
    columns = parse_schema(connector.columns())
    given = {name.lower(): col(quoted(name)) for name in rows.columns}
    names = {name.lower() for name in columns.names}
    if unknown := [name for name in rows.columns if name.lower() not in names]:
        hint = did_you_mean(unknown[0], columns.names)
        raise GivenRowsError(
            f"'{source}' was given the column '{unknown[0]}', which records of Kafka do not have\n"
            f"  allowed: {listing(columns.names)}" + (f"\n  hint: {hint}" if hint else "")
        )
    return rows.select(
        *(given.get(each.name.lower(), lit(None)).cast(each.dataType).alias(each.name) for each in columns)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBatches(ArrivingSource):
    """The batches of one source. `folder` is its own, and does not exist yet."""

    connector: Connector
    spark: SparkSession
    name: str
    batches: Sequence[DataFrame]
    folder: Path

    def read(self) -> DataFrame:
        """Return the rows as a stream, each batch in one file; the columns are compared with the declared ones."""
        declared = self.connector.schema
        first, *_ = batches = [
            as_declared(self.connector, Found(rows=each, schema=each.schema)) for each in self.batches
        ]
        columns = first.schema if declared is None else parse_schema(declared)
        for number, rows in enumerate(batches):
            self._write(number, rows.select(*(col(quoted(name)) for name in columns.names)))
        options = {SOURCE: self.name, "maxFilesPerTrigger": "1"}
        rows = stream_files(self.spark, str(self.folder), "parquet", options, columns)
        return as_declared(self.connector, Found(rows=rows, schema=columns))

    def _write(self, number: int, rows: DataFrame) -> None:
        """Write a batch as one file; Spark reads files in the order of their times."""
        folder = self.folder / f"_{number}"
        rows.coalesce(1).write.parquet(str(folder))
        (file,) = folder.glob("*.parquet")
        arrived = file.rename(self.folder / f"{number}.parquet")
        shutil.rmtree(folder)
        os.utime(arrived, (number + 1, number + 1))

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Nothing arrives while the query runs."""

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:  # noqa: ARG002  # each is alike
        """Return a batch that does not change."""
        return _GivenBatch()


class _GivenBatch(BatchInput):
    """A batch, which only the query reads."""

    def check(self) -> None:
        """It has the declared columns."""

    def check_unchanged(self) -> None:
        """It does not change."""


def kept_batch(sink: Sink, rows: DataFrame) -> DataFrame:
    """Return the rows that a sink was given of a batch, so that they can be read after it.

    Raises PublicationError if they cannot be merged by their keys.
    """
    kept = rows.localCheckpoint()
    if keys := _merged_by(sink, kept):
        refuse_keys(unusable_keys(kept, keys), keys)
    return kept


def rows_of_all(sink: Sink, batches: Sequence[DataFrame]) -> DataFrame:
    """Return what a target that was empty has behind some batches; of changes of a table (`Merge`), all of them."""
    first, *others = batches
    keys = _merged_by(sink, first)
    return reduce(lambda held, rows: merge(held, rows, keys) if keys else held.union(rows), others, first)


def _merged_by(sink: Sink, rows: DataFrame) -> tuple[str, ...]:
    merges = sink.mode is SinkMode.MERGE and sink.merge is None
    return key_columns(sink.keys, rows.schema) if merges else ()
