"""Count operators' output rows in the plans that Spark executed.

    Filter      ← late     late     the output of Filter
    Join      ← joined   joined   the output of Join
     Scan    ← flights  flights  the output of Scan, if no filter was pushed into it

The optimizer moves nodes, and the tag of an operator's output (see `origins`) moves to the node with the same rows. If
`late` is pushed below the join, the join returns the rows of `late`, and the number of rows of `joined` is unknown:

    Join        ← late     late     what Join gave
      Filter               joined   unknown
        Scan    ← flights

To push a condition through a projection, a filter, an aggregation or a join, the optimizer makes that node again,
without its tag. A sort, a window, a union and others keep their tags when a condition is pushed through them, so they
are not counted.

The names of physical nodes and of their metrics: 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.spark_internals.executed_parts import (
    BROADCAST,
    HIDDEN_EXCHANGES,
    OF_SPARK_ALONE,
    SHUFFLE,
    WRAPPERS,
    WRITE,
    Exchange,
    PartitionRead,
    exchange_of,
    is_command,
    is_repartition,
    operators_of,
    partitions_computed,
    rdd_computed,
    rdd_written,
    reads_of,
    splits_of,
    was_executed,
)
from graph_compiler.spark_runtime.spark_internals.origins import outputs_at

MOST_NODES = 400
"""Larger plans are not read: each node takes some milliseconds."""
_COUNTS = ("numOutputRows", "pythonNumRowsReceived")
_METRIC = re.compile(r"(\w+) -> SQLMetric\(id: \d+, name: (?:Some\([^()]*\)|None), value: (-?\d+)\)")
# Physical nodes that return every input row.
_KEEP_ROWS = frozenset(
    {
        "AQEShuffleReadExec", "AdaptiveSparkPlanExec", "ArrowEvalPythonExec", "BatchEvalPythonExec",
        "BroadcastExchangeExec", "BroadcastQueryStageExec", "CoalesceExec", "ColumnarToRowExec",
        "InputAdapter", "ProjectExec", "ResultQueryStageExec", "ReusedExchangeExec",
        "ShuffleExchangeExec", "ShuffleQueryStageExec", "SortExec", "WholeStageCodegenExec",
        "WindowExec",
    }
)  # fmt: skip
# Physical leaves, and the names of their pushed filters.
_LEAVES = {
    "FileSourceScanExec": ("dataFilters", "partitionFilters"),
    "InMemoryTableScanExec": ("predicates",),
    "LocalTableScanExec": (),
    "RDDScanExec": (),
    "RangeExec": (),
}
# Logical nodes that are rebuilt when a condition is pushed through them.
_MADE_ANEW = frozenset(
    {"Aggregate", "Filter", "FlatMapGroupsInPandas", "Generate", "Join", "MapInArrow", "MapInPandas", "Project"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One node of an executed plan: the outputs that it returns, and their number of rows if Spark counts them.

    `operators` are those that it computes, as far as its logical nodes show. `rdd_id` is set at the top of a part that
    ran in one stage. `exchange` is set if its child belongs to another part; `reads` says what each task reads from
    the exchange below, after adaptive execution. `splits` are those of a leaf, `partitions` those of an input of a
    union.
    """

    outputs: frozenset[Output]
    rows: int | None
    children: tuple[PlanNode, ...]
    kind: str = ""
    operators: frozenset[int] = frozenset()
    has_run: bool = True
    rdd_id: int | None = None
    exchange: Exchange | None = None
    reads: tuple[PartitionRead | None, ...] | None = None
    splits: int | None = None
    partitions: int | None = None


def rows_by_output(plan: PlanNode) -> dict[Output, int]:
    """Return the rows of each output; the maximum if it was computed twice, since one may have ended early."""
    found: dict[Output, int] = {}
    for output, rows in _counts(plan, frozenset()):
        found[output] = max(rows, found.get(output, 0))
    return found


def _counts(node: PlanNode, above: frozenset[Output]) -> Iterator[tuple[Output, int]]:
    """Walk down the tree. Spark splits some steps in two (a partial aggregation): the upper node has the result."""
    if node.rows is not None:
        yield from ((output, node.rows) for output in node.outputs - above)
    for child in node.children:
        yield from _counts(child, above | node.outputs)


def read_executed_plan(spark: SparkSession, query: Any) -> tuple[PlanNode, Exception | None]:
    """Return a query's executed plan, and why its parts are not known, None if they are; raises PlanTooLargeError."""
    reader = _Reader(spark, MOST_NODES)
    return reader.node(query.executedPlan()), reader.why_no_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMetrics:
    """What one attempt of each task of a file write has written, as the executors saw it."""

    rows: int
    files: int
    bytes: int


def write_metrics(query: Any) -> WriteMetrics:
    """Return a file write's own metrics."""
    plan = query.executedPlan()
    while (kind := _kind(plan)) != WRITE:
        (plan,) = _children(plan, kind)
    # All in one text: of each, py4j would ask for the object, for its value, and to let it go.
    said = {name: int(value) for name, value in _METRIC.findall(str(plan.metrics().toString()))}
    return WriteMetrics(rows=said["numOutputRows"], files=said["numFiles"], bytes=said["numOutputBytes"])


class PlanTooLargeError(GraphCompilerError):
    """A plan has too many nodes to read."""


@dataclass(slots=True)
class _Reader:
    """Reads one plan, at most `left` nodes of it.

    Rows are read even if the parts cannot be: they need more of what is private to Spark.
    """

    spark: SparkSession
    left: int
    why_no_parts: Exception | None = None

    def node(self, plan: Any, *, is_top: bool = True, stage: Any = None) -> PlanNode:
        """Return a node; `is_top`: it is the first of its part. `stage` is the query stage whose exchange it is."""
        self.left -= 1
        if self.left < 0:
            raise PlanTooLargeError(f"the plan has more than {MOST_NODES} nodes")
        kind = _kind(plan)
        below = _children(plan, kind)
        begins = (is_top and kind in WRAPPERS) or kind == BROADCAST or kind in HIDDEN_EXCHANGES
        own = plan if kind in ("BroadcastQueryStageExec", "ShuffleQueryStageExec") else None
        kept = stage if kind == "ReusedExchangeExec" else own
        children = tuple(self.node(child, is_top=begins, stage=kept) for child in below)
        logical = _counterpart(plan, kind)
        found = PlanNode(
            outputs=frozenset() if logical is None else outputs_at(self.spark, logical),
            rows=_rows(plan, kind, children),
            children=children,
            kind=kind,
        )
        if self.why_no_parts is None:
            try:
                return self._with_part(found, plan, below, stage=stage, is_top=is_top and kind not in WRAPPERS)
            except Exception as error:  # it reads more private parts of Spark
                self.why_no_parts = error
        return found

    def _with_part(self, node: PlanNode, plan: Any, below: list[Any], *, stage: Any, is_top: bool) -> PlanNode:
        kind = node.kind
        operators = frozenset(_operators(plan, kind, is_leaf=not below))
        node = replace(node, operators=operators, has_run=all(child.has_run for child in node.children))
        if kind in (SHUFFLE, BROADCAST):
            return self._with_exchange(node, plan, stage)
        if kind == "UnionExec" and node.has_run:
            pairs = zip(node.children, below, strict=True)
            counted = tuple(replace(child, partitions=partitions_computed(plan)) for child, plan in pairs)
            node = replace(node, children=counted)
        if kind in HIDDEN_EXCHANGES:
            node = replace(node, exchange=Exchange(kind="single"))
        if kind == "AQEShuffleReadExec":
            node = replace(node, reads=reads_of(plan))
        if not below:
            node = replace(node, splits=splits_of(plan, kind))
        if is_top and node.has_run and not is_command(plan, kind):
            node = replace(node, rdd_id=rdd_computed(plan))
        return node

    def _with_exchange(self, node: PlanNode, plan: Any, stage: Any) -> PlanNode:
        if not was_executed(plan, node.kind, is_stage=stage is not None and bool(stage.isMaterialized())):
            return replace(node, has_run=False, exchange=Exchange(kind="unknown"))
        (child,) = node.children
        if node.kind == SHUFFLE:
            child = replace(child, rdd_id=rdd_written(plan))
        exchange = exchange_of(self.spark, plan, node.kind, stage)
        return replace(node, children=(child,), exchange=exchange, has_run=True)


def _children(plan: Any, kind: str) -> list[Any]:
    """Return a node's children; adaptive execution and reuse keep them outside the tree's own list of children."""
    if kind == "AdaptiveSparkPlanExec":
        return [plan.executedPlan()]
    if kind.endswith("QueryStageExec"):
        return [plan.plan()]
    if kind == "ReusedExchangeExec":
        return [plan.child()]
    return list(_each(plan.children()))


def _rows(plan: Any, kind: str, children: tuple[PlanNode, ...]) -> int | None:
    if kind in _KEEP_ROWS:
        return children[0].rows
    metrics = plan.metrics()
    found = (metrics.get(name) for name in _COUNTS)
    return next((int(metric.get().value()) for metric in found if metric.isDefined()), None)


def _counterpart(plan: Any, kind: str) -> Any:
    """Return the logical node with the same rows as a physical one; None if there is none that is reliable.

    Spark plans the filters and columns over a file in one step, and links all of it to the topmost of them. A node that
    returns its input unchanged has no counterpart: the node below it has.
    """
    if kind in _KEEP_ROWS and kind != "ProjectExec":
        return None
    link = plan.logicalLink()
    logical = _unwrapped(link.get()) if link.isDefined() else None
    if kind in _LEAVES:
        is_whole = all(getattr(plan, name)().isEmpty() for name in _LEAVES[kind])
        return _first(logical, lambda node: node.children().isEmpty()) if is_whole else None
    if kind in ("FilterExec", "ProjectExec"):
        return _first(logical, lambda node: _kind(node) == kind.removesuffix("Exec"))
    return logical if logical is not None and _kind(logical) in _MADE_ANEW else None


def _operators(plan: Any, kind: str, *, is_leaf: bool) -> Iterator[int]:
    """Yield the operators that a physical node computes.

    A leaf computes all that is linked to it; an exchange is an operator's own only if that asked for it.
    """
    if kind in OF_SPARK_ALONE or kind in WRAPPERS or kind.endswith("QueryStageExec"):
        return
    link = plan.logicalLink()
    if not link.isDefined():
        return
    logical = _unwrapped(link.get())
    if kind == SHUFFLE and not is_repartition(logical):
        return
    if kind in ("FilterExec", "ProjectExec"):
        logical = _first(logical, lambda node: _kind(node) == kind.removesuffix("Exec")) or logical
    while logical is not None:
        yield from operators_of(logical)
        below = logical.children() if is_leaf else None
        logical = below.apply(0) if below is not None and below.size() == 1 else None


def _first(logical: Any, fits: Callable[[Any], bool]) -> Any:
    """Return the first matching node, down a line of nodes with one input each."""
    while logical is not None and not fits(logical):
        children = logical.children()
        logical = children.apply(0) if children.size() == 1 else None
    return logical


def _unwrapped(logical: Any) -> Any:
    """Return the logical node inside the one that adaptive execution puts around finished stages."""
    is_stage = _kind(logical) == "LogicalQueryStage"
    return _unwrapped(logical.logicalPlan()) if is_stage else logical


def _kind(node: Any) -> str:
    return str(node.productPrefix())


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
