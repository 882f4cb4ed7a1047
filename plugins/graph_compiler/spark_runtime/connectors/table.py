"""Read and write tables of Spark's catalog.

check     columns are compared with the table's
prepare   rows are written to the staging root as Parquet, and counted
publish   Spark inserts them: not atomic, and repeated by the next attempt if the driver dies meanwhile
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructType

from graph_compiler.declaration.connectors import OnSchemaChange, SinkMode, Table
from graph_compiler.declaration.connectors.connector import TABLES_EVOLVE, ChangeKind
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.wire import ABSENT
from graph_compiler.errors import PublicationError, SchemaChangedError
from graph_compiler.identifiers import OperatorId, listing
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.columns.schema_change import Expectation, Part, conform
from graph_compiler.spark_runtime.connectors.sink import (
    AppendedBefore,
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    claim_target,
    conform_to_target,
    refuse_rows_of_others,
)
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.publishing.rows_in_root import RowsInRoot
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Confirmation, Publication

_REPLACES_THE_WHOLE = {"spark.sql.sources.partitionOverwriteMode": "static"}
"""With "dynamic", partitions without new rows would keep their old ones; `insertInto` ignores the writer's option."""
_REFUSALS = (PySparkException, SchemaChangedError)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPublication(Publication):
    """What one execution is about to insert: the Parquet files in `prepared`, all of them if `files` is None."""

    prepared: str
    replaces: bool
    attempt_columns: tuple[str, ...]
    files: tuple[str, ...] | None = field(default=None, metadata={ABSENT: None})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSink:
    """A table of the catalog whose next publication is claimed."""

    connector: Table
    spark: SparkSession
    ledger: Ledger
    publication: InsertPublication

    @property
    def target(self) -> str:
        """Return the target as the ledger names it."""
        return self.publication.target

    def check(self, rows: DataFrame) -> DataFrame:
        """Check the rows against the declared schema and the table."""
        check_names(rows.schema)
        exists = self.spark.catalog.tableExists(self.connector.name)
        held = self.spark.table(self.connector.name).schema if exists else None
        held = _without_attempt(self.connector, rows, held)
        target = Target(name=f"table {self.connector.name}", held=held, evolves=TABLES_EVOLVE)
        rows = conform_to_target(rows, self.connector, target)
        check_columns(rows.schema, "parquet", ())
        return rows

    def prepares(self) -> None:
        """Return nothing: the rows are in the run's folder."""

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write the rows to the staging root, where they survive the driver."""
        found = RowsInRoot.write(rows, self.ledger.store, self.publication.prepared)
        written = replace(self.publication, rows=found.rows, bytes=found.bytes, files=found.files)
        return PreparedSink(
            location=self.connector.name,
            rows=written.rows,
            bytes=written.bytes,
            publish=partial(self._publish, written),
        )

    def discard(self) -> None:
        """Remove the prepared files."""
        self.ledger.store.delete(self.publication.prepared)

    def _publish(self, publication: InsertPublication) -> None:
        if publication.replaces:
            self.ledger.decide(publication)
        else:
            finish = partial(_finish, connector=self.connector, spark=self.spark, ledger=self.ledger)
            publication = self.ledger.decide_behind_others(publication, finish)
        try:
            _carry_out(publication, self.connector, self.spark, self.ledger)
        except _REFUSALS:  # the rows would be refused again: later runs must not wait for them
            self.ledger.give_up(publication)
            raise


@read.register
def _(connector: Table, reading: Reading) -> Found:
    options = reveal_all(connector.spark_options())
    rows = reading.spark.read.options(**options).table(connector.name)
    return Found(rows=rows, schema=rows.schema)


@claim_target.register
def _(connector: Table, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    ledger, place = context.ledger, str(connector.place)
    finish = partial(_finish, connector=connector, spark=context.spark, ledger=ledger)
    number = ledger.settle(place, operator_id, finish)
    if sink.mode is SinkMode.OVERWRITE:
        ledger.refuse_rows_of_this_dag_run(place, number)
    own = ledger.of_this_run(place, operator_id, number)
    publication = InsertPublication(
        number=number,
        identity=context.layout.identity,
        plan_id=context.plan_id,
        operator_id=operator_id,
        execution_id=context.writer_id,
        batch=context.batch,
        target=place,
        rows=0,
        bytes=0,
        prepared=context.layout.prepared(operator_id, context.writer_id),
        replaces=sink.mode is not SinkMode.APPEND,
        attempt_columns=connector.attempt_columns,
    )
    if own and sink.mode is SinkMode.APPEND:
        return AppendedBefore.of(connector.name, Confirmation.of(own[-1], instead_of=publication), ledger, finish)
    exists = context.spark.catalog.tableExists(connector.name)
    if exists and sink.mode is SinkMode.ERROR_IF_EXISTS:
        refuse_rows_of_others(
            connector.name, own, ledger, target=place, before=number, count=context.spark.table(connector.name).count
        )
    return TableSink(connector=connector, spark=context.spark, ledger=ledger, publication=publication)


def _without_attempt(connector: Table, rows: DataFrame, held: StructType | None) -> StructType | None:
    """Return the table's columns without those that identify attempts: this sink fills them in."""
    ours = {name.lower() for name in connector.attempt_columns}
    if taken := [name for name in rows.columns if name.lower() in ours]:
        raise PublicationError(f"its rows have {listing(taken)}, which run_column and attempt_column name")
    if held is None:
        return None
    there = {field.name.lower() for field in held if field.dataType == StringType()}
    if missing := [name for name in connector.attempt_columns if name.lower() not in there]:
        raise PublicationError(
            f"table {connector.name} has no STRING column {listing(missing)}\n"
            f"  hint: ALTER TABLE {connector.name} ADD COLUMNS ({' STRING, '.join(missing)} STRING)"
        )
    return StructType([field for field in held if field.name.lower() not in ours])


def _finish(earlier: Publication, *, connector: Table, spark: SparkSession, ledger: Ledger) -> None:
    """Carry out what another execution decided, or give it up if its rows are refused."""
    assert isinstance(earlier, InsertPublication), "a table's ledger has nothing else"
    try:
        _carry_out(earlier, connector, spark, ledger)
    except _REFUSALS:
        ledger.give_up(earlier)


def _as_table(rows: DataFrame, schema: StructType, name: str) -> DataFrame:
    """Return the columns and the fields of structs in the table's order: Spark inserts all by position.

    Raises SchemaChangedError if the table was altered since the rows were checked.
    """
    expectation = Expectation(
        schema=schema,
        policy=OnSchemaChange.EVOLVE,
        evolves=frozenset({ChangeKind.NARROWED, ChangeKind.NULLABLE}),
        target=f"table {name}",
        is_sink=True,
    )
    return conform([Part(rows=rows, schema=rows.schema)], expectation)


def _carry_out(publication: InsertPublication, connector: Table, spark: SparkSession, ledger: Ledger) -> None:
    rows = RowsInRoot(folder=publication.prepared, files=publication.files).read(spark)
    run = f"{publication.identity.owner}/{publication.identity.run_id}"
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    said = zip(publication.attempt_columns, (run, now), strict=False)
    rows = rows.withColumns({name: lit(text) for name, text in said})
    options = reveal_all(connector.spark_options())
    if spark.catalog.tableExists(connector.name):
        rows = _as_table(rows, spark.table(connector.name).schema, connector.name)
        writer = rows.write.options(**options)
        with pinned(spark, _REPLACES_THE_WHOLE):
            writer.insertInto(connector.name, overwrite=publication.replaces)
    else:
        rows.write.options(**options).saveAsTable(connector.name)
    ledger.finish(publication)
    ledger.store.delete(publication.prepared)
