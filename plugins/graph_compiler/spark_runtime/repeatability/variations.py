"""Why the rows of a plan may differ when Spark recomputes it; only this module judges plans (decision 9).

Catalyst's own flag comes first. It treats aggregates, windows and limits as deterministic, so the nodes that an
operator adds to its inputs' plans are searched for what `declaration/varying_rows.py` lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration import varying_rows
from graph_compiler.declaration.connectors import Delta, Iceberg, WhenReadTwice
from graph_compiler.declaration.operators import Source
from graph_compiler.declaration.varying_rows import (
    CHANGING_SOURCES,
    DECLARED,
    FREE_OF_ORDER,
    FREE_OF_TIES,
    Treatment,
    VaryingRows,
)
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.repeatability.source_files import OwnReads, changing_reads
from graph_compiler.spark_runtime.spark_internals.file_listings import drops_records
from graph_compiler.spark_runtime.spark_internals.java import java_class_name
from graph_compiler.spark_runtime.spark_internals.origins import outputs_at
from graph_compiler.spark_runtime.spark_internals.plans import (
    analyzed_plan,
    compares_by_default,
    elements,
    hold_any,
    is_deterministic,
    pattern,
    plans_in,
)

_DEPENDENT = tuple(row for row in varying_rows.VARYING_ROWS if row.classes)
_PATTERNS = ("AGGREGATE_EXPRESSION", "WINDOW_EXPRESSION", "PLAN_EXPRESSION")
_FLOATING = ("double", "float")
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
        return Variation(varying_rows.RANDOM, "an expression that Spark calls non-deterministic", True)
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
                yield from _in_expression(spark, expression, node)
                waiting += plans_in(spark, expression)
        waiting += elements(node.children())


def _has_collation(expressions: Any) -> bool:
    """Whether texts that one of these expressions treats as equal may differ."""
    types = (str(each.dataType().catalogString()) for each in elements(expressions))
    return any(_COLLATION in words for words in types)


def _keeps_all_columns(kind: str, node: Any) -> bool:
    """Whether it is a DISTINCT: if rows are equal in all columns, it does not matter which of them is kept."""
    return kind == "Deduplicate" and node.keys().size() == node.child().output().size()


def _in_expression(spark: SparkSession, expression: Any, node: Any) -> Iterator[Variation]:
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
        if kind == "SortArray" or (kind == "ArraySort" and compares_by_default(spark, current)):
            below = [each for each in below if not _is_collected(each)]  # in whatever order
        waiting += below


def _is_collected(expression: Any) -> bool:
    """Whether it is an array of what rows have, in which what is equal is identical."""
    is_aggregate = java_class_name(expression) == "AggregateExpression"
    is_collected = is_aggregate and java_class_name(expression.aggregateFunction()) in _COLLECTS
    return is_collected and _COLLATION not in str(expression.dataType().catalogString())


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
    """Whether an aggregate has an order, WITHIN GROUP (ORDER BY …), in which what is equal is identical."""
    if kind == "ListAgg":
        texts, orders = function.child(), elements(function.orderExpressions())
        values = texts.child() if java_class_name(texts) == "Cast" else texts
        is_sorted = any(bool(order.child().semanticEquals(each)) for order in orders for each in (texts, values))
        kinds = [str(each.dataType().catalogString()) for each in (texts, values)]
        return is_sorted and not any(_COLLATION in kind or kind in _FLOATING for kind in kinds)  # -0.0 is 0.0 in order
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an operator adds to the knowledge about its inputs; `reads` is what it reads by itself."""

    variation: Variation | None
    reads: OwnReads

    @classmethod
    def of(cls, operator: OperatorDescriptor, rows: DataFrame, inputs: Sequence[DataFrame]) -> Judgement:
        """Judge one output: by its declaration, what it reads, and its plan.

        For an operator that is declared deterministic, only the variations that are certain count.
        """
        is_source, reads = isinstance(operator.operator, Source), _own_reads(operator, rows, inputs)
        if words := operator.operator.why_unrepeatable():
            return cls(Variation(DECLARED, words, is_certain=True), reads)
        if reads.changing:
            found = "its source" if is_source else reads.changing[0]
            return cls(Variation(CHANGING_SOURCES, found), reads)
        variation = why_rows_vary(rows)
        is_doubted = variation is not None and not variation.is_certain
        return cls(None if is_doubted and operator.settings.deterministic else variation, reads)


def queries_differ(operator: OperatorDescriptor, rows: DataFrame, inputs: Sequence[DataFrame]) -> bool:
    """Whether two queries of an operator over rows that it has made of its inputs may see different rows."""
    if why_rows_vary(rows) is not None:
        return True
    if operator.settings.deterministic:
        return False
    return bool(changing_reads(operator.operator, rows, inputs))


def _own_reads(operator: OperatorDescriptor, rows: DataFrame, inputs: Sequence[DataFrame]) -> OwnReads:
    """Return what an operator reads by itself; if it is declared deterministic, none of that changes."""
    kind = operator.operator
    if not isinstance(kind, Source):
        reads = OwnReads.of(kind, rows, inputs)
    elif kind.connector.when_read_twice in (WhenReadTwice.SAME, WhenReadTwice.SNAPSHOT):
        reads = OwnReads(uncompared=_tables(kind))
    else:
        # None of our file readers makes rows on the driver: a test gave them.
        is_listed = kind.connector.when_read_twice is WhenReadTwice.LISTED
        reads = OwnReads.of_source(rows, holds_given_rows=is_listed)
    return replace(reads, changing=(), uncompared=()) if operator.settings.deterministic else reads


def _tables(source: Source) -> tuple[str, ...]:
    """Return the table of a source that a later attempt may find with other commits."""
    connector = source.connector
    if not isinstance(connector, Iceberg | Delta) or source.has_position or connector.timestamp is not None:
        return ()
    is_commit = connector.version is not None and str(connector.version).isdigit()  # not a tag or a branch
    return () if is_commit else (f"the commits of {connector.place}",)


@dataclass(slots=True)
class Variations:
    """Why recomputing each output may change it; a fixed output is read back, so it no longer varies."""

    _open: dict[Output, tuple[Variation, ...]] = field(default_factory=dict)
    _ever: set[Output] = field(default_factory=set)

    def note(
        self,
        output: Output,
        sources: Iterable[Output],
        inherited: tuple[Variation, ...],
        own: Variation | None,
        fixed: Iterable[Variation] = (),
    ) -> None:
        """Record an output's variations: its own, and those of its sources that are not fixed.

        `fixed` are those of rows that were staged while it was evaluated: another execution may stage other rows.
        """
        found = dict.fromkeys([*inherited, *([own] if own else [])])
        self._open[output] = tuple(sorted(found, key=lambda each: each.is_in_last_digits))
        is_other = not self._ever.isdisjoint(sources) or any(map(_is_other_rows, [*found, *fixed]))
        if is_other:
            self._ever.add(output)

    def of(self, outputs: Iterable[Output]) -> tuple[Variation, ...]:
        """Return why any of these outputs may vary: each reason once, the most important first."""
        found = dict.fromkeys(each for output in outputs for each in self._open.get(output, ()))
        return tuple(sorted(found, key=lambda each: each.is_in_last_digits))

    def why_two_readers_differ(self, output: Output) -> Variation | None:
        """Return why two readers of an output would see different rows; the last digits of a sum do not count."""
        return next((each for each in self.of([output]) if not each.is_in_last_digits), None)

    def settle(self, output: Output) -> None:
        """Record that an output is fixed: from now on it is read, not computed."""
        self._open[output] = ()

    def ever(self, output: Output) -> bool:
        """Whether another execution may compute different rows of an output, even if it is fixed in this one."""
        return output in self._ever


def _is_other_rows(variation: Variation) -> bool:
    return not variation.is_in_last_digits
