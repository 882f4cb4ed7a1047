"""Functions that return streams of formats of Spark, and a format written in Python."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

PLACE = "STREAM_FORMATS"
"""The variable with the folder in which rows arrive."""


class NumbersReader(SimpleDataSourceStreamReader):
    """Numbers up to the one in a file."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's name
        return {"next": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int]], dict[str, int]]:
        end = {"next": int(self.file.read_text())}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(  # noqa: N802  # Spark's name
        self, start: dict[str, int], end: dict[str, int]
    ) -> Iterator[tuple[int]]:
        return iter([(number,) for number in range(start["next"], end["next"])])

    def commit(self, end: dict[str, int]) -> None:
        """Keep nothing."""


class Numbers(DataSource):
    """The format of these numbers."""

    @classmethod
    def name(cls) -> str:
        return "numbers_in_a_file"

    def schema(self) -> str:
        return "id INT"

    def simpleStreamReader(self, schema: StructType) -> NumbersReader:  # noqa: ARG002, N802  # Spark's name
        return NumbersReader(self.options["file"])


def numbers(spark: SparkSession) -> DataFrame:
    """Return the numbers of a format written in Python."""
    spark.dataSource.register(Numbers)
    return spark.readStream.format("numbers_in_a_file").option("file", f"{os.environ[PLACE]}/numbers").load()


def lines(spark: SparkSession) -> DataFrame:
    """Return the numbers in lines of text."""
    found = spark.readStream.format("text").load(f"{os.environ[PLACE]}/lines")
    return found.where("value <> ''").selectExpr("CAST(value AS INT) AS id")


def other_lines(spark: SparkSession) -> DataFrame:
    """Return those of another folder."""
    found = spark.readStream.text(f"{os.environ[PLACE]}/others")
    return found.where("value <> ''").selectExpr("CAST(value AS INT) AS id")


def counted(spark: SparkSession) -> DataFrame:
    """Return a total, which keeps state."""
    return lines(spark).groupBy("id").count()


def batch(spark: SparkSession) -> DataFrame:
    """Return rows that end."""
    return spark.range(3).selectExpr("CAST(id AS INT) AS id")


def both(spark: SparkSession) -> DataFrame:
    """Return the rows of two streams."""
    return lines(spark).union(other_lines(spark))


def nothing(spark: SparkSession) -> Any:  # as all of them
    """Return no rows at all."""
