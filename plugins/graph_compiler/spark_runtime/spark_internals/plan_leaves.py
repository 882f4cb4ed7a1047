"""The leaves of a plan: what its rows are read from, in subqueries and views too.

Two plans share a leaf if both read the same object: Spark gives a relation new column ids where a plan is joined with
itself, and keeps its list of files. `LogicalRelation`, `LogicalRDD`, `DataSourceV2Relation`, `View` and the function of
a `PythonRDD`, `InlineCTE`, undocumented classes of Spark: 4.3.
"""

from __future__ import annotations

import pickletools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.spark_internals.file_listings import Listing, listing_of
from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JError,
    java_array,
    java_class,
    java_class_name,
    java_identity,
    scala_map,
)
from graph_compiler.spark_runtime.spark_internals.plans import (
    analyzed_plan,
    elements,
    hold_any,
    pattern,
    plans_in,
    rows_of_plan,
)
from graph_compiler.spark_runtime.spark_internals.versions import defaults_from

IN_MEMORY = frozenset({"LocalRelation", "Range", "OneRowRelation"})
"""Leaves whose rows are on the driver."""
_REFERENCES = frozenset({"CTERelationRef", "UnionLoopRef"})
"""Leaves that stand for another part of the same plan."""
_FIXED_RDDS = frozenset(
    {
        *("EmptyRDD", "LocalCheckpointRDD", "ParallelCollectionRDD"),
        *("ParallelCollectionRDDWithLocality", "ReliableCheckpointRDD"),
    }
)
"""RDDs whose records were on the driver, or were kept when the plan was made."""
_PYTHON_RDD = "PythonRDD"
_LOOP = "UnionLoop"
_STREAMS = ("StreamingRelation", "StreamingRelationV2")
_PINNED = "graph_compiler.listing"
"""An option that no reader of Spark has: two relations are equal if their paths and options are."""


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """A leaf of a plan by its class; `listing` is that of its files, None if a leaf has none.

    `node` is Catalyst's. `view` is the view of Spark's catalog that contains the leaf.
    """

    kind: str
    listing: Listing | None
    node: Any = None
    view: str | None = None

    @property
    def identity(self) -> Any:
        """The object that all copies of the leaf share."""
        if self.listing is not None:
            return self.listing.index
        if self.kind == "LogicalRelation":
            relation = self.node.relation()
            is_files = java_class_name(relation) == "HadoopFsRelation"
            return relation.location() if is_files else relation
        if self.kind == "LogicalRDD":
            return self.node.rdd()
        if self.kind == "HiveTableRelation":
            return self.node.tableMeta()
        return self.node.table() if self.kind == "DataSourceV2Relation" else self.node

    @property
    def table(self) -> str | None:
        """The name of a table in Spark's catalog, quoted; None for anything else."""
        if self.kind != "LogicalRelation" or not self.node.catalogTable().isDefined():
            return None
        return str(self.node.catalogTable().get().identifier().quotedString())

    @property
    def columns(self) -> str:
        """Spark's schema JSON."""
        return str(self.node.schema().json())

    @property
    def partition_columns(self) -> str:
        """The columns of a listing's folders: Spark's schema JSON."""
        return str(self.node.relation().partitionSchema().json())

    @property
    def words(self) -> str:
        """The leaf for a message, without options: they may hold secrets."""
        if (table := self.table) is not None:
            return f"table {table}"
        if self.kind == "DataSourceV2Relation":
            return f"table {self.node.name()}"
        if self.kind == "HiveTableRelation":
            return f"table {self.node.tableMeta().identifier().quotedString()}"
        if self.kind == "LogicalRelation":
            return f"a {java_class_name(self.identity)}"
        return "an RDD" if self.kind == "LogicalRDD" else f"a {self.kind}"

    def holds_fixed_records(self, spark: SparkSession) -> bool:
        """Whether the leaf is an RDD of given records, or of records that a checkpoint has kept.

        Records that a function of the user makes of them are not: `parallelize(…).map(…)` may make others each time.
        """
        if self.kind != "LogicalRDD":
            return False
        rdds = list(_rdds(self.node.rdd()))
        if not all(java_class_name(rdd) in _FIXED_RDDS for rdd in rdds if rdd.dependencies().isEmpty()):
            return False
        programs = {_program(spark, rdd) for rdd in rdds if java_class_name(rdd) == _PYTHON_RDD}
        return not programs or programs == {_program_of_a_list(spark)}


def plan_leaves(rows: DataFrame) -> list[PlanLeaf]:
    """Return the leaves of an analyzed plan, without the views that contain them."""
    return _leaves(analyzed_plan(rows))


def _leaves(plan: Any) -> list[PlanLeaf]:
    leaves = (leaf for each in _sequences(plan) for leaf in elements(each))
    kinds = ((java_class_name(leaf), leaf) for leaf in leaves)
    return [PlanLeaf(kind, listing_of(leaf), leaf) for kind, leaf in kinds if kind not in _REFERENCES]


@dataclass(frozen=True, slots=True)
class StreamLeaf:
    """What a stream reads: a format with options. Sources of files are of version 1, Kafka's of 2."""

    node: Any
    is_first_version: bool

    @property
    def relation(self) -> Any:
        """One object of Spark's, in whatever plan it is read."""
        return self.node.dataSource() if self.is_first_version else self.node.table()

    @property
    def format(self) -> str:
        """The name of its format, or its class."""
        return str(self.relation.className() if self.is_first_version else self.node.sourceName())

    @property
    def options(self) -> dict[str, str]:
        """All its options, also those that the format does not know."""
        if not self.is_first_version:
            return dict(self.node.extraOptions())
        return {str(each._1()): str(each._2()) for each in elements(self.relation.options().toSeq())}

    def option(self, name: str) -> str | None:
        """Return one option, None without it."""
        if not self.is_first_version:
            found = self.node.extraOptions().get(name)
            return None if found is None else str(found)
        options = self.relation.options()
        return str(options.apply(name)) if options.contains(name) else None


def stream_leaves(rows: DataFrame) -> list[StreamLeaf]:
    """Return what a stream reads, in the order of the plan: what is read twice is there twice.

    So Spark logs their offsets (`MicroBatchExecution`: 4.1 to 4.3).
    """
    leaves = (leaf for leaf in plan_leaves(rows) if leaf.kind in _STREAMS)
    return [StreamLeaf(leaf.node, is_first_version=leaf.kind == _STREAMS[0]) for leaf in leaves]


def steps_above(rows: DataFrame) -> set[str]:
    """Return the classes of all nodes of a plan that are not leaves."""
    found, waiting = set[str](), [analyzed_plan(rows)]
    while waiting:
        node = waiting.pop()
        if below := elements(node.children()):
            found.add(java_class_name(node))
            waiting += below
    return found


def is_same_object(spark: SparkSession, one: Any, other: Any) -> bool:
    """Whether two references are to the same object of the JVM: `equals` of Scala's classes compares values."""
    known = java_class(spark, "java.util.IdentityHashMap")()
    known.put(one, True)
    return bool(known.containsKey(other))


def own_leaves(rows: DataFrame, inputs: Sequence[DataFrame]) -> list[PlanLeaf]:
    """Return the leaves of an analyzed plan that are not leaves of its inputs, without rows on the driver.

    Nor streams: the offsets of a batch say what it has, whenever it is computed.
    Spark compares most of them in a few calls; only if some are left are the plans walked through.
    """
    if not _may_have_more(analyzed_plan(rows), inputs):
        return []
    known = java_class(rows.sparkSession, "java.util.IdentityHashMap")()
    for leaf in (leaf for each in inputs for leaf in plan_leaves(each)):
        known.put(leaf.identity, True)
    found = _walk(rows.sparkSession, analyzed_plan(rows))
    return [leaf for leaf in found if leaf.kind not in _STREAMS and not known.containsKey(leaf.identity)]


def read_again(rows: DataFrame, inputs: Mapping[int, DataFrame]) -> frozenset[int]:
    """Return the inputs of which a plan has a leaf more often than they have: Spark computes them again.

    The analyzed plan shows it, with its common table expressions in place. What Spark makes of a lateral join shows the
    optimized one, which has other objects for some kinds of leaves.
    """
    try:
        return _repeated(rows, inputs, _inlined_plan) | _repeated(rows, inputs, _optimized_plan)
    except (PySparkException, Py4JError):  # what is wrong shows when it runs; or another version of Spark
        return frozenset()


def _repeated(rows: DataFrame, inputs: Mapping[int, DataFrame], plan_of: Callable[[DataFrame], Any]) -> frozenset[int]:
    plan = plan_of(rows)
    known = {number: Counter(_identities(plan_of(each))) for number, each in inputs.items()}
    every: Counter[int] = sum(known.values(), Counter())
    is_loop = _LOOP in str(plan.toString())  # a recursion computes its step in each round
    again = {leaf for leaf, times in Counter(_identities(plan)).items() if times > every[leaf] or is_loop}
    return frozenset(number for number, leaves in known.items() if not again.isdisjoint(leaves))


def _identities(plan: Any) -> list[int]:
    return [java_identity(leaf.identity) for leaf in _leaves(plan)]


def _inlined_plan(rows: DataFrame) -> Any:
    """Return the analyzed plan with each common table expression wherever it is read."""
    plan = analyzed_plan(rows)
    if "CTERelationRef" not in str(plan.toString()):
        return plan
    inline = java_class(rows.sparkSession, "org.apache.spark.sql.catalyst.optimizer.InlineCTE")
    return inline(True, *defaults_from(inline, "apply", 2)).apply(plan)


def _optimized_plan(rows: DataFrame) -> Any:
    return rows._jdf.queryExecution().optimizedPlan()


def with_listing(rows: DataFrame, leaves: Iterable[tuple[PlanLeaf, Listing]]) -> DataFrame:
    """Return rows whose leaves read listings that were made before for the same paths.

    Spark does not replace a relation by one that is equal to it: so the new one has another option, too.
    """
    spark = rows.sparkSession
    replaced = java_class(spark, "java.util.HashMap")()
    kind = java_class(spark, "java.lang.Object")
    for leaf, listing in leaves:
        node, old = leaf.node, leaf.node.relation()
        new = old.copy(
            listing.index,
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            old.fileFormat(),
            old.options().updated(_PINNED, str(listing.state)),
            old.sparkSession(),
        )
        others = (node.productElement(number) for number in range(1, node.productArity()))
        replaced.put(node, node.makeCopy(java_array(kind, new, *others)))
    plan = analyzed_plan(rows).transformUpWithSubqueries(scala_map(spark, replaced))
    return rows_of_plan(spark, plan)


def _may_have_more(plan: Any, others: Sequence[DataFrame]) -> bool:
    known = [leaves for each in others for leaves in _sequences(analyzed_plan(each))]
    for leaves in _sequences(plan):
        for each in known:
            leaves = leaves.diff(each)  # noqa: PLW2901
        if any(java_class_name(leaf) not in IN_MEMORY | _REFERENCES for leaf in elements(leaves)):
            return True
    return False


def _sequences(plan: Any) -> list[Any]:
    """Return the leaves of a plan and of each subquery, as sequences of Scala."""
    return [each.collectLeaves() for each in (plan, *elements(plan.subqueriesAll()))]


def _walk(spark: SparkSession, plan: Any) -> Iterator[PlanLeaf]:
    subqueries = pattern(spark, "PLAN_EXPRESSION")
    waiting: list[tuple[Any, str | None]] = [(plan, None)]
    while waiting:
        node, view = waiting.pop()
        below, kind = elements(node.children()), java_class_name(node)
        if not below and kind not in IN_MEMORY | _REFERENCES:
            yield PlanLeaf(kind, listing_of(node), node, view)
        if kind == "View" and view is None and not node.isTempView():
            view = str(node.desc().identifier().quotedString())
        if node.containsPattern(subqueries) and hold_any(spark, node.expressions(), [subqueries]):
            for expression in elements(node.expressions()):
                below += plans_in(spark, expression)
        waiting += [(each, view) for each in below]


def _rdds(rdd: Any) -> Iterator[Any]:
    """Yield an RDD, and those from which it is computed."""
    waiting, seen = [rdd], set()
    while waiting:
        each = waiting.pop()
        if (number := each.id()) in seen:
            continue
        seen.add(number)
        yield each
        waiting += [dependency.rdd() for dependency in elements(each.dependencies())]


def _program(spark: SparkSession, python_rdd: Any) -> tuple[object, ...]:
    """Return what an RDD runs in Python: its pickled function, without how many records it reads at a time."""
    function = python_rdd.getClass().getDeclaredField("func")
    function.setAccessible(True)
    tag_of_bytes = java_class(spark, "scala.reflect.ClassTag").Byte()
    steps = pickletools.genops(bytes(function.get(python_rdd).command().toArray(tag_of_bytes)))
    return tuple(
        None if isinstance(value, int) else (step.name, value) for step, value, _ in steps if step.name != "FRAME"
    )


def _program_of_a_list(spark: SparkSession) -> tuple[object, ...]:
    """Return what Spark runs in Python for `createDataFrame` of a list."""
    (leaf,) = plan_leaves(spark.createDataFrame([(1,)], "id BIGINT"))
    (rdd,) = (each for each in _rdds(leaf.node.rdd()) if java_class_name(each) == _PYTHON_RDD)
    return _program(spark, rdd)
