"""Rows that are not stored: values, ranges, and what functions return, or are called with.

A function as a sink is called at least once:

    check     columns are compared with the declared ones
    prepare   rows are written to the staging root as Parquet, and counted
    publish   the function is called with them; then it is recorded that this run has delivered its rows

Whether a function that did not return has delivered something is not known, so nothing is decided before it is called:
each attempt of the run calls it again, with the rows that it has computed, until one of them records that it returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, timestamp_millis
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from graph_compiler.declaration.connectors import FunctionSink, FunctionSource, Range, Rate, SinkRun, Values
from graph_compiler.declaration.connectors.connector import TABLES_EVOLVE
from graph_compiler.declaration.connectors.memory import Cell
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import DecisionLostError, PublicationError, SchemaChangedError
from graph_compiler.identifiers import OperatorId, counted, quoted, shown
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words
from graph_compiler.spark_runtime.columns.exact_casts import exact_cast
from graph_compiler.spark_runtime.connectors.sink import (
    AppendedBefore,
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    claim_target,
    conform_to_target,
)
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.driver_process import call_function
from graph_compiler.spark_runtime.publishing.rows_in_root import RowsInRoot
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.stages import started_jobs
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Confirmation, Publication


@read.register
def _(connector: Values, reading: Reading) -> Found:
    assert connector.schema is not None, "the compiler refuses values without schema"
    schema = parse_schema(connector.schema)
    texts = StructType([StructField(field.name, _written_as(field.dataType)) for field in schema])
    rows = [tuple(map(_text, row, schema)) for row in connector.rows]
    columns = [
        exact_cast(col(quoted(field.name)), _written_as(field.dataType), field.dataType).alias(field.name)
        for field in schema
    ]
    return Found(rows=reading.spark.createDataFrame(rows, texts).select(*columns), schema=schema)


def _written_as(kind: DataType) -> DataType:
    return ArrayType(StringType()) if isinstance(kind, ArrayType) else StringType()


def _text(cell: Cell, field: StructField) -> object:
    """Return a cell as text, and a list as texts; raises SchemaChangedError for a list in another column, or none."""
    is_list = isinstance(cell, tuple)
    if cell is not None and is_list != isinstance(field.dataType, ArrayType):
        raise SchemaChangedError(
            f"the cell {shown(cell)} is {'' if is_list else 'not '}a list, and column '{field.name}' is "
            f"{type_words(field.dataType)}"
        )
    if isinstance(cell, tuple):
        return [None if item is None else _plain_text(item) for item in cell]
    return None if cell is None else _plain_text(cell)


def _plain_text(value: object) -> str:
    """Return the text that Spark's cast has for a boolean, and Python's for any other value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@read.register
def _(connector: Range, reading: Reading) -> Found:
    rows = reading.spark.range(connector.start, connector.end, connector.step)
    return Found(rows=rows, schema=rows.schema)


@read.register
def _(connector: Rate, reading: Reading) -> Found:
    time = timestamp_millis(lit(connector.start_milliseconds))
    rows = reading.spark.range(connector.rows_per_batch).select(time.alias("timestamp"), col("id").alias("value"))
    return Found(rows=rows, schema=rows.schema)


@read.register
def _(connector: FunctionSource, reading: Reading) -> Found:
    rows = call_function(connector.function.load(), reading.spark)
    if not isinstance(rows, DataFrame):
        raise TypeError(f"{connector.function} returned a {type(rows).__name__}; it must return a DataFrame")
    if rows.isStreaming:
        if reading.scans:
            raise TypeError(f"{connector.function} returned a stream, and its source ends; allowed: unbounded=True")
        rows = reading.spark.createDataFrame([], rows.schema)  # of a plan that is not run
    return Found(rows=rows, schema=rows.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDelivery:
    """A function that will be called for a run. `prepared` is the folder of its rows."""

    connector: FunctionSink
    spark: SparkSession
    ledger: Ledger
    publication: Publication
    prepared: str

    @property
    def target(self) -> None:
        """Return nothing: the ledger learns of a call after it, so it cannot tell that none was made."""

    def check(self, rows: DataFrame) -> DataFrame:
        """Check the rows against the declared schema."""
        check_names(rows.schema)
        rows = conform_to_target(rows, self.connector, Target(name="", held=None, evolves=TABLES_EVOLVE))
        check_columns(rows.schema, "parquet", ())
        return rows

    def prepares(self) -> None:
        """Return nothing: the rows are in the run's folder."""

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write the rows to the staging root: the function may read them any number of times."""
        found = RowsInRoot.write(rows, self.ledger.store, self.prepared)
        return PreparedSink(
            location=location_of(self.connector),
            rows=found.rows,
            bytes=found.bytes,
            publish=partial(self._publish, found),
        )

    def discard(self) -> None:
        """Remove the prepared files."""
        self.ledger.store.delete(self.prepared)

    def _publish(self, found: RowsInRoot) -> None:
        try:
            self._refuse_if_delivered()
            self._call(found)
        finally:
            self.discard()
        written = replace(self.publication, rows=found.rows, bytes=found.bytes)
        self.ledger.finish(self.ledger.decide_behind_others(written, self.ledger.finish))

    def _refuse_if_delivered(self) -> None:
        """Raise DecisionLostError if another attempt of this run has delivered its rows since this one began."""
        own = self.publication
        now = self.ledger.settle(own.target, own.operator_id, self.ledger.finish, own.execution_id)
        if self.ledger.of_this_run(own.target, own.operator_id, now, since=own.number):
            raise DecisionLostError(
                f"another attempt of this run has delivered its rows to {location_of(self.connector)}; this one "
                "delivers nothing"
            )

    def _call(self, found: RowsInRoot) -> None:
        identity = self.publication.identity
        run = SinkRun(
            id=f"{identity.owner}/{identity.run_id}/{self.publication.operator_id}",
            attempt_id=self.publication.execution_id,
            pipeline=identity.owner,
            run_id=identity.run_id,
        )
        rows, before = found.read(self.spark), started_jobs(self.spark)
        returned = call_function(self.connector.function.load(), rows, run)
        function = self.connector.function
        if isinstance(returned, DataFrame):
            raise TypeError(f"{function} returned a DataFrame, which is not read; it must write its rows itself")
        if found.rows and started_jobs(self.spark) == before:
            raise PublicationError(
                f"{function} has returned without reading its {counted(found.rows, 'row')}: no Spark job has run\n"
                "  allowed: a function that writes its rows before it returns, as with rows.foreachPartition(…) or "
                "rows.write"
            )


def location_of(connector: FunctionSink) -> str:
    """Return where rows go, in reports."""
    return f"function {connector.function} (at least once)"


@claim_target.register
def _(connector: FunctionSink, operator_id: OperatorId, _: Sink, context: SinkContext) -> OpenSink:
    ledger, layout = context.ledger, context.layout
    place = f"function sink {layout.identity.owner}/{operator_id}"
    number = ledger.settle(place, operator_id, ledger.finish)
    publication = Publication(
        number=number,
        identity=layout.identity,
        plan_id=context.plan_id,
        operator_id=operator_id,
        execution_id=context.writer_id,
        batch=context.batch,
        target=place,
        rows=0,
        bytes=0,
    )
    if own := ledger.of_this_run(place, operator_id, number):
        confirmation = Confirmation.of(own[-1], instead_of=publication)
        sink = AppendedBefore.of(location_of(connector), confirmation, ledger, ledger.finish)
        return replace(sink, not_done="called again")
    return RowDelivery(
        connector=connector,
        spark=context.spark,
        ledger=ledger,
        publication=publication,
        prepared=layout.prepared(operator_id, context.writer_id),
    )
