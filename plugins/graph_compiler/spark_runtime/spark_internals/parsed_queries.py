"""A query's plan as Spark's parser makes it, with other plans in place of table names.

Parameters are bound as `spark.sql(…, args=…)` binds them. `NamedParameterContext` and `parsePlanWithParameters`: 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.spark_runtime.spark_internals.java import (
    java_class,
    scala_map,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, rows_of_plan


def rows_of_query(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Return the rows of a query that reads tables only in its main FROM.

    Raises Py4JError or TypeError, but no Java exception, if this version of Spark has other classes.
    """
    plans = {name: analyzed_plan(rows) for name, rows in tables.items()}
    plan = _with_tables(_parsed(query, parameters, spark), plans, spark)
    return rows_of_plan(spark, plan)


def check_syntax(query: str, spark: SparkSession) -> None:
    """Parse a query without binding its parameters; raises ParseException, which then has the place of the error."""
    spark._jsparkSession.sessionState().sqlParser().parsePlan(query)


def _parsed(query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    """Parse as `spark.sql` does."""
    session = spark._jsparkSession
    parser = session.sessionState().sqlParser()
    if ":" not in query or not parameters:
        return parser.parsePlan(query)
    literals = {name: session.expression(lit(value)._jc) for name, value in parameters.items()}
    context = java_class(spark, "org.apache.spark.sql.catalyst.parser.NamedParameterContext")
    return parser.parsePlanWithParameters(query, context(scala_map(spark, literals)))


def _with_tables(plan: Any, tables: Mapping[str, Any], spark: SparkSession) -> Any:
    """Replace the tables in a parsed plan by their plans."""
    if plan.productPrefix() == "UnresolvedRelation":
        return tables.get(plan.tableName(), plan)
    children = plan.children()
    placed = [
        _with_tables(children.apply(number), tables, spark) for number in range(children.size())
    ]
    return plan.withNewChildren(scala_sequence(spark, placed))
