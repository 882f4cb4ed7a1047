"""A query's plan as Spark's parser makes it, with other plans in place of table names.

The parser only reads the text. Spark executes a command as soon as it analyzes it, so text that is not a query must not
get that far. The parser's rule for the query of a view (`parseQuery`) decides what a query is: it allows no command in
any place, so it also refuses those that a later version adds.

Parameters are bound as `spark.sql(…, args=…)` binds them. `parseQuery`: 4.x. `NamedParameterContext`,
`ParameterHandler` and `parsePlanWithParameters`: 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from graph_compiler.declaration.parameters.parameter import ParameterValue, python_value
from graph_compiler.declaration.parameters.typed_value import TypedValue
from graph_compiler.declaration.sql_text import not_a_query, query_problem, tokens_of, unclosed_in, without_end
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import shown
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    java_class,
    java_class_name,
    lit,
    scala_map,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, pattern, rows_of_plan

_PARSER = "org.apache.spark.sql.catalyst.parser"


class NotAQueryError(GraphCompilerError):
    """SQL text is not a query or an expression: Spark would execute a command as soon as it analyzes it."""


def rows_of_query(
    tables: Mapping[str, DataFrame], query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession
) -> DataFrame:
    """Return the rows of a query that reads tables only in its main FROM.

    Raises as `parsed_query` does; Py4JError or TypeError, but no Java exception, if this version of Spark has other
    classes.
    """
    plans = {name: analyzed_plan(rows) for name, rows in tables.items()}
    plan = parsed_query(query, parameters, spark)
    if _binds(query, parameters):
        if _leaves_unbound(spark):
            plan = _parser(spark).parsePlan(_filled(without_end(query), parameters, spark))
        else:
            plan = _bound_plan(without_end(query), parameters, spark)
    return rows_of_plan(spark, _with_tables(plan, plans, spark))


def parsed_query(query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    """Return the plan of a query, which may end with semicolons, without its parameters.

    Raises NotAQueryError for a command or a script, and ParseException for text that Spark cannot parse.
    """
    text = without_end(query)
    plan = _query_plan(text, spark)
    if plan is None and _binds(query, parameters):  # some places need a value: DECIMAL(:digits, 2)
        plan = _query_plan(_filled(text, parameters, spark), spark)
    if plan is None:
        command = _parser(spark).parsePlan(text).nodeName()
        named = query_problem(text) or not_a_query(f"its SQL is a command ({command}), not a query")
        raise NotAQueryError(str(named))
    return plan


def require_expression(text: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> None:
    """Raise ParseException or NotAQueryError if a text is not one expression, so that SQL around it could change."""
    _parse_alone(text, _parser(spark).parseExpression, ("SELECT ", ""), parameters, spark)


def bound_text(text: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> str:
    """Return an expression with values in place of its parameters: `pyspark.sql.functions.expr` takes none.

    Raises ParseException or NotAQueryError if it is not one expression.
    """
    require_expression(text, parameters, spark)
    if not _binds(text, parameters):
        return text
    before = "SELECT "
    return _filled(with_types(f"{before}{text}", parameters), parameters, spark).removeprefix(before)


def require_type(text: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> None:
    """Raise ParseException or NotAQueryError if a text is not the name of one type."""
    _parse_alone(text, _parser(spark).parseDataType, ("SELECT CAST(a AS ", ")"), parameters, spark)


def _parse_alone(
    text: str,
    parse: Callable[[str], object],
    query_around: tuple[str, str],
    parameters: Mapping[str, ParameterValue],
    spark: SparkSession,
) -> None:
    try:
        parse(text)
    except (PySparkException, Py4JJavaError) as error:  # of several kinds, as above
        if not _binds(text, parameters):
            raise
        # Some places need a value, and Spark puts values only into whole queries.
        before, after = query_around
        query = f"{before}{text}{after}"
        try:
            filled = _filled(query, parameters, spark)
            parse(filled[len(before) : len(filled) - len(after)])
        except (PySparkException, Py4JJavaError):
            raise error from None  # it has the place in the text as it is written
    _require_closed(text)


def _require_closed(text: str) -> None:
    """Raise NotAQueryError for text that is complete alone, and changes what follows: an open comment."""
    if unclosed := unclosed_in(text):
        raise NotAQueryError(f"the expression {shown(text)} has {unclosed}")


def require_order(item: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> None:
    """Raise NotAQueryError or ParseException if a text is more than an order, such as `a LIMIT 5`."""
    plan = parsed_query(f"SELECT * FROM graph_compiler_rows ORDER BY {item}", parameters, spark)
    _require_closed(item)
    if plan.nodeName() != "Sort":
        found = f"its order {shown(item)} contains another clause ({plan.nodeName()})"
        raise NotAQueryError(f"{found}\n  allowed: an expression with ASC, DESC, NULLS FIRST, NULLS LAST")


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


def rows_of_text(query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> DataFrame:
    """Return the rows of a query over views, with its parameters."""
    text = without_end(query)
    if _binds(query, parameters) and _leaves_unbound(spark):
        return spark.sql(_filled(text, parameters, spark))
    return spark.sql(text, args=_arguments(parameters, spark))


def _leaves_unbound(spark: SparkSession) -> bool:
    """Whether the parser of an extension leaves parameters out, as that of Delta Lake 4.4 does."""
    if java_class_name(_parser(spark)) == "SparkSqlParser":
        return False
    return bool(_bound_plan("SELECT :a", {"a": 1}, spark).containsPattern(pattern(spark, "PARAMETER")))


def _bound_plan(text: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    context = java_class(spark, f"{_PARSER}.NamedParameterContext")
    return _parser(spark).parsePlanWithParameters(text, context(_literals(parameters, spark)))


def _filled(text: str, parameters: Mapping[str, ParameterValue], spark: SparkSession) -> str:
    """Return a text with literals in place of its parameters, as Spark itself writes them."""
    handler = java_class(spark, f"{_PARSER}.ParameterHandler")
    return str(handler.substituteNamedParameters(text, _literals(parameters, spark))._1())


def _arguments(parameters: Mapping[str, ParameterValue], spark: SparkSession) -> dict[str, Any]:
    """Return the parameters as `spark.sql(…, args=…)` takes them."""
    column = java_class(spark, "org.apache.spark.sql.classic.ExpressionUtils").column
    return {
        name: Column(column(_literal(value, spark))) if isinstance(python := python_value(value), list) else python
        for name, value in parameters.items()
    }


def with_types(text: str, parameters: Mapping[str, ParameterValue]) -> str:
    """Return SQL text in which typed parameters are cast to their types: `:rate` to `CAST(:rate AS DECIMAL(4,2))`.

    Spark (4.3) writes a literal for a parameter, which loses the type of NULL and of an empty list, and the scale of a
    decimal. Only the type is inserted, which is one of a few; the value stays a parameter.
    """
    typed = {name: value.kind for name, value in parameters.items() if isinstance(value, TypedValue)}
    if not typed or ":" not in text:
        return text
    pieces, end = [], 0
    for colon, word in pairwise(tokens_of(text)):
        name = text[word.start : word.end]
        is_path = _IS_PATH.search(text, max(0, colon.start - 1), colon.start)
        if colon.text == ":" and colon.end == word.start and not is_path and name in typed:
            pieces += [text[end : colon.start], f"CAST(:{name} AS {typed[name]})"]
            end = word.end
    return "".join([*pieces, text[end:]])


_IS_PATH = re.compile(r"[\w:\])`]")
"""What is directly before a colon that is part of a path in a VARIANT: `order:price`."""


def _literals(parameters: Mapping[str, ParameterValue], spark: SparkSession) -> Any:
    """Return the parameters as a Scala Map of Catalyst's literals."""
    return scala_map(spark, {name: _literal(value, spark) for name, value in parameters.items()})


def _literal(value: ParameterValue, spark: SparkSession) -> Any:
    """Return Catalyst's literal of a value; Spark makes a call of a list, which analysis has to resolve."""
    python = python_value(value)
    if not isinstance(python, list) or not isinstance(value, TypedValue):
        return spark._jsparkSession.expression(lit(python)._jc)
    plan = analyzed_plan(spark.range(1).select(lit(python).cast(value.kind).alias("value")))
    made = plan.projectList().apply(0).child()
    literal = java_class(spark, "org.apache.spark.sql.catalyst.expressions.Literal")
    return literal(made.eval(None), made.dataType())


def _parser(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().sqlParser()


def _with_tables(plan: Any, tables: Mapping[str, Any], spark: SparkSession) -> Any:
    """Replace the tables in a parsed plan by their plans."""
    if plan.productPrefix() == "UnresolvedRelation":
        return tables.get(plan.tableName(), plan)
    children = plan.children()
    placed = [_with_tables(children.apply(number), tables, spark) for number in range(children.size())]
    return plan.withNewChildren(scala_sequence(spark, placed))
