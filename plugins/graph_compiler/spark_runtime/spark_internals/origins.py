"""Mark the nodes of a plan with the operator they come from, and the node that is the operator's output.

Catalyst gives each plan node and expression the origin that is current when it is made, and its rules copy origin and
tags of a node to its replacement. Origins are meant for error messages. With an operator's id in them, they show

    of an error                   which operator's expression failed
    of an executed plan's nodes   which operators contributed to them

and a tag on an operator's last node shows whose output it is. Spark does not promise any of this to other programs, so
every reader of it must also work without it. `Origin` with eleven fields, `TreeNodeTag`: 4.3.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.spark_internals.java import java_class, java_class_name
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, children_of, is_plan, pattern

OPERATOR = "operator"
"""The object type of an origin whose object name is the node id of one of our operators."""
ACTION = "action"
"""The object type for what Spark runs: the name is that of the action."""


STAGED = "staged"
"""The object type for another task's staged result: the name is the result's id, and no operator here has made it."""


_SAME_ROWS = frozenset({"Project", "SubqueryAlias", "View"})


@contextmanager
def origin(spark: SparkSession, object_type: str, object_name: str) -> Iterator[None]:
    """Set the origin of all plan nodes that this thread makes within the block."""
    current = java_class(spark, "org.apache.spark.sql.catalyst.trees.CurrentOrigin")
    option = java_class(spark, "scala.Option")
    before, none, some = current.get(), option.empty(), option.apply
    current.set(before.copy(none, none, none, none, none, some(object_type), some(object_name), none, none, none))
    try:
        yield
    finally:
        current.set(before)


def with_names(java_origin: Any, object_type: str) -> str | None:
    """Return the object name of an origin of this type; None if it has another type, or none."""
    kind, name = java_origin.objectType(), java_origin.objectName()
    is_ours = kind.isDefined() and kind.get() == object_type and name.isDefined()
    return str(name.get()) if is_ours else None


def own_casts(rows: DataFrame, operator: str) -> Iterator[Any]:
    """Yield the casts of constants in the part of the analyzed plan that an operator has made."""
    cast, waiting = pattern(rows.sparkSession, "CAST"), [analyzed_plan(rows)]
    while waiting:
        node = waiting.pop()
        if not node.containsPattern(cast):
            continue
        if is_plan(node) and with_names(node.origin(), OPERATOR) not in (None, operator):
            continue
        if java_class_name(node) == "Cast" and node.child().foldable():
            yield node
        waiting += children_of(node)


def mark_output(rows: DataFrame, output: Output) -> Output | None:
    """Tag the nodes that return these rows: the last one, and the first one below its projections that counts rows.

    Return the output that was already marked there, which therefore has as many rows.
    """
    plan, tag = analyzed_plan(rows), _tag(rows.sparkSession)
    while not (marked := _outputs(plan, tag)):
        plan.setTagValue(tag, json.dumps([output]))
        if plan.productPrefix() not in _SAME_ROWS:
            return None
        plan = plan.children().apply(0)
    return min(marked, key=str)


def outputs_at(spark: SparkSession, plan: Any) -> frozenset[Output]:
    """Return the outputs that a logical node returns."""
    return _outputs(plan, _tag(spark))


def _outputs(plan: Any, tag: Any) -> frozenset[Output]:
    found = plan.getTagValue(tag)
    pairs = json.loads(str(found.get())) if found.isDefined() else []
    return frozenset((int(node_id), output_tag) for node_id, output_tag in pairs)


def _tag(spark: SparkSession) -> Any:
    tag = java_class(spark, "org.apache.spark.sql.catalyst.trees.TreeNodeTag")
    return tag("graph_compiler.output")
