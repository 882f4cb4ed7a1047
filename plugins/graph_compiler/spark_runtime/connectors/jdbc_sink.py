"""Write a database's table: first a table beside it, then, in one transaction, the table itself.

    check     columns are compared with the table's
    prepare   Spark writes a new table beside the target; its rows are counted
    publish   one transaction: mark  [DELETE FROM target]  INSERT INTO target SELECT … FROM it  DROP it
              or: mark  MERGE INTO target USING it …  DROP it

The mark records that it was done: `databases/carrying.py`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import col, concat, count, expr, raise_error, when
from pyspark.sql.types import (
    ByteType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Jdbc, SinkMode
from graph_compiler.declaration.connectors.connector import TABLES_EVOLVE
from graph_compiler.declaration.connectors.jdbc_url import database_kind
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId, quoted
from graph_compiler.spark_runtime.columns.column_types import check_names
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.carrying import (
    MarkedPublication,
    Refusal,
    TablePublication,
    carry_out,
    discard_staged,
    give_up,
    marks_of,
)
from graph_compiler.spark_runtime.connectors.databases.foreign_keys import refuse_delete_of_others
from graph_compiler.spark_runtime.connectors.databases.resolving import OURS, is_there, resolve
from graph_compiler.spark_runtime.connectors.databases.sql_errors import (
    database_words,
    is_changed_session,
    refuses_rows,
)
from graph_compiler.spark_runtime.connectors.sink import (
    AppendedBefore,
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    claim_target,
    conform_to_target,
    refuse_another_zone,
    refuse_rows_of_others,
)
from graph_compiler.spark_runtime.publishing.format_values import key_columns, refuse_keys, watch_sent_values
from graph_compiler.spark_runtime.spark_internals.executed_queries import observed_count
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError, lit
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.preparations import PlaceKind, PreparedPlace
from graph_compiler.staging.publications.publications import Confirmation, Publication

LOG = program_log.logger(__name__)
_DATABASE_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of a column's metadata in which Spark keeps the name of its type in the database."""
_TEXT = re.compile(r"(?P<varying>var)?char\((?P<length>\d+)\)")
_MOST_DIGITS = 6
"""Of a second, in Spark."""
_POOLED = (
    "the database of {} is behind a pooler that changes the session between transactions: {}\n"
    "  hint: prepareThreshold=0 among the parameters of its url; no row was published"
)
_ROUNDING = frozenset(
    {
        ("oracle", "NUMBER(19, 4)"),
        ("sqlserver", "DATETIME"),
        *((database, kind) for database in ("mysql", "mariadb") for kind in ("TIMESTAMP", "DATETIME")),
    }
)
"""Types of columns that Spark's dialects create for DOUBLE, TIMESTAMP and TIMESTAMP_NTZ, with too few digits."""
_MOST_SHOWN = 100
"""How many characters of a value are in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSink:
    """A table whose next publication is claimed. `creates`: it does not exist; `replaces`: its rows are removed."""

    database: Database
    ledger: Ledger
    publication: MarkedPublication

    @property
    def target(self) -> str:
        """Return the target as the ledger names it."""
        return self.publication.target

    @property
    def name(self) -> str:
        """Return the table's declared name."""
        return str(self.database.connector.table)

    def check(self, rows: DataFrame) -> DataFrame:
        """Check the rows against the declared schema and the table."""
        check_names(rows.schema)
        to, database = self.publication, self.database
        held = None if to.creates else database.schema(to.table)
        rows = _without_tinyint(rows, held)
        target = Target(name=self.name, held=held, evolves=TABLES_EVOLVE)
        rows = conform_to_target(rows, database.connector, target)
        rows = _held_as_they_are(rows, _declared(rows.schema, database) if held is None else held, database)
        key_columns(to.keys, rows.schema)
        types = {field: database.type_of(field.dataType) for field in rows.schema}
        if wrong := [field for field, kind in types.items() if kind is None]:
            columns = [f"\n  column '{f.name}' is {type_words(f.dataType)}" for f in wrong]
            raise PublicationError(f"{self.name} cannot hold what it would write{''.join(columns)}")
        if held is None:
            _refuse_rounding(self.name, types, database_kind(database.url))
        if not (to.creates or to.replaces):
            refuse_another_zone(database.spark, self.ledger, to.target, to.number, rows.schema)
        return rows

    def prepares(self) -> PreparedPlace:
        """Return the table beside the target."""
        to = self.publication
        return PreparedPlace(kind=PlaceKind.TABLE, place=to.staged, target=to.target)

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write a table beside the target, with the target's types if the target exists."""
        to, database = self.publication, self.database
        if not to.creates:
            columns = ", ".join(map(database.quote, rows.columns))
            like = f"CREATE TABLE {to.staged} AS SELECT {columns} FROM {to.table} WHERE 1 = 0"
            database.execute([like])
        observation, watched = Observation(), watch_sent_values(rows, self.name)
        observed = watched.rows.observe(observation, count(lit(1)).alias("rows"))
        try:
            observed.write.jdbc(database.url, to.staged, mode="append", properties=database.properties)
        except Py4JJavaError as error:
            if is_changed_session(error):
                raise PublicationError(_POOLED.format(self.name, database_words(error))) from error
            if refuses_rows(error):
                words = f"{self.name} does not take the rows: {database_words(error)}"
                raise PublicationError(words) from error
            raise
        held, sent = database.count(to.staged), observed_count(observation, "rows")
        if held != sent:
            raise PublicationConflictError(
                f"{to.staged} holds {held} rows, but {sent} were sent: Spark ran a committed task again"
            )
        watched.check()
        keys = key_columns(to.keys, rows.schema)
        if keys:
            refuse_keys(database.unusable_keys(to.staged, keys), keys)
        written = replace(to, rows=held, columns=tuple(rows.columns), keys=keys)
        return PreparedSink(
            location=f"jdbc:{self.name}",
            rows=written.rows,
            bytes=0,
            publish=lambda: _publish(written, self.ledger, database),
        )

    def discard(self) -> None:
        """Drop the table beside the target."""
        discard_staged(self.publication, self.database)


@claim_target.register
def _(connector: Jdbc, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    database = Database(spark=context.spark, connector=connector)
    ledger, table = context.ledger, resolve(database)
    mark = secrets.token_hex(16)
    publication = MarkedPublication(
        number=0,
        identity=context.layout.identity,
        plan_id=context.plan_id,
        operator_id=operator_id,
        execution_id=context.writer_id,
        batch=context.batch,
        target=f"jdbc:{table.place}",
        rows=0,
        bytes=0,
        table=table.name,
        staged=table.beside(f"{OURS}{mark[:14]}"),  # some databases cut names at 30 characters
        columns=(),
        keys=sink.keys,
        creates=False,
        replaces=False,
        mark=mark,
    )
    marks_of(publication, database).make_ready()
    finish = partial(_finish, ledger=ledger, database=database)
    number, own = _settle(publication, connector, ledger, finish)
    if sink.mode is SinkMode.OVERWRITE:
        ledger.refuse_rows_of_this_dag_run(publication.target, number)
    publication = replace(publication, number=number)
    if own and sink.mode is SinkMode.APPEND:
        return AppendedBefore.of(
            f"jdbc:{connector.table}", Confirmation.of(own[-1], instead_of=publication), ledger, finish
        )
    exists = table.exists or is_there(database, table.name)  # others may have created it
    if exists and sink.mode is SinkMode.ERROR_IF_EXISTS:
        refuse_rows_of_others(
            str(connector.table),
            own,
            ledger,
            target=publication.target,
            before=number,
            count=lambda: database.count(table.name),
        )
    adds = sink.mode in (SinkMode.APPEND, SinkMode.MERGE)
    publication = replace(publication, creates=not exists, replaces=exists and not adds)
    if publication.replaces and (sink.mode is SinkMode.OVERWRITE or own):  # otherwise it is empty
        refuse_delete_of_others(database, table.name)
    return JdbcSink(database=database, ledger=ledger, publication=publication)


def _settle(
    new: MarkedPublication, connector: Jdbc, ledger: Ledger, finish: Callable[[Publication], None]
) -> tuple[int, tuple[Publication, ...]]:
    """Finish what others began; return the next number, and what this run has published.

    Also look under the declared name, which was the ledger's key before tables were resolved.
    """
    own: tuple[Publication, ...] = ()
    for place in (f"jdbc:{connector.place}", new.target):
        number = ledger.settle(place, new.operator_id, finish)
        own += ledger.of_this_run(place, new.operator_id, number)
    return number, own


def _publish(publication: MarkedPublication, ledger: Ledger, database: Database) -> None:
    if publication.creates or publication.replaces:
        ledger.decide(publication)
    else:  # the database adds to, or merges with, the rows that the table has by then
        finish = partial(_finish, ledger=ledger, database=database)
        publication = ledger.decide_behind_others(publication, finish)
    try:
        refused = _carry_out(publication, ledger, database)
    except PublicationConflictError:  # the mark in the database shows that it was given up
        ledger.give_up(publication)
        raise
    if refused is None:
        return
    if publication.creates and is_there(database, publication.table):
        raise PublicationConflictError(f"{publication.table} was created by others since this execution began")
    if refused.keeps_old_rows:
        raise PublicationConflictError(f"{publication.table} keeps its old rows: {refused.words}")
    if refused.is_change:
        raise PublicationConflictError(
            f"{publication.table} was changed by others since this execution began: {refused.words}"
        )
    raise PublicationError(f"{publication.table} does not take the rows: {refused.words}")


def _finish(earlier: Publication, ledger: Ledger, database: Database) -> None:
    """Carry out what another execution decided, or give it up if the table refuses its rows."""
    assert isinstance(earlier, TablePublication), "a table's ledger has nothing else"
    refused = _carry_out(earlier, ledger, database)
    if refused is not None:
        LOG.warning("gave up %s: %s", earlier.staged, refused.words)


def _carry_out(to: TablePublication, ledger: Ledger, database: Database) -> Refusal | None:
    """Carry out and record that; return why it was given up. Temporary errors are raised: the decision stands."""
    refused = carry_out(to, database)
    if refused is not None and give_up(to, database):
        ledger.give_up(to)
        return refused
    ledger.finish(to)
    return None


def _held_as_they_are(rows: DataFrame, held: StructType, database: Database) -> DataFrame:
    """Fail for values that the table's columns would round or cut, although Spark has the same type for both."""
    checked = {}
    for field in held:
        value = col(quoted(field.name))
        for condition, kind in _limits(field, database_kind(database.url)):
            words = (
                f"column '{field.name}' is {kind} in the database, in table "
                f"{database.connector.table}, and cannot hold "
            )
            lost = concat(lit(words), value.cast("string").substr(1, _MOST_SHOWN))
            fits = value.isNull() | expr(condition.format(value=quoted(field.name)))
            value = when(fits, value).otherwise(raise_error(lost).cast(field.dataType))
            checked[field.name] = value
    return rows.withColumns(checked) if checked else rows


def _declared(columns: StructType, database: Database) -> StructType:
    """Return the texts of a new table whose length its createTableColumnTypes limits.

    Raises PublicationError for other types than those of the columns: the database would convert values.
    """
    declared = database.option("createTableColumnTypes")
    written = {field.name.lower(): field for field in columns}
    limited = []
    for field in parse_schema(declared) if declared else ():
        own = written.get(field.name.lower())
        if own is None or field.dataType == own.dataType:
            continue
        if not (isinstance(own.dataType, StringType) and isinstance(field.dataType, VarcharType)):
            raise PublicationError(
                f"createTableColumnTypes makes column '{own.name}' {type_words(field.dataType)}, but its values are "
                f"{type_words(own.dataType)}: the database could change them\n"
                "  allowed: the type of its values; VARCHAR(n) for texts\n"
                "  hint: cast the column before the sink"
            )
        kind = {_DATABASE_TYPE: f"varchar({field.dataType.length})"}
        limited.append(StructField(own.name, own.dataType, metadata=kind))
    return StructType(limited)


def _refuse_rounding(table: str, types: Mapping[StructField, str | None], database: str) -> None:
    """Raise PublicationError for columns of a new table that would not hold each value."""
    rounded = [
        f"  column '{field.name}' is {type_words(field.dataType)}, and would be {kind}"
        for field, kind in types.items()
        if (database, kind) in _ROUNDING
    ]
    if rounded:
        hint = f"  hint: create {table} in the database, with columns that hold each value"
        raise PublicationError("\n".join([f"{table} would be created with columns that round", *rounded, hint]))


def _limits(field: StructField, database: str) -> Iterator[tuple[str, str]]:
    """Yield conditions for what a column holds, each with the column's type in the database.

    Databases cut blanks at the end of text that is too long for VARCHAR, and refuse other text without the column's
    name. How many digits of a second a
    column holds is only known for PostgreSQL. Spark reads a TIME as a TIMESTAMP of 1970-01-01.
    """
    about = field.metadata
    if found := _TEXT.fullmatch(about.get(_DATABASE_TYPE, "")):
        # Blanks at the end of a CHAR mean nothing.
        text = "{value}" if found["varying"] else "rtrim({value})"
        yield f"char_length({text}) <= {found['length']}", found[0].upper()
    if database != "postgresql" or not isinstance(field.dataType, TimestampType | TimestampNTZType):
        return
    name = "TIME" if about.get("logical_time_type") else "TIMESTAMP"
    if (digits := int(about.get("scale", _MOST_DIGITS))) < _MOST_DIGITS:
        moment = "unix_micros(CAST({value} AS TIMESTAMP))"
        yield f"{moment} % {10 ** (_MOST_DIGITS - digits)} = 0", f"{name}({digits})"
    if name == "TIME":
        yield "to_date({value}) = DATE'1970-01-01'", name


def _without_tinyint(rows: DataFrame, held: StructType | None) -> DataFrame:
    """Replace TINYINT by SMALLINT if the table has SMALLINT: databases without TINYINT store it so."""
    small = {f.name.lower() for f in held or () if isinstance(f.dataType, ShortType)}
    tiny = {
        field.name: col(quoted(field.name)).cast(ShortType())
        for field in rows.schema
        if isinstance(field.dataType, ByteType) and field.name.lower() in small
    }
    return rows.withColumns(tiny) if tiny else rows
