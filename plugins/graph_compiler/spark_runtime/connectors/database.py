"""A database as the driver sees it: through Spark's own JDBC connections, whose class path has the JDBC driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import DataType, StructType

from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.spark_runtime.secret_values import reveal, reveal_all

_NO_NULLS = 0  # java.sql.ResultSetMetaData.columnNoNulls


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The database a connector names."""

    spark: SparkSession
    connector: Jdbc

    @property
    def url(self) -> str:
        """Give its url, with what may be secret in it."""
        return reveal(self.connector.url)

    @property
    def properties(self) -> dict[str, str]:
        """Give Spark's JDBC options, with what is secret in them."""
        return reveal_all(self.connector.connection_properties())

    def has_table(self, table: str) -> bool:
        """Say whether a table can be read; raises what the driver raises where the database cannot be reached."""
        query = str(self._dialect().getTableExistsQuery(table))
        with self._connection(table) as connection:
            try:
                _execute(connection, query)
            except Py4JJavaError:
                return False
            return True

    def schema(self, table: str) -> StructType:
        """Give a table's columns as Spark reads them: NOT NULL is left to the database, which refuses a NULL itself."""
        return self.spark.read.jdbc(self.url, table, properties=self.properties).schema

    def never_null(self, table: str) -> frozenset[str]:
        """Give the columns the database lets hold no NULL; Spark does not ask."""
        with self._connection(table) as connection:
            statement = connection.createStatement()
            columns = statement.executeQuery(f"SELECT * FROM {table} WHERE 1 = 0").getMetaData()
            return frozenset(
                str(columns.getColumnLabel(number))
                for number in range(1, columns.getColumnCount() + 1)
                if int(columns.isNullable(number)) == _NO_NULLS
            )

    def execute(self, table: str, statements: list[str]) -> None:
        """Run statements in one transaction; raises Py4JJavaError, having changed nothing."""
        with self._connection(table) as connection:
            connection.setAutoCommit(False)
            try:
                for statement in statements:
                    _execute(connection, statement)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def count(self, table: str) -> int:
        """Count a table's rows."""
        with self._connection(table) as connection:
            statement = connection.createStatement()
            result = statement.executeQuery(f"SELECT count(*) FROM {table}")
            result.next()
            return int(result.getLong(1))

    def unusable_keys(self, table: str, keys: tuple[str, ...]) -> list[Row]:
        """Give some keys that are there more than once, or have a NULL, each with the number of its rows."""
        names = [self.quote(key) for key in keys]
        listed = ", ".join(names)
        wrong = " OR ".join(["count(*) > 1", *(f"{name} IS NULL" for name in names)])
        counts = f"SELECT {listed}, count(*) AS n FROM {table} GROUP BY {listed} HAVING {wrong}"
        rows = self.spark.read.jdbc(self.url, f"({counts}) t_keys", properties=self.properties)
        return rows.limit(4).collect()

    def quote(self, column: str) -> str:
        """Write a column's name as this database does."""
        return str(self._dialect().quoteIdentifier(column))

    def can_hold(self, data_type: DataType) -> bool:
        """Say whether Spark knows a type of this database for one of its own."""
        jvm = self._jvm()
        java_type = jvm.org.apache.spark.sql.types.DataType.fromJson(data_type.json())
        utils = jvm.org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
        own = self._dialect().getJDBCType(java_type)
        return bool(own.isDefined() or utils.getCommonJDBCType(java_type).isDefined())

    @contextmanager
    def _connection(self, table: str) -> Iterator[Any]:
        jvm = self._jvm()
        parameters = jvm.PythonUtils.toScalaMap(self.properties)
        jdbc = jvm.org.apache.spark.sql.execution.datasources.jdbc
        options = jdbc.JDBCOptions(self.url, table, parameters)
        with closing(self._dialect().createConnectionFactory(options).apply(-1)) as connection:
            yield connection

    def _dialect(self) -> Any:
        return self._jvm().org.apache.spark.sql.jdbc.JdbcDialects.get(self.url)

    def _jvm(self) -> Any:
        jvm = self.spark._jvm
        assert jvm is not None
        return jvm


def sql_state(error: Py4JJavaError) -> str:
    """Give the SQLSTATE of what a driver raised, empty for anything else."""
    exception = error.java_exception
    return str(exception.getSQLState() or "") if hasattr(exception, "getSQLState") else ""


def _execute(connection: Any, sql: str) -> None:
    statement = connection.createStatement()
    try:
        statement.execute(sql)
    finally:
        statement.close()
