"""Which part of an executed plan ran in which stage, and what moved between the parts.

    WriteFiles
     HashAggregate     ┐ the top of a part: its RDD is one of those that a stage has computed
      AQEShuffleRead   ┘
       ShuffleExchange   between two parts: the RDD of its shuffle is in the stage that wrote it
        HashAggregate  ┐
         Scan          ┘

An RDD is only asked for where Spark has made it to run the plan: making another one could start jobs.

Names of physical nodes and their fields, `SparkPlan.execute` (which keeps its RDD), `MapOutputStatistics`: 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.actual_execution import MOST_COLUMNS
from graph_compiler.spark_runtime.spark_internals.java import is_java_instance, java_class
from graph_compiler.spark_runtime.spark_internals.origins import OPERATOR, with_names

MOST_PARTITIONS = 100_000
"""The sizes of more partitions are not read."""
SHUFFLE, BROADCAST = "ShuffleExchangeExec", "BroadcastExchangeExec"
WRITE = "DataWritingCommandExec"
WRAPPERS = frozenset({"AdaptiveSparkPlanExec", WRITE, "ResultQueryStageExec", "WriteFilesExec"})
"""What is around the topmost part."""
OF_SPARK_ALONE = frozenset(
    {
        "AQEShuffleReadExec",
        "ColumnarToRowExec",
        "InputAdapter",
        "ReusedExchangeExec",
        "WholeStageCodegenExec",
        BROADCAST,
    }
)
"""Nodes that no operator asks for."""
HIDDEN_EXCHANGES = frozenset({"CollectLimitExec", "CollectTailExec", "TakeOrderedAndProjectExec"})
"""Nodes that bring their rows into one partition by a shuffle that is not in the plan."""
_REPARTITIONS = frozenset({"RebalancePartitions", "Repartition", "RepartitionByExpression"})
# Spark's partitionings.
_KINDS = {
    "HashPartitioning": "hash",
    "RangePartitioning": "range",
    "RoundRobinPartitioning": "round robin",
    "ShufflePartitionIdPassThrough": "by id",
    "SinglePartition": "single",
}
_HAS_COLUMNS = frozenset({"HashPartitioning", "RangePartitioning"})
# Logical nodes that rules make again.
_MADE_ANEW = frozenset({"Aggregate", "Filter", "Generate", "Join", "Project", "Window"})
_MERGED = frozenset({"Filter", "Project"})
"""Those that rules merge, so that one has expressions of several operators."""
_MOST_EXPRESSIONS = 4
"""The last expressions of a node that are asked for their operators: what an operator adds is at the end."""
_LONGEST_NAME = 200
_V2 = "org.apache.spark.sql.execution.datasources.v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An exchange in an executed plan; `sizes` are the bytes of its partitions, rounded by Spark."""

    kind: str
    columns: tuple[str, ...] = ()
    rows: int | None = None
    bytes: int | None = None
    sizes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PartitionRead:
    """What one task reads of an exchange: partitions `first` to `end`, or a part of one, of so many bytes."""

    first: int
    end: int
    bytes: int | None = None


_COALESCED = re.compile(r"CoalescedPartitionSpec\((\d+),(\d+),")
_PARTIAL = re.compile(r"PartialReducerPartitionSpec\((\d+),\d+,\d+,(\d+)\)")


def partition_reads(text: str) -> tuple[PartitionRead | None, ...]:
    """Return what each task reads, from Spark's text for the specifications; None for one of another kind.

    PartitionRead(0, 3) for `CoalescedPartitionSpec(0,3,Some(1024))`.
    """
    return tuple(_partition_read(each) for each in text.split(";") if each)


def _partition_read(text: str) -> PartitionRead | None:
    if found := _COALESCED.match(text):
        return PartitionRead(int(found[1]), int(found[2]))
    if found := _PARTIAL.match(text):
        return PartitionRead(int(found[1]), int(found[1]) + 1, int(found[2]))
    return None


def reads_of(plan: Any) -> tuple[PartitionRead | None, ...] | None:
    """Return what tasks read by a node that adaptive execution has put above an exchange."""
    specifications = plan.partitionSpecs()
    if specifications.size() > MOST_PARTITIONS:
        return None
    return partition_reads(str(specifications.mkString(";")))


def was_executed(plan: Any, kind: str, *, is_stage: bool) -> bool:
    """Whether an exchange has run: adaptive execution has made a stage of it, or rows were counted."""
    name = "shuffleRecordsWritten" if kind == SHUFFLE else "numOutputRows"
    return is_stage or bool(_metric(plan, name))


def exchange_of(spark: SparkSession, plan: Any, kind: str, stage: Any) -> Exchange:
    """Return an exchange that has run; `stage` is the query stage around it, None without adaptive execution."""
    if kind == BROADCAST:
        return Exchange(kind="broadcast", rows=_metric(plan, "numOutputRows"), bytes=_metric(plan, "dataSize"))
    partitioning = plan.outputPartitioning()
    name = str(partitioning.productPrefix()) if hasattr(partitioning, "productPrefix") else "SinglePartition"
    return Exchange(
        kind=_KINDS.get(name, name),
        columns=tuple(_columns(partitioning)) if name in _HAS_COLUMNS else (),
        rows=_metric(plan, "shuffleRecordsWritten"),
        bytes=_metric(plan, "shuffleBytesWritten"),
        sizes=None if stage is None else _sizes(spark, stage),
    )


def _columns(partitioning: Any) -> Iterator[str]:
    columns = partitioning.references().toSeq()
    for number in range(min(columns.size(), MOST_COLUMNS)):
        yield str(columns.apply(number).name())[:_LONGEST_NAME]


def _sizes(spark: SparkSession, stage: Any) -> tuple[int, ...] | None:
    statistics = stage.mapStats()
    if not statistics.isDefined():
        return None
    sizes = statistics.get().bytesByPartitionId()
    if len(sizes) > MOST_PARTITIONS:
        return None
    text = str(java_class(spark, "java.util.Arrays").toString(sizes))
    return tuple(int(size) for size in text.strip("[]").split(",") if size.strip())


def _metric(plan: Any, name: str) -> int | None:
    found = plan.metrics().get(name)
    return int(found.get().value()) if found.isDefined() else None


def rdd_written(plan: Any) -> int:
    """Return the id of the RDD whose rows a shuffle that has run has written."""
    return int(plan.shuffleDependency().rdd().id())


def rdd_computed(plan: Any) -> int:
    """Return the id of the RDD of a node that has run."""
    return int(plan.execute().id())


def partitions_computed(plan: Any) -> int:
    """Return the number of partitions of a node that has run."""
    return int(plan.execute().getNumPartitions())


def is_command(plan: Any, kind: str) -> bool:
    """Whether a node does something besides returning rows: it is never asked for its RDD."""
    return "Command" in kind or is_java_instance(plan, f"{_V2}.V2CommandExec")


def splits_of(plan: Any, kind: str) -> int | None:
    """Return the number of splits that a leaf has read; None if it does not say."""
    match kind:
        case "FileSourceScanExec" | "BatchScanExec":
            return int(plan.inputRDD().getNumPartitions())
        case "RowDataSourceScanExec" | "RDDScanExec":
            return int(plan.rdd().getNumPartitions())
        case "RangeExec":
            return int(plan.numSlices())
        case _:
            return None


def operators_of(logical: Any) -> Iterator[int]:
    """Yield the operators that made a logical node; none if an optimizer's rule or Spark itself did.

    A rule that pushes a condition through a node makes that node again, with the origin of the condition. But it keeps
    the node's expressions, so these say more; a column alone says where the column comes from.
    """
    kind, found = str(logical.productPrefix()), list[int]()
    if kind in _MADE_ANEW:
        expressions = logical.expressions()
        last = expressions.size()
        for number in range(last - 1, max(0, last - _MOST_EXPRESSIONS) - 1, -1):
            made_by = map(_operator, _conjuncts(expressions.apply(number)))
            found += [operator for operator in made_by if operator is not None]
            if found and kind not in _MERGED:
                break
    own = None if found else _operator(logical)
    yield from found if own is None else (own,)


def _conjuncts(expression: Any) -> Iterator[Any]:
    """Yield the parts of a condition, at most a few: a rule joins conditions of several operators."""
    waiting = [expression]
    for _ in range(2 * _MOST_EXPRESSIONS):
        if not waiting:
            return
        current = waiting.pop()
        kind = str(current.productPrefix())
        if kind == "And":
            waiting += [current.left(), current.right()]
        elif kind != "AttributeReference":
            yield current


def _operator(node: Any) -> int | None:
    found = with_names(node.origin(), OPERATOR)
    return int(found) if found is not None and found.isdecimal() else None


def is_repartition(logical: Any) -> bool:
    """Whether a logical node only moves rows: a physical exchange for it belongs to the operator that asked for it."""
    return str(logical.productPrefix()) in _REPARTITIONS
