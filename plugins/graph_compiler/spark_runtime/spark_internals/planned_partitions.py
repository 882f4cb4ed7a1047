"""The number of partitions that rows will have, read from the plan before it runs (decision 8).

Adaptive execution joins and splits the partitions of an exchange unless it is a `repartition` with a number. So the
number is known if all inputs of a plan's last stage are such exchanges, or have a fixed number for another reason:

    HashAggregate ─ Exchange(k, 7, REPARTITION_BY_NUM)                 7
    SortMergeJoin ┬ Exchange(k, 200, REPARTITION_BY_NUM)               200: Spark raises 7 to its own number in joins
                  └ Exchange(k, 200, REPARTITION_BY_NUM)
    Filter ─ Exchange(k, 200, ENSURE_REQUIREMENTS)                     unknown: adaptive execution decides
    Filter ─ FileScan                                                  unknown: files are packed by size
    GlobalLimit ─ …                                                    unknown: it is removed if there are fewer rows

Anything not named here is unknown, which costs an exchange, but never gives too many partitions. (If adaptive execution
finds one side of a union or join to be empty, it leaves that side out, and fewer run.) Nothing is run, unlike with
`DataFrame.rdd`, which would run the stages below. The names of physical nodes, and their fields: 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from pyspark.sql import DataFrame

from graph_compiler.spark_runtime.spark_internals.java import java_class_name
from graph_compiler.spark_runtime.spark_internals.plans import elements, executed_plan

ONE_PARTITION = "graph_compiler.onePartition"
"""The option of a read that always has one partition (pointwise_read.py)."""

_ROW_BY_ROW = """
    CollectMetrics ColumnarToRow DeserializeToObject Expand Filter Generate MapElements
    MapPartitions Project RowToColumnar Sample SerializeFromObject Sort WholeStageCodegen
    HashAggregate ObjectHashAggregate SortAggregate Window WindowGroupLimit
    ArrowEvalPython ArrowWindowPython BatchEvalPython FlatMapGroupsInArrow FlatMapGroupsInPandas MapInArrow MapInPandas
"""
"""Plans that keep the partitions of their only child."""


def planned_partitions(rows: DataFrame) -> int | None:
    """Return how many partitions the rows will have; None if adaptive execution decides."""
    return _count(executed_plan(rows))


def _count(plan: Any) -> int | None:
    rule = _COUNTS.get(java_class_name(plan))
    return None if rule is None else rule(plan)


def _children(plan: Any) -> list[Any]:
    return elements(plan.children())


def _of_child(plan: Any) -> int | None:
    return _count(_children(plan)[0])


def _of_exchange(plan: Any) -> int | None:
    partitioning = plan.outputPartitioning()
    is_single = java_class_name(partitioning) == "SinglePartition$"
    is_numbered = plan.shuffleOrigin().toString() == "REPARTITION_BY_NUM"
    return int(partitioning.numPartitions()) if is_single or is_numbered else None


def _of_coalesce(plan: Any) -> int | None:
    wanted, found = int(plan.numPartitions()), _of_child(plan)
    return wanted if wanted == 1 or found is None else min(wanted, found)


def _of_scan(plan: Any) -> int | None:
    return 1 if plan.relation().options().contains(ONE_PARTITION) else None


def _of_union(plan: Any) -> int | None:
    """Return the sum, unless Spark combines partition i of all children, as it does if all are distributed alike."""
    found = _counts(plan)
    if found is None:
        return None
    partitioning = plan.outputPartitioning()
    is_plain = java_class_name(partitioning) == "UnknownPartitioning"
    return sum(found) if is_plain else int(partitioning.numPartitions())


def _of_zipped(plan: Any) -> int | None:
    """Return the number that both children have: partition i of one is combined with partition i of the other."""
    found = _counts(plan)
    return found[0] if found is not None and len(set(found)) == 1 else None


def _of_product(plan: Any) -> int | None:
    found = _counts(plan)
    return None if found is None else prod(found)


def _of_streamed_child(plan: Any) -> int | None:
    """Return the number of the child that is not broadcast: the other child is sent whole to each of its partitions."""
    return _count(_children(plan)[0 if plan.buildSide().toString() == "BuildRight" else 1])


def _counts(plan: Any) -> list[int] | None:
    found = [_count(child) for child in _children(plan)]
    known = [count for count in found if count is not None]
    return known if len(known) == len(found) else None


_COUNTS: dict[str, Callable[[Any], int | None]] = {
    **{f"{name}Exec": _of_child for name in _ROW_BY_ROW.split()},
    "AdaptiveSparkPlanExec": lambda plan: _count(plan.initialPlan()),
    "BroadcastHashJoinExec": _of_streamed_child,
    "CartesianProductExec": _of_product,
    "CoalesceExec": _of_coalesce,
    "FileSourceScanExec": _of_scan,
    "FlatMapCoGroupsInArrowExec": _of_zipped,
    "FlatMapCoGroupsInPandasExec": _of_zipped,
    "InputAdapter": _of_child,
    "RangeExec": lambda plan: int(plan.numSlices()),
    "ReusedExchangeExec": lambda plan: _count(plan.child()),
    "RowDataSourceScanExec": lambda plan: int(plan.rdd().getNumPartitions()),
    "ShuffleExchangeExec": _of_exchange,
    "ShuffledHashJoinExec": _of_zipped,
    "SortMergeJoinExec": _of_zipped,
    # With fewer rows than it takes, adaptive execution may sort them instead: they fit into one partition.
    "TakeOrderedAndProjectExec": lambda _: 1,
    "UnionExec": _of_union,
}
