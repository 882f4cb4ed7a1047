"""SQL text over DataFrames, with parameters bound as typed values."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.parsed_queries import rows_of_query


def query_over(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Return what a query gives whose own FROM alone reads the tables: their plans are put where the names stand.

    A view for each, as `query_over_views` makes, costs 50 ms of CPU on the driver, is a query of its own in Spark's SQL
    tab, and leaves three more nodes in the plan for all analysis to come.
    """
    try:
        return rows_of_query(tables, query, parameters, spark)
    except Py4JJavaError:
        raise
    except (Py4JError, TypeError):  # another Spark, whose classes are others
        return query_over_views(tables, query, parameters, spark)


def query_over_views(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Return what any query gives, one with subqueries and common table expressions too."""
    for name, rows in tables.items():
        rows.createOrReplaceTempView(name)
    try:
        return spark.sql(query, args=dict(parameters))
    finally:
        for name in tables:
            spark.catalog.dropTempView(name)
