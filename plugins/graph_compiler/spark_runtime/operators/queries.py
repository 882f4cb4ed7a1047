"""SQL text over DataFrames, with parameters bound as typed values; text that is not a query is never executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.sql_text import without_end
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.parsed_queries import (
    check_syntax,
    parsed_query,
    require_order,
    rows_of_query,
)


def query_over(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Return the rows of a query that reads tables only in its main FROM: their plans replace the names.

    A view for each table, as in `query_over_views`, costs 50 ms of the driver's CPU, appears as a query in Spark's SQL
    tab, and leaves three more nodes in the plan for every later analysis. Raises NotAQueryError.
    """
    try:
        with _placing_syntax_errors(query, spark):
            return rows_of_query(tables, query, parameters, spark)
    except Py4JJavaError:
        raise
    except (Py4JError, TypeError):  # a Spark version with different classes
        return query_over_views(tables, query, parameters, spark)


def order_of(
    items: Iterable[str], parameters: Mapping[str, ParameterValue], spark: SparkSession
) -> str:
    """Return the items of ORDER BY, which Spark has parsed alone, each on a separate line: comments end there."""
    listed = [*items]
    for item in listed:
        require_order(item, parameters, spark)
    return ", ".join(f"{item}\n" for item in listed)


def query_over_views(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Return the rows of any query, including one with subqueries and common table expressions.

    Raises NotAQueryError.
    """
    for name, rows in tables.items():
        rows.createOrReplaceTempView(name)
    try:
        with _placing_syntax_errors(query, spark):
            parsed_query(query, parameters, spark)
            return spark.sql(without_end(query), args=dict(parameters))
    finally:
        for name in tables:
            spark.catalog.dropTempView(name)


@contextmanager
def _placing_syntax_errors(query: str, spark: SparkSession) -> Iterator[None]:
    """Raise a syntax error with its place in the query: Spark leaves it out where parameters are bound."""
    try:
        yield
    except ParseException:
        check_syntax(query, spark)
        raise
