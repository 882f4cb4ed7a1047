"""Write a database's table: beside it first, then into it in one transaction.

    check     columns are compared with the table's
    prepare   Spark writes a table of its own name beside the target; its rows are counted
    publish   one transaction: [DELETE FROM target]  INSERT INTO target SELECT … FROM it  DROP it
              or: MERGE INTO target USING it …  DROP it

Dropping it in the same transaction is the mark that it has been done: whoever finds the decision without it has nothing
left to do. That holds where a database's DROP and CREATE are part of a transaction (PostgreSQL); elsewhere a driver
that dies between the two leaves a publication that is carried out twice.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import col, count, lit
from pyspark.sql.types import ByteType, ShortType, StructType

from graph_compiler.declaration.connectors import Jdbc, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.preparations import PlaceKind, PreparedPlace
from graph_compiler.deployment.publications import Publication
from graph_compiler.errors import PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId, quoted
from graph_compiler.spark_runtime.column_types import check_names
from graph_compiler.spark_runtime.connectors.database import Database, sql_state
from graph_compiler.spark_runtime.connectors.once_in_a_run import AppendedBefore
from graph_compiler.spark_runtime.connectors.sink import (
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    conform_to_target,
    open_sink,
)
from graph_compiler.spark_runtime.declared_schema import type_words
from graph_compiler.spark_runtime.ledger import Ledger
from graph_compiler.spark_runtime.merge_keys import key_columns, refuse_keys
from graph_compiler.spark_runtime.observed_counts import observed_count
from graph_compiler.spark_runtime.schema_change import TABLES_EVOLVE

_DATA_IS_WRONG = ("22", "23", "42", "44")
"""Classes of SQLSTATE that say the same again next time: data, constraints, names and rights, checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePublication(Publication):
    """What one execution is about to do to a table: from the table beside it, named `staged`."""

    table: str
    staged: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    creates: bool
    replaces: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSink:
    """A table, claimed. `creates`: it is not there; `replaces`: what it holds goes."""

    database: Database
    ledger: Ledger
    publication: TablePublication

    def check(self, rows: DataFrame) -> DataFrame:
        """Compare with what is declared and with the table."""
        check_names(rows.schema)
        to, database = self.publication, self.database
        held = None if to.creates else database.schema(to.table)
        rows = _without_tinyint(rows, held)
        target = Target(name=to.table, held=held, evolves=TABLES_EVOLVE)
        rows = conform_to_target(rows, database.connector, target)
        key_columns(to.keys, rows.schema)
        if wrong := [field for field in rows.schema if not database.can_hold(field.dataType)]:
            columns = [f"\n  column '{f.name}' is {type_words(f.dataType)}" for f in wrong]
            raise PublicationError(f"{to.table} cannot hold what it would write{''.join(columns)}")
        return rows

    def prepares(self) -> PreparedPlace:
        """Give the table beside the target."""
        to = self.publication
        return PreparedPlace(kind=PlaceKind.TABLE, place=to.staged, target=to.target)

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write a table beside the target, of the target's own types where it exists."""
        to, database = self.publication, self.database
        if not to.creates:
            columns = ", ".join(map(database.quote, rows.columns))
            like = f"CREATE TABLE {to.staged} AS SELECT {columns} FROM {to.table} WHERE 1 = 0"
            database.execute(to.table, [like])
        observation = Observation()
        observed = rows.observe(observation, count(lit(1)).alias("rows"))
        observed.write.jdbc(database.url, to.staged, mode="append", properties=database.properties)
        held, sent = database.count(to.staged), observed_count(observation, "rows")
        if held != sent:
            raise PublicationConflictError(
                f"{to.staged} holds {held} rows, and {sent} were sent: Spark ran a task again that had committed"
            )
        keys = key_columns(to.keys, rows.schema)
        if keys:
            refuse_keys(database.unusable_keys(to.staged, keys), keys)
        written = replace(to, rows=held, columns=tuple(rows.columns), keys=keys)
        return PreparedSink(
            location=f"jdbc:{to.table}",
            rows=written.rows,
            bytes=0,
            publish=lambda: _publish(written, self.ledger, database),
        )

    def discard(self) -> None:
        """Drop the table beside the target."""
        if self.database.has_table(self.publication.staged):
            self.database.execute(self.publication.table, [f"DROP TABLE {self.publication.staged}"])


@open_sink.register
def _(connector: Jdbc, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    assert connector.table is not None, "the compiler refuses to write a query"
    database = Database(spark=context.spark, connector=connector)
    ledger, place = context.ledger, f"jdbc:{connector.place}"
    number = ledger.settle(place, operator_id, lambda earlier: _finish(earlier, ledger, database))
    own = ledger.of_this_run(place, operator_id, number)
    if own and sink.mode is SinkMode.APPEND:
        return AppendedBefore(location=f"jdbc:{connector.table}", earlier=own[-1])
    exists = database.has_table(connector.table)
    if exists and not own and sink.mode is SinkMode.ERROR_IF_EXISTS:
        raise PublicationError(
            f"its target {connector.table} exists\n  allowed: none, since its mode is 'error-if-exists'"
        )
    publication = TablePublication(
        number=number,
        pipeline=context.layout.pipeline,
        run_id=context.layout.run_id,
        plan_id=context.plan_id,
        operator_id=operator_id,
        execution_id=context.execution_id,
        target=place,
        rows=0,
        bytes=0,
        table=connector.table,
        staged=_beside(connector.table, context.execution_id),
        columns=(),
        keys=sink.keys,
        creates=not exists,
        replaces=exists and sink.mode not in (SinkMode.APPEND, SinkMode.MERGE),
    )
    return JdbcSink(database=database, ledger=ledger, publication=publication)


def _publish(publication: TablePublication, ledger: Ledger, database: Database) -> None:
    if publication.creates or publication.replaces:
        ledger.decide(publication)
    else:  # the database adds and merges to whatever the table holds by then
        publication = ledger.decide_behind_others(
            publication, lambda earlier: _finish(earlier, ledger, database)
        )
    try:
        _carry_out(publication, ledger, database)
    except Py4JJavaError as error:
        if sql_state(error)[:2] not in _DATA_IS_WRONG:
            raise  # the database does not answer: the decision stands, and the next attempt carries it out
        _give_up(publication, ledger, database)
        said = str(error.java_exception.getMessage())
        if publication.creates and database.has_table(publication.table):
            raise PublicationConflictError(
                f"{publication.table} was created by others since this execution began"
            ) from None
        raise PublicationError(f"{publication.table} does not take the rows: {said}") from None


def _finish(earlier: Publication, ledger: Ledger, database: Database) -> None:
    """Carry out what another execution decided, or give it up if the table does not take its rows."""
    assert isinstance(earlier, TablePublication), "a table's ledger has nothing else"
    try:
        _carry_out(earlier, ledger, database)
    except Py4JJavaError as error:
        if sql_state(error)[:2] not in _DATA_IS_WRONG:
            raise
        print(f"graph_compiler: gave up {earlier.staged}: {sql_state(error)}", file=sys.stderr)
        _give_up(earlier, ledger, database)


def _carry_out(publication: TablePublication, ledger: Ledger, database: Database) -> None:
    to = publication
    columns = ", ".join(map(database.quote, to.columns))
    if to.creates:
        statements = [f"CREATE TABLE {to.table} AS SELECT {columns} FROM {to.staged}"]
    elif to.keys:
        statements = [_merge(to, database)]
    else:
        delete = [f"DELETE FROM {to.table}"] if to.replaces else []
        insert = f"INSERT INTO {to.table} ({columns}) SELECT {columns} FROM {to.staged}"
        statements = [*delete, insert]
    if database.has_table(to.staged):
        try:
            database.execute(to.table, [*statements, f"DROP TABLE {to.staged}"])
        except Py4JJavaError:
            if database.has_table(to.staged):  # else another process has carried it out meanwhile
                raise
    ledger.finish(to)


def _merge(to: TablePublication, database: Database) -> str:
    """Write standard SQL's MERGE; its aliases are names that no database keeps for itself."""
    quote = database.quote
    on = " AND ".join(f"t_old.{quote(key)} = t_new.{quote(key)}" for key in to.keys)
    others = [quote(name) for name in to.columns if name not in to.keys]
    update = ", ".join(f"{name} = t_new.{name}" for name in others)
    matched = [f"WHEN MATCHED THEN UPDATE SET {update}"] if others else []
    columns = ", ".join(map(quote, to.columns))
    values = ", ".join(f"t_new.{quote(name)}" for name in to.columns)
    added = f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})"
    return " ".join(
        [f"MERGE INTO {to.table} t_old USING {to.staged} t_new ON ({on})", *matched, added]
    )


def _give_up(publication: TablePublication, ledger: Ledger, database: Database) -> None:
    ledger.give_up(publication)
    database.execute(publication.table, [f"DROP TABLE IF EXISTS {publication.staged}"])


def _beside(table: str, execution_id: str) -> str:
    """Name a table in the target's schema that no other execution writes; some databases cut names at 30 letters."""
    schema, dot, _ = table.rpartition(".")
    digest = hashlib.sha256(f"{table}\0{execution_id}".encode()).hexdigest()
    return f"{schema}{dot}graph_compiler_{digest[:14]}"


def _without_tinyint(rows: DataFrame, held: StructType | None) -> DataFrame:
    """Take TINYINT for SMALLINT where the table has that: databases without the type hold it so."""
    small = {f.name.lower() for f in held or () if isinstance(f.dataType, ShortType)}
    tiny = {
        field.name: col(quoted(field.name)).cast(ShortType())
        for field in rows.schema
        if isinstance(field.dataType, ByteType) and field.name.lower() in small
    }
    return rows.withColumns(tiny) if tiny else rows
