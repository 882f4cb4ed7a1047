"""Readers of a database agree: one snapshot for everything that a region reads, in any number of reads and splits.

    driver      BEGIN REPEATABLE READ; SELECT pg_export_snapshot()     stays open until the region has ended
    each task   SET TRANSACTION SNAPSHOT '…'; SELECT … FROM orders      by Spark's sessionInitStatement

PostgreSQL can share a snapshot between connections. In other databases, two queries may see two states, so a source
that is read more than once is refused, unless its declaration accepts that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import Connector, Jdbc
from graph_compiler.declaration.connectors.connector import as_pairs
from graph_compiler.errors import RepeatedReadError
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.sql_errors import database_words, is_refusal
from graph_compiler.spark_runtime.secret_values import reveal
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError

Pin = Callable[[Connector, int, int | None], Connector]
"""Makes all reads of a source see the same rows; takes the source, the number of reads, and its parallelism."""
_INIT = "sessioninitstatement"
_TRANSACTION = re.compile(
    r"(^|;)\s*(begin|start|commit|end|rollback|abort|prepare\s+transaction|set\s+transaction)\b", re.I
)
_CHOOSES_HOST = re.compile("targetServerType|loadBalanceHosts|socketFactory|service|PGHOST|PGDBNAME|PGPORT", re.I)
_LONGEST_IDLE = "1d"
_DECIDED_BY_SPARK = {
    f"pushDown{what}": "false" for what in ("Predicate", "Aggregate", "Limit", "Offset", "TableSample", "Join")
}
"""Options with which Spark sends no condition to the database, nor anything else that chooses rows."""
_WAYS_OUT = (
    '  allowed: .stage("read once") after it, which reads it once if it is not cut into splits; or\n'
    "  accept_changes_between_reads=True, if its rows do not change while the task runs"
)


def decided_by_spark(connector: Connector) -> Connector:
    """Return the source with all conditions on its rows left to Spark, whatever its options say.

    A database compares texts by its collation, Spark by their bytes. If one of several readers were decided there and
    another one here, a row could be in both or in neither.
    """
    if not isinstance(connector, Jdbc):
        return connector
    names = {name.lower() for name in _DECIDED_BY_SPARK}
    kept = tuple(each for each in as_pairs(connector.options) if each[0].lower() not in names)
    return replace(connector, options=(*kept, *_DECIDED_BY_SPARK.items()))


def as_it_is(connector: Connector, _times: int, _parallelism: int | None) -> Connector:
    """Return a source unchanged: its rows are given, or it is read only once."""
    return connector


@contextmanager
def shared_snapshots(spark: SparkSession) -> Iterator[Pin]:
    """Yield the function that pins sources; the snapshots end with the block."""
    snapshots = _Snapshots(spark)
    try:
        yield snapshots.pin
    finally:
        snapshots.close()


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The snapshot of an open transaction, by its exported name; or the reason why there is none."""

    id: str | None
    why_not: str = ""


@dataclass(slots=True)
class _Snapshots:
    spark: SparkSession
    _taken: dict[tuple[object, ...], _Snapshot] = field(default_factory=dict)
    _open: list[Any] = field(default_factory=list)

    def pin(self, connector: Connector, times: int, parallelism: int | None) -> Connector:
        """Return the source reading from the region's snapshot of its database.

        Raises RepeatedReadError if it has none and the source is read more than once.
        """
        if not isinstance(connector, Jdbc) or connector.accept_changes_between_reads:
            return connector
        snapshot = self._of(connector)
        if snapshot.id is not None:
            return _reading(connector, snapshot.id)
        splits = len(connector.create_input_splits(parallelism or 1))
        if times > 1 or splits > 1:
            how = f"in {splits} queries" if splits > 1 else f"{times} times"
            raise RepeatedReadError(
                f"this task reads it {how}, and rows that change in between would be lost or doubled: "
                f"{snapshot.why_not}\n{_WAYS_OUT}"
            )
        return connector

    def close(self) -> None:
        """End all snapshots."""
        for connection in self._open:
            with suppress(Py4JError):
                connection.close()

    def _of(self, connector: Jdbc) -> _Snapshot:
        key = _server(connector)
        if key not in self._taken:
            self._taken[key] = self._take(Database(spark=self.spark, connector=connector))
        return self._taken[key]

    def _take(self, database: Database) -> _Snapshot:
        connection = database.open_connection()
        self._open.append(connection)
        product = str(connection.getMetaData().getDatabaseProductName())
        if product != "PostgreSQL":
            connection.close()
            return _Snapshot(None, f"{product} has no snapshot that several connections share")
        try:
            connection.setAutoCommit(False)
            for statement in (
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
                # The connection is idle and must stay open: as long as a long task, but not forever.
                f"SET LOCAL idle_in_transaction_session_timeout = '{_LONGEST_IDLE}'",
            ):
                database.run(connection, statement)
            row = connection.createStatement().executeQuery("SELECT pg_catalog.pg_export_snapshot()")
            row.next()
            return _Snapshot(str(row.getString(1)))
        except Py4JJavaError as error:
            connection.close()
            if not is_refusal(error):
                raise
            return _Snapshot(None, f"the database exports no snapshot: {database_words(error)}")


def _server(connector: Jdbc) -> tuple[object, ...]:
    """Return what chooses the database that answers: the url without its parameters, if it names one host.

    Other users, schemas and settings of a session see the same snapshot. An option of one of several hosts does not.
    """
    url = reveal(connector.url)
    place, _, parameters = url.partition("?")
    given = (*(name for name, _ in as_pairs(connector.options)), parameters)
    if "," in place or any(_CHOOSES_HOST.search(text) for text in given):
        return (url, connector.user, connector.password, connector.driver, connector.options)
    return (place, connector.driver)


def _reading(connector: Jdbc, snapshot: str) -> Jdbc:
    """Return the source with sessions that start in a snapshot, then run the declared sessionInitStatement."""
    options = as_pairs(connector.options)
    own = next((reveal(value) for key, value in options if key.lower() == _INIT), "")
    if found := _TRANSACTION.search(own):
        raise RepeatedReadError(
            f"its sessionInitStatement says {found[2].upper()}, but each of its sessions is a transaction of the "
            "task's snapshot\n  allowed: statements that neither begin nor end a transaction, or "
            "accept_changes_between_reads=True, which reads without a snapshot"
        )
    fetched = dict(connector.connection_properties()).get("fetchsize") or "0"
    size = next((value for key, value in options if key.lower() == "fetchsize"), fetched)
    # If rows are fetched in batches, Spark has turned autocommit off, and the driver begins the transaction.
    begins = "BEGIN" if str(size) == "0" else "SET TRANSACTION"
    statement = f"{begins} ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{snapshot}'"
    rest = tuple((key, value) for key, value in options if key.lower() != _INIT)
    whole = "; ".join(text for text in (statement, own.strip()) if text)
    return replace(connector, options=(*rest, ("sessionInitStatement", whole)))
