"""Functions that read a file, call Java, and import a package of an archive."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd
from pyspark import SparkFiles
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType


def rate() -> float:
    """Return the number in the file."""
    with open(SparkFiles.get("rate.txt")) as file:
        return float(file.read())


def in_java(rows: DataFrame) -> DataFrame:
    """Add what a class of the jar computes, and the file as the driver reads it."""
    rows.sparkSession.udf.registerJavaFunction("twice", "Twice", LongType())
    return rows.selectExpr("x", "twice(x) AS doubled", f"CAST({rate()} AS DOUBLE) AS driver")


def in_python(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Add what executors read and import."""
    import tiny  # only the archive has it

    for frame in frames:
        yield frame.assign(executor=rate(), word=tiny.WORD, prefix=sys.prefix)
