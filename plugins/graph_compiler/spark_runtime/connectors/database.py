"""A database, accessed by the driver through Spark's JDBC connections, whose class path has the JDBC driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import DataType, StructType

from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.declaration.connectors.jdbc_url import database_kind
from graph_compiler.declaration.connectors.table_name import parse_table_name
from graph_compiler.spark_runtime.secret_values import reveal, reveal_all
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.jdbc import jdbc_dialect, jdbc_type, open_jdbc_connection

_PREPARES_AFTER = "prepareThreshold"
_NO_NULLS = 0  # java.sql.ResultSetMetaData.columnNoNulls


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The database that a connector names. Tables are identified by their SQL names."""

    spark: SparkSession
    connector: Jdbc

    @property
    def url(self) -> str:
        """Return its url, including secrets."""
        return reveal(self.connector.url)

    @property
    def properties(self) -> dict[str, str]:
        """Return Spark's JDBC options, including secrets."""
        return reveal_all(self.connector.connection_properties())

    def option(self, name: str) -> str:
        """Return the text of one of Spark's JDBC options, empty without it; names are compared as Spark does."""
        given = (value for key, value in self.properties.items() if key.lower() == name.lower())
        return next(given, "").strip()

    def name(self, table: str) -> str:
        """Return a table's name in this database's SQL: each part quoted, a plain one in the case the database stores.

        Other text (a subquery) is already SQL; plain names are left unchanged if the database's case rule is unknown.
        """
        parts, kind = parse_table_name(table), database_kind(self.url)
        if parts is None or not all(part.is_quoted or part.is_plain for part in parts):
            return table
        written = [(part.text, part.folded(kind)) for part in parts]
        return ".".join(text if folded is None else self.quote(folded) for text, folded in written)

    def exists_query(self, table: str) -> str:
        """Return a query that fails if there is no such table, or it cannot be read."""
        return str(self._dialect().getTableExistsQuery(table))

    def schema(self, table: str) -> StructType:
        """Return a table's columns as Spark reads them; NOT NULL is left to the database."""
        return self.spark.read.jdbc(self.url, table, properties=self.properties).schema

    def never_null(self, table: str) -> frozenset[str]:
        """Return the columns that are NOT NULL in the database, which Spark does not read."""
        with self.session() as connection:
            statement = connection.createStatement()
            columns = statement.executeQuery(f"SELECT * FROM {table} WHERE 1 = 0").getMetaData()
            return frozenset(
                str(columns.getColumnLabel(number))
                for number in range(1, columns.getColumnCount() + 1)
                if int(columns.isNullable(number)) == _NO_NULLS
            )

    @property
    def keeps_definitions_in_transactions(self) -> bool:
        """Whether transactions include CREATE and DROP; otherwise each of them commits the statements before it."""
        with self.connection() as connection:
            about = connection.getMetaData()
            return bool(
                about.supportsDataDefinitionAndDataManipulationTransactions()
                and not about.dataDefinitionCausesTransactionCommit()
                and not about.dataDefinitionIgnoredInTransactions()
            )

    def execute(self, statements: Sequence[str], *, is_kept: bool = True) -> list[int]:
        """Run statements in one transaction; return the number of rows that each has changed.

        Raises Py4JJavaError; nothing has changed then, unless the answer to COMMIT was lost: only the database knows
        that. With `is_kept` unset, everything is rolled back: this shows that it would have been allowed.
        """
        with self.transaction() as transaction:
            counts = transaction.run_all(statements)
            if not is_kept:
                transaction.undo()
        return counts

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield a transaction that the end of the block commits, and an error undoes."""
        with self.connection() as connection:
            connection.setAutoCommit(False)
            try:
                yield Transaction(database=self, connection=connection)
                connection.commit()
            except BaseException:
                with suppress(Py4JError):  # the first error counts
                    connection.rollback()
                raise

    def run(self, connection: Any, sql: str) -> int:
        """Run a statement; return the number of rows it has changed, -1 if unknown."""
        statement = connection.createStatement()
        try:
            return -1 if statement.execute(sql) else int(statement.getUpdateCount())
        finally:
            with suppress(Py4JJavaError):
                statement.close()

    def texts(self, query: str) -> list[str]:
        """Return the first column of a query's rows."""
        with self.connection() as connection:
            return _texts(connection, query)

    def count(self, table: str) -> int:
        """Count a table's rows."""
        return int(self.texts(f"SELECT count(*) FROM {table}")[0])

    def unusable_keys(self, table: str, keys: tuple[str, ...]) -> list[Row]:
        """Return some keys that are duplicate or contain NULL, each with the number of its rows."""
        names = [self.quote(key) for key in keys]
        listed = ", ".join(names)
        wrong = " OR ".join(["count(*) > 1", *(f"{name} IS NULL" for name in names)])
        counts = f"SELECT {listed}, count(*) AS n FROM {table} GROUP BY {listed} HAVING {wrong}"
        rows = self.spark.read.jdbc(self.url, f"({counts}) t_keys", properties=self.properties)
        return rows.limit(4).collect()

    def quote(self, name: str) -> str:
        """Return the name of a column, or of a part of a table's name, quoted for this database."""
        return str(self._dialect().quoteIdentifier(name))

    def type_of(self, data_type: DataType) -> str | None:
        """Return the type of the columns that Spark creates for this one; None if it has none."""
        return jdbc_type(self.spark, self.url, data_type)

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """Yield an open connection, and close it."""
        connection = self.open_connection()
        try:
            yield connection
        finally:
            with suppress(Py4JError):  # closing a broken connection fails, too
                connection.close()

    @contextmanager
    def session(self) -> Iterator[Any]:
        """Yield an open connection in which the declared sessionInitStatement has run, as in those of Spark's reads."""
        own = self.option("sessionInitStatement")
        with self.connection() as connection:
            if own:
                self.run(connection, own)
            yield connection

    def open_connection(self) -> Any:
        """Open a connection; raises what the driver raises.

        PostgreSQL's driver keeps no statement prepared in the session, since each of ours runs once. Behind a pooler,
        the next transaction may run in another session.
        """
        once = {_PREPARES_AFTER: "0"} if database_kind(self.url) == "postgresql" else {}
        return open_jdbc_connection(self.spark, self.url, self.properties | once)

    def _dialect(self) -> Any:
        return jdbc_dialect(self.spark, self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """An open transaction of a database."""

    database: Database
    connection: Any

    def run(self, sql: str) -> int:
        """Run a statement; return the number of rows it has changed, -1 if unknown."""
        return self.database.run(self.connection, sql)

    def run_all(self, statements: Sequence[str]) -> list[int]:
        """Run statements; return the number of rows that each has changed."""
        return [self.run(statement) for statement in statements]

    def count(self, table: str) -> int:
        """Count a table's rows as this transaction sees them."""
        return int(_texts(self.connection, f"SELECT count(*) FROM {table}")[0])

    def undo(self) -> None:
        """Undo all that it has done so far."""
        self.connection.rollback()


def _texts(connection: Any, query: str) -> list[str]:
    rows = connection.createStatement().executeQuery(query)
    found: list[str] = []
    while rows.next():
        found.append(str(rows.getString(1)))
    return found
