"""A query's plan as Spark's parser makes it, with other plans in place of table names.

The parser only reads the text. Spark executes a command as soon as it analyzes it, so text that is not a query must not
get that far. The parser's rule for the query of a view (`parseQuery`) decides what a query is: it allows no command in
any place, so it also refuses those that a later version adds.

Parameters are bound as `spark.sql(…, args=…)` binds them. `parseQuery`: 4.x. `NamedParameterContext`,
`ParameterHandler` and `parsePlanWithParameters`: 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.sql_text import not_a_query, query_problem, without_end
from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    java_class,
    scala_map,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, rows_of_plan

_PARSER = "org.apache.spark.sql.catalyst.parser"


class NotAQueryError(GraphCompilerError):
    """SQL text is a command or a script, which Spark would execute when it analyzes it."""


def rows_of_query(
    tables: Mapping[str, DataFrame],
    query: str,
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> DataFrame:
    """Return the rows of a query that reads tables only in its main FROM.

    Raises as `parsed_query` does; Py4JError or TypeError, but no Java exception, if this version of Spark has other
    classes.
    """
    plans = {name: analyzed_plan(rows) for name, rows in tables.items()}
    plan = parsed_query(query, parameters, spark)
    if _binds(query, parameters):
        context = java_class(spark, f"{_PARSER}.NamedParameterContext")
        values = context(_literals(parameters, spark))
        plan = _parser(spark).parsePlanWithParameters(without_end(query), values)
    return rows_of_plan(spark, _with_tables(plan, plans, spark))


def parsed_query(query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    """Return the plan of a query, which may end with semicolons, without its parameters.

    Raises NotAQueryError for a command or a script, and ParseException for text that Spark cannot parse.
    """
    text = without_end(query)
    plan = _query_plan(text, spark)
    if plan is None and _binds(query, parameters):  # some places need a value: DECIMAL(:digits, 2)
        handler = java_class(spark, f"{_PARSER}.ParameterHandler")
        filled = handler.substituteNamedParameters(text, _literals(parameters, spark))
        plan = _query_plan(filled._1(), spark)
    if plan is None:
        command = _parser(spark).parsePlan(text).nodeName()
        named = query_problem(text) or not_a_query(f"its SQL is a command ({command}), not a query")
        raise NotAQueryError(str(named))
    return plan


def check_syntax(query: str, spark: SparkSession) -> None:
    """Parse a query without binding its parameters; raises ParseException, which then has the place of the error."""
    _parser(spark).parsePlan(query)


def _query_plan(text: str, spark: SparkSession) -> Any:
    """Return the plan of a query, None for other text."""
    try:
        return _parser(spark).parseQuery(text)
    except (PySparkException, Py4JJavaError):  # of several kinds if a parameter is in an odd place
        return None


def _binds(query: str, parameters: Mapping[str, ParameterValue]) -> bool:
    return bool(parameters) and ":" in query


def _literals(parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    """Return the parameters as a Scala Map of Catalyst's literals."""
    session = spark._jsparkSession
    values = {name: session.expression(lit(value)._jc) for name, value in parameters.items()}
    return scala_map(spark, values)


def _parser(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().sqlParser()


def _with_tables(plan: Any, tables: Mapping[str, Any], spark: SparkSession) -> Any:
    """Replace the tables in a parsed plan by their plans."""
    if plan.productPrefix() == "UnresolvedRelation":
        return tables.get(plan.tableName(), plan)
    children = plan.children()
    placed = [
        _with_tables(children.apply(number), tables, spark) for number in range(children.size())
    ]
    return plan.withNewChildren(scala_sequence(spark, placed))
