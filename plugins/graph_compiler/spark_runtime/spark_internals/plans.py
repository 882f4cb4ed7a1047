"""The plans behind rows, the rows of a plan, and how to walk through one: nodes, expressions, subqueries.

`QueryExecution` is a developer API of Spark, "subject to change": 4.3. So is every class of Catalyst.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    is_java_instance,
    java_class,
    java_class_name,
    once_for_context,
    scala_object,
    scala_sequence,
)

_CATALYST = "org.apache.spark.sql.catalyst"


def analyzed_plan(rows: DataFrame) -> Any:
    """Return the logical plan with all names resolved, before optimization. `_jdf`: 4.x classic."""
    return rows._jdf.queryExecution().analyzed()


def executed_plan(rows: DataFrame) -> Any:
    """Return the physical plan before adaptive execution changes it. `_jdf`: 4.x classic."""
    return rows._jdf.queryExecution().executedPlan()


def physical_plan_text(rows: DataFrame) -> str:
    """Return the physical plan as Spark prints it. `_jdf`: 4.x classic."""
    return str(rows._jdf.queryExecution().simpleString())


def column_types(rows: DataFrame) -> Iterator[DataType]:
    """Yield the types of the columns of every node in the analyzed plan, each once; subqueries' are included."""
    spark, waiting = rows.sparkSession, [analyzed_plan(rows)]
    subqueries, seen = pattern(spark, "PLAN_EXPRESSION"), set()
    while waiting:
        node = waiting.pop()
        if is_plan(node):
            schema = str(node.schema().json())
            if schema not in seen:
                seen.add(schema)
                yield from (field.dataType for field in StructType.fromJson(json.loads(schema)))
        if is_plan(node) and not node.containsPattern(subqueries):
            waiting += elements(node.children())
        elif node.containsPattern(subqueries):
            waiting += children_of(node)


def is_deterministic(rows: DataFrame) -> bool:
    """Whether Catalyst treats every expression of the plan, down to its sources, as deterministic: 4.3."""
    return bool(analyzed_plan(rows).deterministic())


def rows_of_plan(spark: SparkSession, plan: Any) -> DataFrame:
    """Return a logical plan's rows. `classic.Dataset.ofRows`: 4.x, where the package `classic` came."""
    dataset = java_class(spark, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def pattern(spark: SparkSession, name: str) -> Any:
    """Return one of Catalyst's tree patterns: a property of a node, or of one anywhere below it."""
    return getattr(java_class(spark, f"{_CATALYST}.trees.TreePattern"), name)()


def hold_any(spark: SparkSession, expressions: Any, patterns: list[Any]) -> bool:
    """Whether any of these expressions contains one of the patterns; a few calls, however many columns."""
    together = java_class(spark, f"{_CATALYST}.expressions.Coalesce")(expressions)
    return any(together.containsPattern(each) for each in patterns)


def error_of_constant(expression: Any) -> Exception | None:
    """Return what Spark raises for a constant expression; None if it has a value. `Expression.eval`: 4.3."""
    try:
        expression.eval(None)
    except (PySparkException, Py4JJavaError) as error:  # pyspark converts those it knows
        return error
    return None


def elements(sequence: Any) -> list[Any]:
    """Return the elements of a Scala sequence."""
    return [sequence.apply(number) for number in range(sequence.size())]


def is_plan(node: Any) -> bool:
    """Whether a tree node belongs to a plan, not to an expression."""
    return is_java_instance(node, f"{_CATALYST}.plans.QueryPlan")


def plans_in(spark: SparkSession, expression: Any) -> Iterator[Any]:
    """Yield the plans of an expression's subqueries."""
    subqueries = pattern(spark, "PLAN_EXPRESSION")
    waiting = [expression] if expression.containsPattern(subqueries) else []
    while waiting:
        node = waiting.pop()
        if is_plan(node):
            yield node
        elif node.containsPattern(subqueries):
            waiting += children_of(node)


def children_of(node: Any) -> list[Any]:
    """Return what is directly below a node of a plan or an expression: nodes, expressions, the plans of subqueries."""
    below = elements(node.children())
    if is_plan(node):
        return [*below, *elements(node.expressions())]
    if is_java_instance(node, f"{_CATALYST}.expressions.PlanExpression"):
        return [*below, node.plan()]
    return below


# Rows in an order: whether a plan shows that they are, and partitions that follow each other in it.
#
# The classes of Catalyst's logical plans, and their fields: 4.3.

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_ROW_BY_ROW = frozenset(
    ["CollectMetrics", "Filter", "Generate", "GlobalLimit", "LocalLimit", "Project", "Sample", "SubqueryAlias", "View"]
)


def compares_by_default(spark: SparkSession, sort: Any) -> bool:
    """Whether `array_sort` compares whole elements: it has no comparator, or one that says the same."""

    def default() -> str:
        (made,) = elements(analyzed_plan(spark.range(1).selectExpr("array_sort(array(id))")).expressions())
        return str(made.child().function().sql())

    return str(sort.function().sql()) == str(once_for_context(spark, "array_sort", default))


def are_sorted(rows: DataFrame) -> bool:
    """Whether the rows come from a sort of all rows, and Spark computes everything after it row by row."""
    plan = analyzed_plan(rows)
    while java_class_name(plan) in _ROW_BY_ROW:
        (plan,) = elements(plan.children())
    return java_class_name(plan) == "Sort" and bool(getattr(plan, "global")())


def in_ranges(ordered: DataFrame, partitions: int, first_by: DataFrame | None) -> DataFrame:
    """Return the rows of a sort in so many partitions, which follow each other in its order, each sorted.

    Within a partition, rows are first sorted as `first_by` is, a sort of the same rows. Equal rows are in one
    partition, so some partitions may be empty.
    """
    spark, sort = ordered.sparkSession, analyzed_plan(ordered)
    ranges = _ranges(spark, sort, partitions)
    first = [] if first_by is None else elements(analyzed_plan(first_by).order())
    order = scala_sequence(spark, [*first, *elements(sort.order())])
    none = scala_object(spark, "scala.None")
    return rows_of_plan(spark, java_class(spark, f"{_LOGICAL}.Sort")(order, False, ranges, none))


def ranges_of(ordered: DataFrame, partitions: int | None) -> DataFrame:
    """Return the rows of a sort in partitions that follow each other in its order, each in any order.

    In so many, or in as many as Spark likes if that is None.
    """
    return rows_of_plan(ordered.sparkSession, _ranges(ordered.sparkSession, analyzed_plan(ordered), partitions))


def _ranges(spark: SparkSession, sort: Any, partitions: int | None) -> Any:
    none = scala_object(spark, "scala.None")
    number = none if partitions is None else java_class(spark, "scala.Option").apply(partitions)
    return java_class(spark, f"{_LOGICAL}.RepartitionByExpression")(sort.order(), sort.child(), number, none)
