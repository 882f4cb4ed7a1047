"""Functions that the tables of docs/migrate.md name."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType


@udf(StringType())
def size_of(amount):  # type: ignore[no-untyped-def]  # Spark warns of types that are not those of pandas
    return "big" if (amount or 0) > 10 else "small"


def with_size(rows: DataFrame) -> DataFrame:
    return rows.withColumn("size", size_of("amount"))


def largest(rows: Any) -> Any:
    return rows.sort_values("id").tail(1)[["country", "id"]]


def doubled(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch[["id"]] * 2
