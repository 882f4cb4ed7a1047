"""New rows of a database: those whose column is higher than before.

    SELECT MAX(updated_at), SUM(CASE WHEN updated_at IS NULL THEN 1 ELSE 0 END) FROM orders
    WHERE updated_at > TIMESTAMP '2013-01-01 00:00:00' OR updated_at IS NULL

This query comes before the snapshot that the rows are read from. So a row that is committed in between, with a value up
to the highest one, is read. One that is committed later, with a lower value than was read, never is: `lag` leaves the
newest values for the next run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.deployment.documents.position import ColumnBounds
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.staging.positions.position_log import PositionError

LOG = program_log.logger(__name__)
_NUMBER, _DATE, _TIMESTAMP = "number", "DATE", "TIMESTAMP"
_WITH_ZONE = ("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE")
_KINDS = {**dict.fromkeys((-6, -5, 2, 3, 4, 5), _NUMBER), 91: _DATE, 93: _TIMESTAMP, 2014: _WITH_ZONE[1]}
"""How a value is written in SQL, by java.sql.Types; a DOUBLE is not exact."""
_ALLOWED = "a column of whole numbers, decimals, dates or timestamps"
_ROWS = "graph_compiler_rows"


def new_rows(
    connector: Jdbc, spark: SparkSession, column: str, lag: timedelta | int, known: ColumnBounds | None
) -> ColumnBounds:
    """Return the bounds of the rows that are above the known ones.

    Raises PositionError for a column of another type, for NULLs, and for a lag of another kind than the column.
    """
    database = Database(spark=spark, connector=connector)
    name, table = database.name(column), _table(connector, database)
    lower = None if known is None else known.upper
    above = "" if known is None or lower is None else f" WHERE {name} > {_literal(known.kind, lower)} OR {name} IS NULL"
    nulls = f"SUM(CASE WHEN {name} IS NULL THEN 1 ELSE 0 END)"
    with database.session() as connection:
        answer = connection.createStatement().executeQuery(f"SELECT MAX({name}), {nulls} FROM {table}{above}")
        answer.next()
        columns = answer.getMetaData()
        code, type_name = int(columns.getColumnType(1)), str(columns.getColumnTypeName(1))
        highest, without = answer.getString(1), int(answer.getLong(2))
    kind = _kind(code, type_name, column)
    if known is not None and lower is not None and known.kind != kind:
        raise PositionError(
            f"column '{column}' was a {known.kind}, and is a {type_name} now\n  allowed: the same kind of values"
        )
    if without:
        raise PositionError(
            f"{counted(without, 'row')} of {table} {'has' if without == 1 else 'have'} no value in '{column}': no run "
            "would ever read them\n"
            f"  hint: give them a value; or leave them out on purpose: query='SELECT … WHERE {column} IS NOT NULL'"
        )
    if highest is None:
        return ColumnBounds(kind=kind, lower=lower, upper=lower)
    if kind == _DATE and not lag:
        LOG.warning(
            "column '%s' is a DATE: rows of %s that come later will not be read. lag='1 day' leaves that day for the "
            "next run",
            column,
            highest,
        )
    upper = _behind(str(highest), kind, lag, column)
    is_above = lower is None or _value(upper, kind) > _value(lower, kind)  # type: ignore[operator]  # of the same kind
    return ColumnBounds(kind=kind, lower=lower, upper=upper if is_above else lower)


def pinned_rows(connector: Jdbc, spark: SparkSession, column: str, bounds: ColumnBounds) -> Jdbc:
    """Return a source that reads exactly the rows within bounds."""
    database = Database(spark=spark, connector=connector)
    name = database.name(column)
    conditions = ["1 = 0"]
    if bounds.upper is not None and not bounds.is_empty:
        conditions = [f"{name} <= {_literal(bounds.kind, bounds.upper)}"]
        if bounds.lower is not None:
            conditions.insert(0, f"{name} > {_literal(bounds.kind, bounds.lower)}")
    query = f"SELECT * FROM {_table(connector, database)} WHERE {' AND '.join(conditions)}"
    return replace(connector, table=None, query=query)


def _table(connector: Jdbc, database: Database) -> str:
    return f"({connector.query}) {_ROWS}" if connector.table is None else database.name(connector.table)


def _kind(code: int, type_name: str, column: str) -> str:
    if type_name.upper() in _WITH_ZONE:
        return type_name.upper()
    if code not in _KINDS:
        raise PositionError(f"column '{column}' is a {type_name}\n  allowed: {_ALLOWED}")
    return _KINDS[code]


def _literal(kind: str, text: str) -> str:
    """Return a bound as SQL; it came from the database, but a document may have been changed."""
    _value(text, kind)
    return text if kind == _NUMBER else f"{kind} '{text}'"


def _value(text: str, kind: str) -> Decimal | datetime | date:
    """Return a bound as a value that can be compared; raises PositionError for infinity and the like."""
    try:
        if kind == _NUMBER:
            number = Decimal(text)
            if not number.is_finite():
                raise ValueError(text)
            return number
        return date.fromisoformat(text) if kind == _DATE else datetime.fromisoformat(text)
    except (ValueError, InvalidOperation):
        raise PositionError(
            f"the highest value is {text!r}: no later row could be above it\n"
            "  allowed: finite values, of the years 1 to 9999"
        ) from None


def _behind(highest: str, kind: str, lag: timedelta | int, column: str) -> str:
    """Return the upper bound: the highest value, less the lag."""
    value = _value(highest, kind)
    if not lag:
        return highest
    if isinstance(value, Decimal) and isinstance(lag, int):
        return str(value - lag)
    if isinstance(value, date) and isinstance(lag, timedelta):
        if kind == _DATE and lag % timedelta(days=1):
            raise PositionError(f"column '{column}' is a DATE, and lag is {lag}\n  allowed: whole days, as '1 day'")
        behind = value - lag
        return behind.isoformat(sep=" ") if isinstance(behind, datetime) else behind.isoformat()
    noun = "numbers" if isinstance(value, Decimal) else "times"
    raise PositionError(
        f"column '{column}' has {noun}, and lag is {lag}\n  allowed: a length of time for times, a number for numbers"
    )
