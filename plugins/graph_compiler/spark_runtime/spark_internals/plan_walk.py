"""Steps through a plan of Catalyst's, from nodes to their expressions and subqueries."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark import SparkContext
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import java_class

_CATALYST = "org.apache.spark.sql.catalyst"


def pattern(spark: SparkSession, name: str) -> Any:
    """Return one of Catalyst's tree patterns: what a node has of its own, or somewhere below it."""
    return getattr(java_class(spark, f"{_CATALYST}.trees.TreePattern"), name)()


def elements(sequence: Any) -> list[Any]:
    """Return what a Scala sequence holds."""
    return [sequence.apply(number) for number in range(sequence.size())]


def is_plan(node: Any) -> bool:
    """Whether a tree node is one of a plan, and not an expression."""
    return bool(is_instance_of(SparkContext._gateway, node, f"{_CATALYST}.plans.QueryPlan"))


def children_of(node: Any) -> list[Any]:
    """Return what is directly below a plan's node or an expression: nodes, expressions, the plans of subqueries."""
    below = elements(node.children())
    if is_plan(node):
        return [*below, *elements(node.expressions())]
    if is_instance_of(SparkContext._gateway, node, f"{_CATALYST}.expressions.PlanExpression"):
        return [*below, node.plan()]
    return below
