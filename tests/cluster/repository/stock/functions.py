"""Functions of every kind, as a user's package has them; executors have nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

from prices import FACTOR
from stock.deep.rounding import rounded


def priced(rows: DataFrame) -> DataFrame:
    """Add a price, with a function that Spark calls for each row."""
    price = udf(lambda quantity: rounded(quantity * FACTOR), "double")
    return rows.withColumn("price", price("quantity"))


def in_pandas(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Add a tax, with a module that only a running function imports."""
    tax = import_module("stock.found_at_run_time").TAX
    for frame in frames:
        yield frame.assign(taxed=frame["price"] * tax)


def in_arrow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches as they are."""
    yield from batches


def largest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the largest row of a group."""
    return frame.nlargest(1, "quantity")


def split(rows: DataFrame) -> tuple[DataFrame, dict[str, DataFrame]]:
    """Return odd and even quantities."""
    is_odd = udf(lambda quantity: rounded(quantity) % 2 == 1, "boolean")
    return rows.filter(is_odd("quantity")), {"even": rows.filter(~is_odd("quantity"))}


def route(key: int, partitions: int) -> int:
    """Return the partition of a key."""
    return key % partitions


def halved(state: DataFrame) -> DataFrame:
    """Return the state with each amount halved."""
    half = udf(lambda amount: rounded(amount / 2), "double")
    return state.withColumn("amount", half("amount"))


def same(rows: DataFrame) -> DataFrame:
    """Return the rows as they are."""
    return rows
