"""Hand rows to a function of the user: at least once.

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

from graph_compiler.declaration.connectors import FunctionSink, SinkRun
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import DecisionLostError, PublicationError
from graph_compiler.identifiers import OperatorId, counted
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.columns.schema_change import TABLES_EVOLVE
from graph_compiler.spark_runtime.connectors.sink import (
    AppendedBefore,
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    claim_target,
    conform_to_target,
)
from graph_compiler.spark_runtime.driver_process import call_function
from graph_compiler.spark_runtime.publishing.rows_in_root import RowsInRoot
from graph_compiler.spark_runtime.spark_internals.stages import started_jobs
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Confirmation, Publication


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDelivery:
    """A function that will be called for a run. `prepared` is the folder of its rows."""

    connector: FunctionSink
    spark: SparkSession
    ledger: Ledger
    publication: Publication
    prepared: str

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
            raise TypeError(f"{function} returned a DataFrame, which nobody reads; it must write its rows itself")
        if found.rows and started_jobs(self.spark) == before:
            raise PublicationError(
                f"{function} has returned without reading its {counted(found.rows, 'row')}: no Spark job has run\n"
                "  allowed: a function that writes its rows before it returns, as with rows.toLocalIterator(), "
                "rows.foreachPartition(…) or rows.write"
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
        execution_id=context.execution_id,
        target=place,
        rows=0,
        bytes=0,
    )
    if own := ledger.of_this_run(place, operator_id, number):
        return AppendedBefore(
            location=location_of(connector),
            not_done="called again",
            confirmation=Confirmation.of(own[-1], instead_of=publication),
            confirm=partial(ledger.confirm, carry_out=ledger.finish),
        )
    return RowDelivery(
        connector=connector,
        spark=context.spark,
        ledger=ledger,
        publication=publication,
        prepared=layout.prepared(operator_id, context.execution_id),
    )
