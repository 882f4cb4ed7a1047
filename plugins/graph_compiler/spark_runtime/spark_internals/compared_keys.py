"""The keys by which an operator's plan compares rows: of groups, windows, joins and set operators.

Spark moves conditions on these keys below the node that compares them. Catalyst's nodes and their fields: 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, _parse_datatype_json_string

from graph_compiler.spark_runtime.spark_internals.java import java_class_name
from graph_compiler.spark_runtime.spark_internals.origins import outputs_at
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, children_of, elements, is_plan, pattern

_KEYS = {"Aggregate": "groupingExpressions", "Deduplicate": "keys", "Window": "partitionSpec"}
_WHOLE_ROWS = frozenset({"Distinct", "Except", "Intersect"})


def compared_types(rows: DataFrame) -> Iterator[DataType]:
    """Yield the types of keys in the nodes that an operator has added to the plans of its inputs.

    Of a join, they are the types of all columns that its condition names.
    """
    spark, waiting = rows.sparkSession, [analyzed_plan(rows)]
    subqueries = pattern(spark, "PLAN_EXPRESSION")
    while waiting:
        node = waiting.pop()
        if not is_plan(node):
            waiting += children_of(node) if node.containsPattern(subqueries) else ()
            continue
        if outputs_at(spark, node):
            continue
        kind = java_class_name(node)
        if kind in _KEYS:
            yield from _types(getattr(node, _KEYS[kind])())
        elif kind in _WHOLE_ROWS:
            yield from _types(node.output())
        elif kind == "Join" and node.condition().isDefined():
            yield from _types(node.condition().get().references().toSeq())
        waiting += children_of(node) if node.containsPattern(subqueries) else elements(node.children())


def _types(expressions: Any) -> Iterator[DataType]:
    for each in elements(expressions):
        yield _parse_datatype_json_string(str(each.dataType().json()))
