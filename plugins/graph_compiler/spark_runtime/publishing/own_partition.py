"""The partition that a run is responsible for: its values as names of folders, and the folders that have them.

    partitions={"day": "{{ ds }}"}    →    day=2024-01-02, day=2024-1-2    for a column of DATE

A declared value is read as its column's type, and nothing of it may be lost. A folder has it if its name, read as that
type, is the same value: other programs may have written `month=01`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, DecimalType, StringType, StructType

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import shown
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.strict_values import MOST_DIGITS, sql_literal
from graph_compiler.spark_runtime.connectors.folder_values import fits_folder
from graph_compiler.spark_runtime.publishing.partition_names import NULL_FOLDER, partition_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPartition:
    """Columns, in lower case, with their types and their values as text in the names of folders."""

    spark: SparkSession
    types: Mapping[str, DataType]
    values: Mapping[str, str]

    @classmethod
    def of(cls, declared: Iterable[tuple[str, str | None]], rows: StructType, spark: SparkSession) -> OwnPartition:
        """Read the declared values; raises PublicationError for one that is not of its column's type."""
        known = {field.name.lower(): field.dataType for field in rows}
        types = {column.lower(): known[column.lower()] for column, _ in declared}
        values = {column.lower(): _read(spark, column, text, types[column.lower()]) for column, text in declared}
        return cls(spark=spark, types=types, values=values)

    def __str__(self) -> str:
        """Return it like the name of a folder: `day=2024-01-02`."""
        return "/".join(f"{column}={value}" for column, value in self.values.items())

    def folders_among(self, folders: Iterable[str]) -> frozenset[str]:
        """Return those of these folders that are in the partition."""
        parts = {folder: dict(partition_of(folder)) for folder in folders}
        for column, value in self.values.items():
            texts = {found[column] for found in parts.values() if column in found}
            same = {text for text, read in _as_written(self.spark, texts, self.types[column]).items() if read == value}
            parts = {folder: found for folder, found in parts.items() if found.get(column) in same}
        return frozenset(parts)

    def refuse_others(self, folders: Iterable[str]) -> None:
        """Raise PublicationError if there are folders of other partitions."""
        written = set(folders)
        if others := sorted(written - self.folders_among(written)):
            more = f", and {len(others) - _SHOWN} more" if others[_SHOWN:] else ""
            raise PublicationError(
                f"it has rows of other partitions than {self}, for which this run is responsible: "
                f"{', '.join(others[:_SHOWN])}{more}; nothing of it is visible\n"
                "  allowed: rows of that partition\n"
                '  hint: filter("…", rejects="others") before the sink sets such rows aside, in a side output of their '
                "own"
            )


_SHOWN = 3


def _read(spark: SparkSession, column: str, text: str | None, kind: DataType) -> str:
    if text is None:
        return NULL_FOLDER
    wanted = _with_places(text, kind) if isinstance(kind, DecimalType) else text
    read = _as_written(spark, {wanted}, kind)[wanted] if fits_folder(wanted, kind, is_declared=True) else None
    if read is None or read in ("", NULL_FOLDER) or "\0" in read:
        raise PublicationError(
            f"the partition of column '{column}' is {shown(text)}, and the column is {type_words(kind)}\n"
            "  allowed: a value of that type, as it is in the names of folders; None is NULL\n"
            "  hint: cast the column before the sink, or declare another value in partitions="
        )
    return read


def _with_places(text: str, kind: DecimalType) -> str:
    """Return a number with as many decimal places as its type; unchanged if it has more digits, or is none."""
    try:
        number = Decimal(text)
        placed = number.quantize(Decimal(1).scaleb(-kind.scale), context=Context(prec=2 * MOST_DIGITS))
    except InvalidOperation:
        return text
    return f"{placed:f}" if placed == number else text


def _as_written(spark: SparkSession, texts: Iterable[str], kind: DataType) -> dict[str, str | None]:
    """Return for each text of a folder's name that of the value it is read as; None if it is none of the type."""
    wanted = sorted(texts)
    found: dict[str, str | None] = {NULL_FOLDER: NULL_FOLDER}
    if isinstance(kind, StringType):
        return {**found, **{text: text for text in wanted}}
    if wanted:
        literals = ", ".join(f"({sql_literal(text)})" for text in wanted)
        query = f"SELECT t, CAST(TRY_CAST(t AS {kind.simpleString()}) AS STRING) FROM VALUES {literals} AS texts(t)"
        found = {str(text): read for text, read in spark.sql(query).collect()} | found
    return found
