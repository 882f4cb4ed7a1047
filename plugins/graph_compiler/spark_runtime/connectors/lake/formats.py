"""What both formats of tables share: whether a jar works with its Spark, and a table has the declared partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.errors import GraphCompilerError, PublicationError
from graph_compiler.identifiers import listing
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
        raise TableFormatError(f"{why}\n  allowed: {format.allowed}\n  hint: {format.hint}")
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


def refuse_other_partitions(
    place: str | None, mode: SinkMode, *, there: Sequence[str], declared: Sequence[str]
) -> None:
    """Raise PublicationError if a table is not partitioned as declared, or has none that a mode could replace."""
    if declared and [each.lower() for each in declared] != [each.lower() for each in there]:
        raise PublicationError(
            f"{place} is partitioned by {listing(there) or 'nothing'}, and partitioned_by is {listing(declared)}\n"
            "  hint: leave partitioned_by out: it is for a table that is created"
        )
    if mode is SinkMode.OVERWRITE_PARTITIONS and not there:
        raise PublicationError(
            f"{place} has no partitions, so '{mode}' would replace all of it\n"
            f"  allowed: a table with partitions, or mode='{SinkMode.OVERWRITE}'"
        )
