"""What both formats of tables share.

Whether a jar works with its Spark, and a table has the declared partitions; what a source has read that reads commits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from functools import singledispatch

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.connectors.connector import ChangeKind, other_partitions
from graph_compiler.errors import GraphCompilerError, PublicationConflictError, PublicationError, SourceChangedError
from graph_compiler.identifiers import counted, quoted
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.schema_change import find_changes
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import BEGIN_AGAIN
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import GIVEN_UP, Ending, Publication, ending
from graph_compiler.stores.known_stores import putting
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


def changes_of_a_stream(place: str | None, commit: str) -> SourceChangedError:
    """Return the error of a stream of added rows, of a table whose rows were changed."""
    return SourceChangedError(
        f"{place}: {commit} has changed or removed rows, and a stream has only rows that are added\n"
        "  allowed: tables to which rows are appended, and whose files are compacted\n"
        "  hint: a batch pipeline, with only_new=True and changes=True, has what was changed and removed, too; "
        f"{BEGIN_AGAIN}"
    )


class AppendedRows(Enum):
    """Where the rows are that an earlier attempt of a run has appended."""

    THERE = auto()
    MOVED = auto()
    """In other files, with rows of others: all of them are there."""
    REMOVED = auto()
    """Some or all are gone, with the files that had them; the rest is in the others."""
    UNKNOWN = auto()

    @classmethod
    def found(cls, *, has_all_files: bool, has_marks: bool, changes: Set[str]) -> AppendedRows:
        """Return where they are, by what commits since then have done.

        `has_marks`: rows in the files are marked as removed. Then "changes" may have moved these to other files.
        """
        if has_all_files and not (has_marks and "changes" in changes):
            return cls.THERE
        if changes <= {"adds", "moves"}:
            return cls.MOVED
        return cls.REMOVED if changes <= {"adds", "removes"} else cls.UNKNOWN

    @property
    def are_complete(self) -> bool:
        """Whether all of them are in the table."""
        return self in (AppendedRows.THERE, AppendedRows.MOVED)

    @property
    def can_be_replaced(self) -> bool:
        """Whether those that are there are in files of their own."""
        return self in (AppendedRows.THERE, AppendedRows.REMOVED)


MERGED = "that attempt has merged them with rows of others, which are in the same files"


def not_replaceable(place: object, earlier: Publication, ledger: Ledger, found: str) -> PublicationError:
    """Return the error of an append that cannot replace the rows of an earlier attempt of its run."""
    return PublicationError(
        f"execution {earlier.execution_id} of this run has appended {counted(earlier.rows, 'row')} to {place}, which "
        f"cannot be replaced\n  found: {found}\n"
        "  hint: remove the rows of this run with DELETE, and record that: "
        f"{putting(GIVEN_UP.decode(), ledger.layout.done(earlier.target, earlier.number))}; then clear the task"
    )


def is_carried_out(to: Publication, ledger: Ledger) -> bool:
    """Whether it is recorded that a decision was carried out; raises PublicationConflictError if it was given up."""
    found = ending(ledger.store, ledger.layout.done(to.target, to.number))
    if found is Ending.GIVEN_UP:
        raise PublicationConflictError(
            f"another execution has given up what execution {to.execution_id} decided to publish to {to.target}"
        )
    return found is Ending.CARRIED_OUT


def add_columns(name: str, held: StructType, schema: StructType, spark: SparkSession) -> None:
    """Add the columns that EVOLVE has accepted to a table: they are NULL in all rows that readers see."""
    added = [each for each in find_changes(held, schema) if each.kind is ChangeKind.ADDED]
    new = [(_path(each.column, each.found.name), each.found.dataType) for each in added if each.found is not None]
    if new:
        columns = ", ".join(f"{path} {type_words(kind)}" for path, kind in new)
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({columns})")


def _path(column: str, name: str) -> str:
    """Return the SQL of a dotted path to a column, whose own name may have dots."""
    above = column.removesuffix(name).split(".")[:-1]
    return ".".join(map(quoted, (*above, name)))


def refuse_other_partitions(
    place: str | None, mode: SinkMode, *, there: Sequence[str], declared: Sequence[str]
) -> None:
    """Raise PublicationError if a table is not partitioned as declared, or has none that a mode could replace."""
    problem = other_partitions(place, mode, there=there, declared=declared)
    if problem is not None:
        raise PublicationError(str(problem))
