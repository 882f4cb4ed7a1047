"""Rows of the machine as data: id, a column whose name is drawn, and a unique number."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tests.machine.model import Row


def table(rows: Sequence[Row], column: str) -> pa.Table:
    """Return rows as Arrow's table."""
    return pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int64()),
            column: pa.array([row[1] for row in rows], pa.string()),
            "number": pa.array([row[2] for row in rows], pa.int64()),
        }
    )


def schema(column: str) -> StructType:
    """Return the columns."""
    return StructType(
        [StructField("id", LongType()), StructField(column, StringType()), StructField("number", LongType())]
    )


def frame(spark: SparkSession, rows: Sequence[Row], column: str) -> DataFrame:
    """Return rows as a DataFrame."""
    return spark.createDataFrame(table(rows, column), schema(column)).coalesce(1)
