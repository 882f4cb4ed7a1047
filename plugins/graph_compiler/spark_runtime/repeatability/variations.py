"""Why the rows of a plan may differ when Spark recomputes it; only this module judges plans (decision 9).

Catalyst's own flag comes first. It treats aggregates, windows and limits as deterministic, so the nodes that an
operator adds to its inputs' plans are searched for what `declaration/varying_rows.py` lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration import varying_rows
from graph_compiler.declaration.varying_rows import (
    FREE_OF_ORDER,
    FREE_OF_TIES,
    Treatment,
    VaryingRows,
)
from graph_compiler.spark_runtime.spark_internals.file_listings import drops_records
from graph_compiler.spark_runtime.spark_internals.java import java_class_name
from graph_compiler.spark_runtime.spark_internals.origins import outputs_at
from graph_compiler.spark_runtime.spark_internals.plans import (
    analyzed_plan,
    elements,
    hold_any,
    is_deterministic,
    pattern,
    plans_in,
)

_DEPENDENT = tuple(row for row in varying_rows.VARYING_ROWS if row.classes)
_PATTERNS = ("AGGREGATE_EXPRESSION", "WINDOW_EXPRESSION", "PLAN_EXPRESSION")
_FLOATING = ("double", "float")
_SORTS = ("SortArray", "ArraySort")
_COLLECTS = ("CollectList", "CollectSet")
_GROUPING = {
    "Aggregate": "groupingExpressions",
    "Deduplicate": "keys",
    "Distinct": "output",
    "Except": "output",
    "Intersect": "output",
}
"""Nodes that return one row for several, and their method that returns what is equal in these."""
_COLLATION = " collate "
"""In Catalyst's words for a type of text with a collation, at any depth."""


@dataclass(frozen=True, slots=True)
class Variation:
    """Why rows may differ: a row of that table, and what was found in the plan.

    `is_certain`: Catalyst or the declaration shows it; otherwise it depends on unknown rows (are there ties?).
    """

    row: VaryingRows
    found: str
    is_certain: bool = False

    @property
    def is_in_last_digits(self) -> bool:
        """Whether rows differ only in the last digits of a sum."""
        return self.row.treatment is Treatment.SPLIT

    def __str__(self) -> str:
        """Return what was found, and why it can change rows."""
        if self.row is varying_rows.DECLARED:
            return self.found
        return f"{self.found}: {self.row.reason}"


def why_rows_vary(rows: DataFrame) -> Variation | None:
    """Return why recomputing rows from the same inputs may change them; None if it gives the same rows.

    Reasons that affect more than the last digits of a sum come first. The search ends at nodes that are the output of
    another operator: what is below them was judged with that operator.
    """
    if not is_deterministic(rows):
        return Variation(
            varying_rows.RANDOM, "an expression that Spark calls non-deterministic", True
        )
    found = list(_found(rows.sparkSession, analyzed_plan(rows)))
    return min(found, key=lambda each: each.is_in_last_digits, default=None)


def _found(spark: SparkSession, plan: Any) -> Iterator[Variation]:
    patterns = [pattern(spark, name) for name in _PATTERNS]
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if outputs_at(spark, node):
            continue
        kind = java_class_name(node)
        if (row := _row_of(kind)) is not None and not _keeps_all_columns(kind, node):
            yield Variation(row, kind)
        if kind in _GROUPING and _has_collation(getattr(node, _GROUPING[kind])()):
            yield Variation(varying_rows.EQUAL_TEXTS, kind)
        if drops_records(node):
            yield Variation(varying_rows.DROPPED_RECORDS, "DROPMALFORMED", is_certain=True)
        if hold_any(spark, node.expressions(), patterns):
            for expression in elements(node.expressions()):
                yield from _in_expression(expression, node)
                waiting += plans_in(spark, expression)
        waiting += elements(node.children())


def _has_collation(expressions: Any) -> bool:
    """Whether texts that one of these expressions treats as equal may differ."""
    types = (str(each.dataType().catalogString()) for each in elements(expressions))
    return any(_COLLATION in words for words in types)


def _keeps_all_columns(kind: str, node: Any) -> bool:
    """Whether it is a DISTINCT: if rows are equal in all columns, it does not matter which of them is kept."""
    return kind == "Deduplicate" and node.keys().size() == node.child().output().size()


def _in_expression(expression: Any, node: Any) -> Iterator[Variation]:
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        kind = java_class_name(current)
        if kind == "WindowExpression":
            if (of_window := _of_window(current, node)) is not None:
                yield of_window
            continue
        if kind == "AggregateExpression":
            if (of_aggregate := _of_aggregate(current.aggregateFunction())) is not None:
                yield of_aggregate
            continue
        below = elements(current.children())
        if kind in _SORTS:  # it keeps the order in which rows were collected
            below = [each for each in below if not _is_collected(each)]
        waiting += below


def _is_collected(expression: Any) -> bool:
    is_aggregate = java_class_name(expression) == "AggregateExpression"
    return is_aggregate and java_class_name(expression.aggregateFunction()) in _COLLECTS


def _of_aggregate(function: Any) -> Variation | None:
    kind, row = java_class_name(function), _row_of(java_class_name(function))
    if kind in ("Max", "Min") and _COLLATION in str(function.dataType().catalogString()):
        return Variation(varying_rows.EQUAL_TEXTS, f"{function.prettyName()}(…)")
    if kind in FREE_OF_ORDER or _has_order(kind, function):
        return None
    if row is varying_rows.LAST_DIGITS and function.dataType().typeName() not in _FLOATING:
        return None
    return Variation(row or varying_rows.SKETCHES, f"{function.prettyName()}(…)")


def _has_order(kind: str, function: Any) -> bool:
    """Whether an aggregate has an order: WITHIN GROUP (ORDER BY …)."""
    if kind == "ListAgg":
        return bool(function.orderExpressions().nonEmpty())
    return kind == "Mode" and bool(function.reverseOpt().isDefined())


def _of_window(window: Any, node: Any) -> Variation | None:
    function, spec = window.windowFunction(), window.windowSpec()
    kind = java_class_name(function)
    if kind in FREE_OF_TIES or _is_total(spec, node):
        return None
    if kind == "AggregateExpression":
        of_aggregate = _of_aggregate(function.aggregateFunction())
        if of_aggregate is not None or not _counts_rows(spec):
            return of_aggregate
    return Variation(varying_rows.WINDOWS, f"{function.prettyName()}(…) OVER (…)")


def _counts_rows(spec: Any) -> bool:
    """Whether a frame begins or ends at a number of rows, not at a value of the order."""
    frame = spec.frameSpecification()
    if java_class_name(frame) != "SpecifiedWindowFrame":
        return False
    ends = (java_class_name(frame.lower()), java_class_name(frame.upper()))
    is_whole = ends == ("UnboundedPreceding$", "UnboundedFollowing$")
    return java_class_name(frame.frameType()) == "RowFrame$" and not is_whole


def _is_total(spec: Any, node: Any) -> bool:
    """Whether rows that are equal in a window's keys and order are equal in all columns: then ties do not matter."""
    keys = elements(spec.partitionSpec())
    keys += [order.child() for order in elements(spec.orderSpec())]
    ids = {str(key.exprId()) for key in keys if java_class_name(key) == "AttributeReference"}
    children = elements(node.children())
    columns = {str(each.exprId()) for child in children for each in elements(child.output())}
    return columns <= ids and not any(_has_collation(child.output()) for child in children)


def _row_of(kind: str) -> VaryingRows | None:
    return next((row for row in _DEPENDENT if kind in row.classes), None)
