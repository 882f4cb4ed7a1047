"""Count operators' output rows in the plans that Spark executed.

    Filter      ← late     late     what Filter gave
      Join      ← joined   joined   what Join gave
        Scan    ← flights  flights  what Scan gave, if no filter went into it

The optimizer moves things, and the tag of an operator's output (see `origins`) moves with what equals it. Where `late`
goes below the join, the join gives what `late` would have given, and nobody knows how many rows `joined` alone has:

    Join        ← late     late     what Join gave
      Filter               joined   unknown
        Scan    ← flights

A condition goes through a projection, a filter, an aggregation or a join by making it anew, without its tag. It goes
through a sort, a window, a union and others that keep their tag: these are not counted.

The names of physical nodes and of their metrics: 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.spark_internals.origins import outputs_at

MOST_NODES = 400
"""A larger plan is not read: each node costs some milliseconds."""
_COUNTS = ("numOutputRows", "pythonNumRowsReceived")
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
# Physical leaves, and where their pushed filters are.
_LEAVES = {
    "FileSourceScanExec": ("dataFilters", "partitionFilters"),
    "InMemoryTableScanExec": ("predicates",),
    "LocalTableScanExec": (),
    "RDDScanExec": (),
    "RangeExec": (),
}
_WRITE = "DataWritingCommandExec"
# Logical nodes that are rebuilt when a condition is pushed through them.
_MADE_ANEW = frozenset(
    {"Aggregate", "Filter", "FlatMapGroupsInPandas", "Join", "MapInArrow", "MapInPandas", "Project"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One node of an executed plan: the outputs it returns, and their rows if Spark counts them."""

    outputs: frozenset[Output]
    rows: int | None
    children: tuple[PlanNode, ...]


def rows_by_output(plan: PlanNode) -> dict[Output, int]:
    """Return the rows of each output; the maximum if it was computed twice, since one may have ended early."""
    found: dict[Output, int] = {}
    for output, rows in _counts(plan, frozenset()):
        found[output] = max(rows, found.get(output, 0))
    return found


def _counts(node: PlanNode, above: frozenset[Output]) -> Iterator[tuple[Output, int]]:
    """Walk down the tree. Spark splits some steps in two (a partial aggregation): the upper one has the result."""
    if node.rows is not None:
        yield from ((output, node.rows) for output in node.outputs - above)
    for child in node.children:
        yield from _counts(child, above | node.outputs)


def read_plan(spark: SparkSession, query: Any) -> PlanNode:
    """Return a query's executed plan; raises PlanTooLargeError."""
    return _Reader(spark, MOST_NODES).node(query.executedPlan())


def rows_written(query: Any) -> int:
    """Return the number of rows in a file write's own metric: those of one attempt of each task."""
    plan = query.executedPlan()
    while (kind := _kind(plan)) != _WRITE:
        (plan,) = _children(plan, kind)
    return int(plan.metrics().apply("numOutputRows").value())


class PlanTooLargeError(GraphCompilerError):
    """A plan has too many nodes to read."""


@dataclass(slots=True)
class _Reader:
    """Reads one plan, no more than `left` nodes."""

    spark: SparkSession
    left: int

    def node(self, plan: Any) -> PlanNode:
        self.left -= 1
        if self.left < 0:
            raise PlanTooLargeError(f"the plan has more than {MOST_NODES} nodes")
        kind = _kind(plan)
        children = tuple(self.node(child) for child in _children(plan, kind))
        logical = _counterpart(plan, kind)
        return PlanNode(
            outputs=frozenset() if logical is None else outputs_at(self.spark, logical),
            rows=_rows(plan, kind, children),
            children=children,
        )


def _children(plan: Any, kind: str) -> list[Any]:
    """Return a node's children; adaptive execution and reuse keep them where the tree's own walk does not look."""
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
    """Return the logical node whose rows a physical one returns; None if there is no reliable one.

    Spark plans the filters and columns over a file in one step, and links all of it to the topmost of them. A node that
    gives what it gets is no counterpart: what is below it is.
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


def _first(logical: Any, fits: Callable[[Any], bool]) -> Any:
    """Return the first matching node, down a line of nodes with one input each."""
    while logical is not None and not fits(logical):
        children = logical.children()
        logical = children.apply(0) if children.size() == 1 else None
    return logical


def _unwrapped(logical: Any) -> Any:
    """Look into what adaptive execution puts around the stages that are done."""
    is_stage = _kind(logical) == "LogicalQueryStage"
    return _unwrapped(logical.logicalPlan()) if is_stage else logical


def _kind(node: Any) -> str:
    return str(node.productPrefix())


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
