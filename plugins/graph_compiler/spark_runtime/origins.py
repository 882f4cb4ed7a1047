"""Write on every node of a plan which operator it is from.

Catalyst gives each plan node and expression the origin that is current where it is made, and its rules hand the origin
of what they replace on to what they put there. Origins are for error messages; with an operator's id in them they say

    of an executed plan's nodes   whose rows a node counts
    of an error                   whose expression failed

Spark does not promise any of this to programs outside of it: whoever reads an origin must do without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

OPERATOR = "operator"
"""An origin's object type where its object name is the node id of one of our operators."""
ACTION = "action"
"""The same for what Spark runs: the name is the action's own."""


STAGED = "staged"
"""The same for what another task staged: the name is the result's id, and no operator of this application owns it."""


@contextmanager
def origin(spark: SparkSession, object_type: str, object_name: str) -> Iterator[None]:
    """Let what this thread makes of plans in here have this origin."""
    jvm = _jvm(spark)
    current = jvm.org.apache.spark.sql.catalyst.trees.CurrentOrigin
    before = current.get()
    some, none = jvm.scala.Option.apply, jvm.scala.Option.empty()
    current.set(
        before.copy(
            none, none, none, none, none, some(object_type), some(object_name), none, none, none
        )
    )
    try:
        yield
    finally:
        current.set(before)


def named(java_origin: Any, object_type: str) -> str | None:
    """Give the object name of an origin of this type; None where it has another, or none."""
    kind, name = java_origin.objectType(), java_origin.objectName()
    is_ours = kind.isDefined() and kind.get() == object_type and name.isDefined()
    return str(name.get()) if is_ours else None


def _jvm(spark: SparkSession) -> Any:
    assert spark._jvm is not None
    return spark._jvm
