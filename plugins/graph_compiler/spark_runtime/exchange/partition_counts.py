"""Rows in a given number of partitions, with an exchange only if the plan does not show that number (decision 8)."""

from __future__ import annotations

from pyspark.sql import DataFrame

from graph_compiler.spark_runtime.spark_internals.planned_partitions import planned_partitions


def has_exactly(rows: DataFrame, partitions: int) -> bool:
    """Whether the rows will certainly have this number of partitions, whatever adaptive execution does."""
    return planned_partitions(rows) == partitions


def with_exactly(rows: DataFrame, partitions: int | None) -> DataFrame:
    """Return the rows in `partitions` partitions, without an exchange if possible; None leaves them unchanged."""
    if partitions is None or (found := planned_partitions(rows)) == partitions:
        return rows
    if found is not None and found > partitions:
        return rows.coalesce(partitions)
    return rows.repartition(partitions)
