"""Names of partitions: the columns and values that folders encode, and the values that they cannot hold.

    day=2013-01-01/city=a%2Fb     ↔     day = 2013-01-01, city = 'a/b'

A folder's name has one text for NULL, which a string may equal; an empty string is also written as NULL. A value that
ends like the name of a file being copied hides its folder, and all bytes that are not text become the same letter.
Tables of Delta Lake and Iceberg keep the values of partitions beside their files, and cannot hold some of these either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.functions import col, count_if, expr, when
from pyspark.sql.types import StringType, StructType

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted, quoted
from graph_compiler.spark_runtime.spark_internals.executed_queries import observed_numbers
from graph_compiler.spark_runtime.spark_internals.java import lit

_ESCAPED = re.compile("%([0-9a-fA-F]{2})")
Partition = tuple[tuple[str, str], ...]
"""Columns and their values as text, outermost first; `()` for the target itself."""
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unfit:
    """Values that a folder's name cannot store: how to find and show them, and what readers would get instead."""

    condition: str
    shown: str
    becomes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionNames:
    """What the partitions of a kind of target cannot hold: the sentence about it, and what helps."""

    words: str
    unfit: tuple[_Unfit, ...]
    hint: str
    instead: str | None
    """What is written in place of such values until they are refused. A text leaves NOT NULL columns as they are."""


_ANOTHER_VALUE = 'give these rows another value in it (NULL is one), or set them aside: filter(…, rejects="tag")'
_NO_BYTES = _Unfit(condition="NOT is_valid_utf8({})", shown="bytes that are not UTF-8", becomes="another text")
_NULLS = (
    _Unfit(condition="{} = ''", shown="''", becomes="NULL"),
    _Unfit(condition=f"{{}} = '{NULL_FOLDER}'", shown=f"'{NULL_FOLDER}'", becomes="NULL"),
)
_NO_NUL = _Unfit(condition=r"contains({}, '\0')", shown="a NUL character", becomes="nothing: no file system has it")
_FOLDERS = PartitionNames(
    words="names of partition folders cannot hold what it would write",
    unfit=(
        *_NULLS,
        _Unfit(
            condition="endswith({}, '._COPYING_')",
            shown="text that ends in '._COPYING_'",
            becomes="no row at all: readers skip such folders",
        ),
        _NO_BYTES,
        _NO_NUL,
    ),
    hint=f"leave the column out of partition_by, {_ANOTHER_VALUE}",
    instead=None,
)
DELTA_PARTITIONS = PartitionNames(
    words="partitions of a table of Delta Lake cannot hold what it would write",
    unfit=(*_NULLS, _NO_BYTES, _NO_NUL),
    hint=f"a table that is not partitioned by the column; or {_ANOTHER_VALUE}",
    instead="",
)
ICEBERG_PARTITIONS = PartitionNames(
    words="partitions of a table of Iceberg cannot hold what it would write",
    unfit=(_NO_BYTES,),
    hint=f"a table that is not partitioned by the column itself (bucket(16, …) is possible); or {_ANOTHER_VALUE}",
    instead="",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPartitions:
    """Rows to be written to partitions; after that, `check` reports the values that their names would change."""

    rows: DataFrame
    partition_by: tuple[str, ...]
    names: PartitionNames
    observation: Observation | None

    def check(self) -> None:
        """Raise PublicationError with the columns, values and rows that partitions cannot store."""
        if self.observation is None:
            return
        counts = observed_numbers(self.observation)
        wrong = [
            f"  column '{column}': {counted(found, 'row')} with {unfit.shown}, read back as {unfit.becomes}"
            for name, column, unfit in _watched(self.rows.schema, self.partition_by, self.names)
            if (found := counts.get(name) or 0)
        ]
        if wrong:
            raise PublicationError("\n".join([self.names.words, *wrong, f"  hint: {self.names.hint}"]))


def watch_folders(rows: DataFrame, partition_by: tuple[str, ...]) -> WatchedPartitions:
    """Return the rows with NULL for values that folder names cannot store, counted in the job that writes them.

    If two values of one task lead to one folder, Spark itself fails, and does not report why. If no partition column
    needs this, the rows are unchanged.
    """
    return watch_partitions(rows, partition_by, _FOLDERS)


def watch_partitions(
    rows: DataFrame, partition_by: tuple[str, ...], names: PartitionNames, *, but: Column | None = None
) -> WatchedPartitions:
    """Return rows as `watch_folders` does, with the text of `names`; rows of `but` stay as they are, uncounted."""
    watched = list(_watched(rows.schema, partition_by, names))
    if not watched:
        return WatchedPartitions(rows=rows, partition_by=partition_by, names=names, observation=None)
    observation = Observation()
    counts: list[Column] = []
    changed: dict[str, Column] = {}
    for name, column, unfit in watched:
        condition = expr(unfit.condition.format(quoted(column)))
        condition = condition if but is None else condition & ~but
        counts.append(count_if(condition).alias(name))
        changed[column] = changed[column] | condition if column in changed else condition
    fit = rows.observe(observation, *counts).withColumns(
        {
            column: when(condition, lit(names.instead)).otherwise(col(quoted(column)))
            for column, condition in changed.items()
        }
    )
    return WatchedPartitions(rows=fit, partition_by=partition_by, names=names, observation=observation)


def partition_of(folder: str) -> Partition:
    """Return the columns and values of a folder; column names ignore case, as in Spark."""
    return tuple(
        (unescaped(column).lower(), unescaped(value))
        for column, _, value in (part.partition("=") for part in PurePosixPath(folder).parts)
    )


def partition_columns(folder: str) -> tuple[str, ...]:
    """Return the columns of a folder, in lower case."""
    return tuple(column for column, _ in partition_of(folder))


def unescaped(text: str) -> str:
    """Decode a column's name or a value from a folder's name."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _watched(
    schema: StructType, partition_by: tuple[str, ...], names: PartitionNames
) -> Iterator[tuple[str, str, _Unfit]]:
    folders = {name.lower() for name in partition_by}
    for number, field in enumerate(schema):
        if field.name.lower() in folders and isinstance(field.dataType, StringType):
            for kind, unfit in enumerate(names.unfit):
                yield f"unfit_{number}_{kind}", field.name, unfit
