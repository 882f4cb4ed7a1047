"""SQL text over DataFrames, with parameters bound as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.spark_runtime.spark_internals.java import java_class


def query_over(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Give what a query gives whose own FROM alone reads the tables: their plans are put where the names stand.

    A view for each, as `query_over_views` makes, costs 50 ms of CPU on the driver, is a query of its own in Spark's SQL
    tab, and leaves three more nodes in the plan for all analysis to come.
    """
    try:
        plan = _with_tables(_parsed(query, parameters, spark), _plans(tables), spark)
        dataset = java_class(spark, "org.apache.spark.sql.classic.Dataset")
        return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)
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
    """Give what any query gives, one with subqueries and common table expressions too."""
    for name, rows in tables.items():
        rows.createOrReplaceTempView(name)
    try:
        return spark.sql(query, args=dict(parameters))
    finally:
        for name in tables:
            spark.catalog.dropTempView(name)


def _plans(tables: Mapping[str, DataFrame]) -> dict[str, Any]:
    return {name: rows._jdf.queryExecution().analyzed() for name, rows in tables.items()}


def _parsed(query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    """Parse as `spark.sql` does."""
    session = spark._jsparkSession
    parser = session.sessionState().sqlParser()
    if ":" not in query or not parameters:
        return parser.parsePlan(query)
    literals = {name: session.expression(lit(value)._jc) for name, value in parameters.items()}
    context = java_class(spark, "org.apache.spark.sql.catalyst.parser.NamedParameterContext")
    python = java_class(spark, "org.apache.spark.api.python.PythonUtils")
    return parser.parsePlanWithParameters(query, context(python.toScalaMap(literals)))


def _with_tables(plan: Any, tables: Mapping[str, Any], spark: SparkSession) -> Any:
    """Put the tables' plans into a parsed one."""
    if plan.productPrefix() == "UnresolvedRelation":
        return tables.get(plan.tableName(), plan)
    children = plan.children()
    placed = [
        _with_tables(children.apply(number), tables, spark) for number in range(children.size())
    ]
    python = java_class(spark, "org.apache.spark.api.python.PythonUtils")
    return plan.withNewChildren(python.toSeq(placed))
