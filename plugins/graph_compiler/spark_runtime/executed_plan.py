"""What Spark executed, as plain values: each node with the operators it works for and the rows it gave.

A write makes a query of its own, so the DataFrame's plan stays without metrics; a listener gets the query that ran.
Row counts are Spark's SQL metrics, summed over tasks that succeeded. Adaptive execution has put the last plan there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.origins import ACTION, OPERATOR, named

MOST_NODES = 1000
"""A larger plan is not looked at: each node costs a few milliseconds."""
DELIVERY_MILLISECONDS = 10_000
_ROWS = ("numOutputRows", "pythonNumRowsReceived")
# They give every row they get, so whoever put them there changes no count.
_KEEP_ROWS = frozenset(
    {
        "AQEShuffleReadExec", "AdaptiveSparkPlanExec", "ArrowEvalPythonExec", "BatchEvalPythonExec",
        "BroadcastExchangeExec", "BroadcastQueryStageExec", "CoalesceExec", "ColumnarToRowExec",
        "DataWritingCommandExec", "InputAdapter", "ProjectExec", "ResultQueryStageExec",
        "ReusedExchangeExec", "RowToColumnarExec", "ShuffleExchangeExec", "ShuffleQueryStageExec",
        "SortExec", "WholeStageCodegenExec", "WindowExec", "WriteFilesExec",
    }
)  # fmt: skip
# Leaves that hold no more of the query than the filters they show.
_PLAIN_LEAVES = frozenset(
    {
        "FileSourceScanExec",
        "InMemoryTableScanExec",
        "LocalTableScanExec",
        "RDDScanExec",
        "RangeExec",
    }
)
_COMPARISONS = frozenset(
    {"EqualTo", "GreaterThan", "GreaterThanOrEqual", "In", "InSet", "LessThan", "LessThanOrEqual"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One node of an executed plan. `owners` are node ids of operators; most nodes have one, Spark's own none.

    `is_foreign`: it may drop or add rows for an operator nobody knows. `rows` None: Spark does not count there.
    """

    owners: frozenset[int]
    is_foreign: bool
    rows: int | None
    children: tuple[PlanNode, ...]
    all_owners: frozenset[int] = field(init=False)
    """Those of the whole subtree."""
    holds_foreign: bool = field(init=False)

    def __post_init__(self) -> None:
        all_owners = self.owners.union(*(child.all_owners for child in self.children))
        holds_foreign = self.is_foreign or any(child.holds_foreign for child in self.children)
        object.__setattr__(self, "all_owners", all_owners)
        object.__setattr__(self, "holds_foreign", holds_foreign)


@dataclass(slots=True)
class ExecutedQueries:
    """Gathers the queries that actions run, between `start` and `stop`."""

    spark: SparkSession
    _queries: list[tuple[str, Any]] = field(default_factory=list)

    class Java:
        """Names the interface, for py4j."""

        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)

    def start(self) -> None:
        """Listen; Spark calls back on a loopback port, with the secret its gateway has."""
        ensure_callback_server_started(  # type: ignore[no-untyped-call]  # pyspark's own
            self.spark.sparkContext._gateway
        )
        self.spark._jsparkSession.listenerManager().register(self)

    def stop(self) -> None:
        """Listen no more."""
        self.spark._jsparkSession.listenerManager().unregister(self)

    def onSuccess(self, _function: str, query: Any, _nanoseconds: int) -> None:  # noqa: N802  # Spark's name
        """Take a query that has ended, if an action ran it."""
        action = named(query.logical().origin(), ACTION)
        if action is not None:
            self._queries.append((action, query))

    def onFailure(self, _function: str, _query: Any, _error: Any) -> None:  # noqa: N802  # Spark's name
        """Let a failed query go: it has no rows to speak of."""

    def of_action(self, name: str) -> tuple[PlanNode, ...]:
        """Give the plans an action executed, once Spark has delivered all it has to say."""
        context = self.spark.sparkContext._jsc
        assert context is not None
        context.sc().listenerBus().waitUntilEmpty(DELIVERY_MILLISECONDS)
        mine = [query for action, query in self._queries if action == name]
        self._queries = [found for found in self._queries if found[0] != name]
        return tuple(_node(query.executedPlan(), _Budget(MOST_NODES)) for query in mine)


class PlanTooLargeError(Exception):
    """A plan has more nodes than are worth reading."""


@dataclass(slots=True)
class _Budget:
    left: int

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PlanTooLargeError(f"the plan has more than {MOST_NODES} nodes")


def _node(plan: Any, budget: _Budget) -> PlanNode:
    budget.spend()
    kind = plan.getClass().getSimpleName()
    children = tuple(_node(child, budget) for child in _children(plan, kind))
    owners, is_known = _owners(plan, kind)
    return PlanNode(
        owners=owners,
        is_foreign=not is_known and kind not in _KEEP_ROWS,
        rows=_rows(plan, kind, children),
        children=children,
    )


def _children(plan: Any, kind: str) -> list[Any]:
    """Give what a node reads; adaptive execution and reuse hold it where the tree's own walk does not look."""
    if kind == "AdaptiveSparkPlanExec":
        return [plan.executedPlan()]
    if kind.endswith("QueryStageExec"):
        return [plan.plan()]
    if kind == "ReusedExchangeExec":
        return [plan.child()]
    return list(_each(plan.children()))


def _rows(plan: Any, kind: str, children: tuple[PlanNode, ...]) -> int | None:
    known = [child.rows for child in children if child.rows is not None]
    if kind == "UnionExec" and len(known) == len(children):
        return sum(known)
    if kind in _KEEP_ROWS and known:
        return known[0]
    metrics = plan.metrics()
    found = [metrics.get(name) for name in _ROWS]
    return next((int(metric.get().value()) for metric in found if metric.isDefined()), None)


def _owners(plan: Any, kind: str) -> tuple[frozenset[int], bool]:
    """Give whom a node works for, and whether that is all of them.

    Spark plans filters and columns over a file in one step, which takes the owner of the topmost of them; so a filter's
    owners are those of its conditions, and a scan's those of the conditions pushed into it.
    """
    link = plan.logicalLink()
    logical = _unwrapped(link.get()) if link.isDefined() else None
    owner = None if logical is None else named(logical.origin(), OPERATOR)
    if kind == "FilterExec":
        return _owners_of_conditions(list(_conjuncts(plan.condition())), owner)
    if kind in _PLAIN_LEAVES:
        owners, is_known = _owners_of_conditions(list(_pushed(plan, kind)), owner)
        return owners | _source(logical), is_known
    return _ids([owner]), owner is not None


def _unwrapped(logical: Any) -> Any:
    """Look into what adaptive execution puts around the stages that are done."""
    is_stage = logical.getClass().getSimpleName() == "LogicalQueryStage"
    return _unwrapped(logical.logicalPlan()) if is_stage else logical


def _source(logical: Any) -> frozenset[int]:
    leaves = [] if logical is None else list(_each(logical.collectLeaves()))
    return (
        _ids([named(leaf.origin(), OPERATOR) for leaf in leaves]) if len(leaves) == 1 else _ids([])
    )


def _pushed(plan: Any, kind: str) -> Iterator[Any]:
    filters = {
        "FileSourceScanExec": ("dataFilters", "partitionFilters"),
        "InMemoryTableScanExec": ("predicates",),
    }
    for name in filters.get(kind, ()):
        for condition in _each(getattr(plan, name)()):
            yield from _conjuncts(condition)


def _conjuncts(condition: Any) -> Iterator[Any]:
    if condition.getClass().getSimpleName() == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def _owners_of_conditions(conditions: list[Any], owner: str | None) -> tuple[frozenset[int], bool]:
    """Give the owners of conditions; Column objects of a user's function have none of their own: they get `owner`.

    Spark adds `k IS NOT NULL` for a join or for `k > 3` itself. Beside a comparison of k it drops nothing.
    """
    kinds = [condition.getClass().getSimpleName() for condition in conditions]
    compared = {
        operand.toString()
        for condition, kind in zip(conditions, kinds, strict=True)
        if kind in _COMPARISONS
        for operand in _each(condition.children())
    }
    owners = [
        named(condition.origin(), OPERATOR) or owner
        for condition, kind in zip(conditions, kinds, strict=True)
        if kind != "IsNotNull" or condition.child().toString() not in compared
    ]
    return _ids(owners), None not in owners


def _ids(owners: list[str | None]) -> frozenset[int]:
    return frozenset(int(owner) for owner in owners if owner is not None)


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
