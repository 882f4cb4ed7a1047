"""Rows in an order: whether a plan shows that they are, and partitions that follow each other in it.

The classes of Catalyst's logical plans, and their fields: 4.3.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from graph_compiler.spark_runtime.spark_internals.java import (
    java_class,
    java_class_name,
    scala_object,
    scala_sequence,
)
from graph_compiler.spark_runtime.spark_internals.plans import (
    analyzed_plan,
    elements,
    rows_of_plan,
)

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_ROW_BY_ROW = frozenset(
    [
        "CollectMetrics",
        "Filter",
        "Generate",
        "GlobalLimit",
        "LocalLimit",
        "Project",
        "Sample",
        "SubqueryAlias",
        "View",
    ]
)


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
    none = scala_object(spark, "scala.None")
    number = java_class(spark, "scala.Option").apply(partitions)
    ranges = java_class(spark, f"{_LOGICAL}.RepartitionByExpression")(
        sort.order(), sort.child(), number, none
    )
    first = [] if first_by is None else elements(analyzed_plan(first_by).order())
    order = scala_sequence(spark, [*first, *elements(sort.order())])
    return rows_of_plan(spark, java_class(spark, f"{_LOGICAL}.Sort")(order, False, ranges, none))
