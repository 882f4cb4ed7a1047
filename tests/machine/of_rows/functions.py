"""Functions that drawn pipelines call."""

from pyspark.sql import DataFrame

NULL = "nil"
"""The text of NULL in CSV files."""


def unchanged(rows: DataFrame) -> DataFrame:
    """Return the rows."""
    return rows


def by_condition(rows: DataFrame, condition: str) -> tuple[DataFrame, dict[str, DataFrame]]:
    """Return the rows for which a condition is true, and the others: two conditions, as one writes them."""
    return rows.where(condition), {"rest": rows.where(f"NOT coalesce({condition}, false)")}


def with_lookup(rows: DataFrame, folder: str) -> DataFrame:
    """Return the rows that have a line in files of JSON, with the sum of both."""
    lines = rows.sparkSession.read.json(folder)
    return rows.join(lines, "v").selectExpr("k", "v + w AS v")
