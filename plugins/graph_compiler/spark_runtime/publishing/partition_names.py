"""Names of partition folders: the columns and values they encode, and the values they cannot hold.

    day=2013-01-01/city=a%2Fb     ↔     day = 2013-01-01, city = 'a/b'

A folder's name has one text for NULL, which a string may equal; an empty string is also written as NULL. A value that
ends like the name of a file being copied hides its folder, and all bytes that are not text become the same letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import expr
from pyspark.sql.types import StringType, StructType

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted, quoted
from graph_compiler.spark_runtime.spark_internals.executed_queries import observed_numbers

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


_NO_TEXT = _Unfit(condition="NOT is_valid_utf8({})", shown="bytes that are not UTF-8", becomes="another text")
_UNFIT = (
    _Unfit(condition="{} = ''", shown="''", becomes="NULL"),
    _Unfit(condition=f"{{}} = '{NULL_FOLDER}'", shown=f"'{NULL_FOLDER}'", becomes="NULL"),
    _Unfit(
        condition="endswith({}, '._COPYING_')",
        shown="text that ends in '._COPYING_'",
        becomes="no row at all: readers skip such folders",
    ),
    _NO_TEXT,
    _Unfit(condition=r"contains({}, '\0')", shown="a NUL character", becomes="nothing: no file system has it"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFolders:
    """Rows to be written to partition folders; after that, `check` reports the values that folder names changed."""

    rows: DataFrame
    partition_by: tuple[str, ...]
    observation: Observation | None
    kinds: tuple[_Unfit, ...] = _UNFIT

    def check(self) -> None:
        """Raise PublicationError with the columns, values and rows that folder names cannot store."""
        if self.observation is None:
            return
        counts = observed_numbers(self.observation)
        wrong = [
            f"  column '{column}': {counted(found, 'row')} with {unfit.shown}, read back as {unfit.becomes}"
            for name, column, unfit in _watched(self.rows.schema, self.partition_by, self.kinds)
            if (found := counts.get(name) or 0)
        ]
        if wrong:
            raise PublicationError(
                "\n".join(
                    [
                        "names of partition folders cannot hold what it would write",
                        *wrong,
                        "  hint: leave the column out of partition_by, give these rows another value in it (NULL is "
                        'one), or set them aside: filter(…, rejects="tag")',
                    ]
                )
            )


def watch_folders(rows: DataFrame, partition_by: tuple[str, ...], kinds: tuple[_Unfit, ...] = _UNFIT) -> WatchedFolders:
    """Return the rows with NULL for values that folder names cannot store, counted in the job that writes them.

    If two values of one task lead to one folder, Spark itself fails, and does not report why. If no partition column
    needs this, the rows are unchanged.
    """
    watched = list(_watched(rows.schema, partition_by, kinds))
    if not watched:
        return WatchedFolders(rows=rows, partition_by=partition_by, observation=None)
    observation = Observation()
    counts = [expr(f"count_if({unfit.condition.format(quoted(column))}) AS {name}") for name, column, unfit in watched]
    conditions: dict[str, list[str]] = {}
    for _, column, unfit in watched:
        conditions.setdefault(column, []).append(unfit.condition.format(quoted(column)))
    fit = rows.observe(observation, *counts).withColumns(
        {column: expr(f"if({' OR '.join(found)}, NULL, {quoted(column)})") for column, found in conditions.items()}
    )
    return WatchedFolders(rows=fit, partition_by=partition_by, observation=observation, kinds=kinds)


def watch_texts(rows: DataFrame, partition_by: tuple[str, ...]) -> WatchedFolders:
    """Return the rows like `watch_folders`, for a table whose manifests have the values: only bytes change there."""
    return watch_folders(rows, partition_by, (_NO_TEXT,))


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
    schema: StructType, partition_by: tuple[str, ...], kinds: tuple[_Unfit, ...]
) -> Iterator[tuple[str, str, _Unfit]]:
    folders = {name.lower() for name in partition_by}
    for number, field in enumerate(schema):
        if field.name.lower() in folders and isinstance(field.dataType, StringType):
            for kind, unfit in enumerate(kinds):
                yield f"unfit_{number}_{kind}", field.name, unfit
