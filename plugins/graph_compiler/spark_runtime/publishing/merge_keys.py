"""Merge by key: new rows replace the target's rows with the same key and add new keys; the other rows stay."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql.functions import col, count, lit
from pyspark.sql.types import StructType

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted, listing, quoted
from graph_compiler.spark_runtime.columns.alignment import align

_SHOWN = 3


def key_columns(keys: tuple[str, ...], schema: StructType) -> tuple[str, ...]:
    """Return the keys in the spelling of the rows' columns; raises PublicationError for keys that are not columns."""
    known = {name.lower(): name for name in schema.names}
    if unknown := [key for key in keys if key.lower() not in known]:
        raise PublicationError(
            f"it merges by {listing(unknown)}, but its rows have no such column\n"
            f"  allowed: {listing(schema.names)}"
        )
    return tuple(known[key.lower()] for key in keys)


def refuse_keys(found: Sequence[Row], keys: tuple[str, ...]) -> None:
    """Raise PublicationError for keys that do not identify exactly one row.

    `found` holds such keys, each with the number of its rows as the last column.
    """
    if not found:
        return
    shown = [
        f"{', '.join(f'{key}={value}' for key, value in zip(keys, row, strict=False))} ({counted(row[-1], 'row')})"
        for row in found[:_SHOWN]
    ]
    more = ", …" if len(found) > _SHOWN else ""
    raise PublicationError(
        f"it merges by {listing(keys)}, and its rows have keys more than once, or NULL: {'; '.join(shown)}{more}\n"
        "  allowed: one row for each key, and no NULL in it\n"
        f"  hint: deduplicate({', '.join(map(repr, keys))}, order_by=…) before the sink keeps the first row of each "
        'key; filter(…, rejects="tag") sets rows with NULL aside'
    )


def unusable_keys(rows: DataFrame, keys: tuple[str, ...]) -> list[Row]:
    """Return keys that are duplicate or contain NULL, as `refuse_keys` expects them; runs one job."""
    counts = rows.groupBy(*_columns(keys)).agg(count(lit(1)).alias("graph_compiler_rows"))
    wrong = col("graph_compiler_rows") > 1
    for key in _columns(keys):
        wrong = wrong | key.isNull()
    return counts.where(wrong).limit(_SHOWN + 1).collect()


def merge(old: DataFrame, new: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Return the old rows whose key is not in the new rows, and the new rows; with the new rows' columns."""
    same = align(old, new.schema)
    stays = same.join(new.select(*_columns(keys)), list(keys), "left_anti")
    return stays.select(*map(quoted, new.columns)).union(new)


def _columns(keys: tuple[str, ...]) -> list[Column]:
    return [col(quoted(key)) for key in keys]
