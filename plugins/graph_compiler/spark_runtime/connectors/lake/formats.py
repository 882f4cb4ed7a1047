"""What both formats of tables share.

Whether a jar works with its Spark, and a table has the declared partitions; what a source has read that reads commits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.connectors.connector import other_partitions
from graph_compiler.errors import GraphCompilerError, PublicationError
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.tested_versions import TableFormat, minor_of

LOG = program_log.logger(__name__)


class TableFormatError(GraphCompilerError):
    """A table cannot be used with this driver, its catalog is not declared, or it has no such version."""


def check_format(
    format: TableFormat,
    spark: SparkSession,
    jar_of: Callable[[SparkSession], str | None],
    version_of: Callable[[SparkSession], str],
) -> None:
    """Raise TableFormatError unless the driver's jar works with its Spark: others fail when rows have moved.

    A version that is not tested is a warning.
    """
    minor = minor_of(spark.version)
    if (why := format.why_not_with(minor)) is not None:
        raise TableFormatError(f"{why}\n  allowed: {format.allowed}\n  hint: {format.hint()}")
    jar = jar_of(spark)
    if jar is None:
        raise TableFormatError(
            f"the driver has no {format.name}\n  hint: spark.jars.packages: {format.artifact(minor)}"
        )
    made_for = re.search(format.jar_form, jar)
    if made_for is None or made_for[1] != minor:
        raise TableFormatError(
            f"the driver's {format.name} is {jar}, and its Spark is {spark.version}\n"
            f"  allowed: {format.artifact(minor)}"
        )
    if (found := version_of(spark).removeprefix("v")) != (tested := format.versions[minor]):
        LOG.warning("%s %s is not tested with this version of graph_compiler; %s is", format.name, found, tested)


READ_ALL = (
    "with a position, graph-compiler positions reset: the next run reads all rows, also those that are published; "
    "without one, another since"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCommit:
    """What readers of a table see: its last commit, None if it has none. `kind` is what the format calls one.

    `table` is its id: a table that is removed and created again has another one.
    """

    kind: str
    table: str
    commit: int | None


@singledispatch
def read_commit(connector: Connector, spark: SparkSession) -> ReadCommit:
    """Return the commit that readers of a table see now; each format registers its function."""
    raise AssertionError(f"{type(connector).__name__} has no commits")


def as_inserted(rows: DataFrame, number: int) -> DataFrame:
    """Return rows as the changes that have made them, by one commit."""
    return rows.withColumns({"_change_type": lit("insert"), "_commit_version": lit(number).cast("bigint")})


def other_changes(place: str | None, commit: str) -> TableFormatError:
    """Return the error of a source that reads added rows, of a table whose rows were changed."""
    return TableFormatError(
        f"{place} is read for the rows that were added, and {commit} has changed or removed rows\n"
        "  allowed: changes=True, which reads all changes, with their kind\n"
        f"  hint: {READ_ALL}"
    )


def refuse_other_partitions(
    place: str | None, mode: SinkMode, *, there: Sequence[str], declared: Sequence[str]
) -> None:
    """Raise PublicationError if a table is not partitioned as declared, or has none that a mode could replace."""
    problem = other_partitions(place, mode, there=there, declared=declared)
    if problem is not None:
        raise PublicationError(str(problem))
