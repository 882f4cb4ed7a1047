"""Functions that fail, as in a user's module; `# here` marks the failing line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, udf


def refuses(_rows: DataFrame) -> DataFrame:
    words = "the exchange rates are not out yet\ncome back at noon\n\nand a long story"
    raise ValueError(words)  # here


def has_a_mistake(rows: DataFrame) -> DataFrame:
    return rows.selct("x")  # type: ignore[operator,no-any-return]  # here


def gives_nothing(_rows: DataFrame) -> DataFrame:
    return None  # type: ignore[return-value]  # here


def divides_columns(rows: DataFrame) -> DataFrame:
    return rows.withColumn("y", 1 / col("x"))  # here


def misses_a_column(rows: DataFrame) -> DataFrame:
    return rows.where(col("z") > 0)  # here


def refuses_a_row(rows: DataFrame) -> DataFrame:
    @udf("int", useArrow=False)
    def checked(x: int) -> int:
        if x == 0:
            raise ValueError("x must not be 0")  # here
        return x

    return rows.withColumn("y", checked("x"))


def adds_text(rows: DataFrame) -> DataFrame:
    @udf("int", useArrow=False)
    def added(x: int) -> int:
        return x + "1"  # type: ignore[operator]  # here

    return rows.withColumn("y", added("x"))


STALL = 3.0


def stalls_on_zero(rows: DataFrame) -> DataFrame:
    seconds = STALL

    @udf("int", useArrow=False)
    def stalled(x: int) -> int:
        import time  # where the function runs

        time.sleep(seconds if x == 0 else 0.0)
        return x

    return rows.withColumn("y", stalled("id"))


def kills_its_worker(rows: DataFrame) -> DataFrame:
    def killed(batches: Iterator[Any]) -> Iterator[Any]:
        import os  # where the function runs

        os._exit(9)
        yield from batches

    return rows.mapInPandas(killed, "x int")


def runs_out_of_memory(rows: DataFrame) -> DataFrame:
    @udf("int", useArrow=False)
    def filled(_x: int) -> int:
        raise MemoryError  # here

    return rows.withColumn("y", filled("x"))


def harmless(rows: DataFrame) -> DataFrame:
    return rows


def loses_its_input(rows: DataFrame) -> DataFrame:
    for file in rows.inputFiles():
        Path(file.removeprefix("file://")).unlink()
    return rows


def sorts(rows: DataFrame) -> DataFrame:
    return rows.orderBy("id")


def keeps_even(rows: DataFrame) -> DataFrame:
    def even(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch[batch.id % 2 == 0]

    return rows.mapInPandas(even, "id long, k long")


def fails_once(rows: DataFrame) -> DataFrame:
    """Fail in the middle of every task's first attempt, after some rows."""

    def shaky(batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            yield batch
            if context.attemptNumber() == 0:
                raise ConnectionResetError("the network blinked")

    return rows.mapInPandas(shaky, "x int")
