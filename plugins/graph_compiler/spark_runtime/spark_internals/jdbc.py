"""Spark's own JDBC connections and dialects, whose class path has the JDBC driver.

`JdbcDialects` is a developer API of Spark; `JDBCOptions` and `JdbcUtils` are not documented: 4.3. They return
`java.sql.Connection` and related interfaces, which every JDBC driver has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from graph_compiler.spark_runtime.spark_internals.java import java_class, scala_map

_JDBC = "org.apache.spark.sql.execution.datasources.jdbc"


def jdbc_dialect(spark: SparkSession, url: str) -> Any:
    """Return Spark's dialect for the database of a URL."""
    return java_class(spark, "org.apache.spark.sql.jdbc.JdbcDialects").get(url)


def open_jdbc_connection(spark: SparkSession, url: str, properties: Mapping[str, str]) -> Any:
    """Open a connection as Spark does; raises Py4JJavaError with the JDBC driver's exception."""
    parameters = scala_map(spark, dict(properties))
    options = java_class(spark, f"{_JDBC}.JDBCOptions")(url, "no_table", parameters)
    return jdbc_dialect(spark, url).createConnectionFactory(options).apply(-1)


def jdbc_type(spark: SparkSession, url: str, data_type: DataType) -> str | None:
    """Return the type of the columns that Spark creates in the database for this one; None if it has none."""
    java_type = java_class(spark, "org.apache.spark.sql.types.DataType").fromJson(data_type.json())
    found = jdbc_dialect(spark, url).getJDBCType(java_type)
    if not found.isDefined():
        found = java_class(spark, f"{_JDBC}.JdbcUtils").getCommonJDBCType(java_type)
    return str(found.get().databaseTypeDefinition()) if found.isDefined() else None
