"""A condition that puts each row into one of two outputs is decided once (decision 56).

    rows  →  a column with the decision  →  a generator  →  WHERE decision      and      WHERE NOT decision

Each output is a query of its own. Spark moves a condition below aggregates, windows and joins, and into sources. There
it sees other rows: 0.0 and -0.0 are one group, and two texts. No condition on what a generator returns is moved below
it, so both queries compute the same decision from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.operators.columns import event_times
from graph_compiler.spark_runtime.operators.scope import Scope
from graph_compiler.spark_runtime.spark_internals.compared_keys import compared_types
from graph_compiler.spark_runtime.spark_internals.plan_leaves import PlanLeaf, plan_leaves
from graph_compiler.spark_runtime.spark_internals.plans import column_types

DECIDED = "graph_compiler_decided"
"""The column with the decision; it is never NULL."""
_FIXED = "graph_compiler_fixed"
_EQUAL_IS_IDENTICAL = (
    *(BinaryType, BooleanType, DateType, DecimalType, IntegralType, NullType, TimeType),
    *(TimestampNTZType, TimestampType, DayTimeIntervalType, YearMonthIntervalType),
)
_IN_MEMORY = frozenset({"LocalRelation", "LogicalRDD", "OneRowRelation", "Range"})
"""Leaves of a plan that receive no condition."""


def equals_are_identical(kind: DataType) -> bool:
    """Whether no expression distinguishes two values of this type that Spark treats as equal.

    It does for 0.0 and -0.0, for NaNs, for texts with a collation, and for maps with another order.
    """
    if isinstance(kind, StructType):
        return all(equals_are_identical(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return equals_are_identical(kind.elementType)
    if isinstance(kind, StringType):
        return kind.isUTF8BinaryCollation()
    return isinstance(kind, _EQUAL_IS_IDENTICAL)


def why_decide_once(leaves: Iterable[PlanLeaf], types: Iterable[DataType]) -> str | None:
    """Return why a condition and its negation could both miss or take a row; None if they cannot.

    `leaves` are those of the plan below the condition, `types` those of every column in it. If all of them are such
    that equal values are identical, a condition is true for all rows with equal keys or for none, wherever Spark moves
    it. A source that is not a list of files could decide it by other rules than Spark.
    """
    other = next((each for each in leaves if each.listing is None and each.kind not in _IN_MEMORY), None)
    if other is not None:
        return f"its source ({other.kind}) may decide conditions by rules of its own"
    odd = next((kind for kind in types if not equals_are_identical(kind)), None)
    return None if odd is None else f"values of {odd.simpleString()} may be equal and not identical"


def must_decide_once(rows: DataFrame) -> bool:
    """Whether a condition on these rows, and its negation, must not be moved."""
    return why_decide_once(plan_leaves(rows), column_types(rows)) is not None


def fix_decision(decided: DataFrame, scope: Scope) -> DataFrame:
    """Return rows whose column DECIDED no condition passes."""
    view = f"LATERAL VIEW inline(array(named_struct('d', {DECIDED}))) {_FIXED} AS {_FIXED}"
    return scope.select("*", decided, view).drop(DECIDED).withColumnRenamed(_FIXED, DECIDED)


def kept_rows(decided: DataFrame, negation: str = "") -> DataFrame:
    """Return the rows of one output of a split, without the decision."""
    return decided.where(f"{negation} {DECIDED}").drop(DECIDED)


def compares_equal_keys(rows: DataFrame) -> bool:
    """Whether the operator that made these rows compares them by keys that may be equal and not identical."""
    return not all(map(equals_are_identical, compared_types(rows)))


def may_pass_watermark(rows: DataFrame) -> bool:
    """Whether Spark would move a condition on these rows of a stream before their watermark, which then misses rows.

    It would move a constant one below a join of two streams, too, whose state then misses rows.
    """
    return rows.isStreaming and bool(event_times(rows))


def fix_columns(rows: DataFrame) -> DataFrame:
    """Return rows that no condition passes: all columns are made by a generator. It costs column pruning."""
    fields = ", ".join(f"'{n}', {quoted(name)}" for n, name in enumerate(rows.columns))
    names = ", ".join(quoted(name) for name in rows.columns)
    return rows.selectExpr(f"inline(array(named_struct({fields}))) AS ({names})")
