"""How Spark reads and writes it; only Spark's driver imports this."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from acme_sqlite.connector import Sqlite
from graph_compiler.extending import OperatorId, Sink
from graph_compiler.extending.spark import (
    Found,
    OpenSink,
    PreparedSink,
    Reading,
    SinkContext,
    Target,
    claim_target,
    conform_to_target,
    read,
)

_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "STRING"}


@read.register
def _(connector: Sqlite, reading: Reading) -> Found:
    with closing(sqlite3.connect(connector.path)) as database:
        columns = database.execute(f"PRAGMA table_info({connector.table})").fetchall()
        rows = database.execute(f"SELECT * FROM {connector.table}").fetchall()
    schema = ", ".join(f"`{name}` {_TYPES[kind]}" for _, name, kind, *_ in columns)
    found = reading.spark.createDataFrame(rows, schema)
    return Found(rows=found, schema=found.schema)


@dataclass(frozen=True, slots=True)
class SqliteSink:
    """Rows are prepared in a table beside the target, which takes its name in one transaction."""

    connector: Sqlite
    beside: str

    @property
    def target(self) -> None:
        """Return nothing: what is published is not in a ledger."""

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows with the declared columns."""
        nothing = Target(name=self.connector.table, held=None, evolves=frozenset())
        return conform_to_target(rows, self.connector, nothing)

    def prepares(self) -> None:
        """Return nothing: leftovers are in the user's own file."""

    def prepare(self, rows: DataFrame, /) -> PreparedSink:
        """Write the rows beside the target."""
        values = [tuple(row) for row in rows.toLocalIterator()]
        names = {"bigint": "INTEGER", "int": "INTEGER", "double": "REAL"}
        columns = [f'"{name}" {names.get(kind, "TEXT")}' for name, kind in rows.dtypes]
        with closing(sqlite3.connect(self.connector.path)) as database, database:
            database.execute(f"DROP TABLE IF EXISTS {self.beside}")
            database.execute(f"CREATE TABLE {self.beside} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            database.executemany(f"INSERT INTO {self.beside} VALUES ({marks})", values)
        return PreparedSink(
            location=str(self.connector.place),
            rows=len(values),
            bytes=0,
            publish=partial(self._execute, f"ALTER TABLE {self.beside} RENAME TO {self.connector.table}"),
        )

    def discard(self) -> None:
        """Remove what was prepared."""
        with closing(sqlite3.connect(self.connector.path)) as database, database:
            database.execute(f"DROP TABLE IF EXISTS {self.beside}")

    def _execute(self, rename: str) -> None:
        with closing(sqlite3.connect(self.connector.path)) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(f"DROP TABLE IF EXISTS {self.connector.table}")
            database.execute(rename)


@claim_target.register
def _(connector: Sqlite, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    return SqliteSink(connector, f"{connector.table}__{operator_id}")
