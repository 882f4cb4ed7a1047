"""Functions that change a pipeline's sources while they are read; pipelines of tests name them."""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def _changing(rows: DataFrame, change: Any) -> DataFrame:
    """Return the rows unchanged; `change` is called with the first input file when they have been read."""
    path = rows.inputFiles()[0].removeprefix("file://")

    def changed(batches: Iterator[Any]) -> Iterator[Any]:
        import fcntl  # where the function runs

        yield from batches
        with open(f"{path.rpartition('/')[0]}/_once", "a+") as once:
            fcntl.flock(once, fcntl.LOCK_EX)
            once.seek(0)
            if not once.read():
                once.write("done")
                change(path)

    schema = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema)
    return rows.mapInPandas(changed, schema)


def writes_it_again(rows: DataFrame) -> DataFrame:
    """Write the file over in place: same size, other rows."""

    def change(path: str) -> None:
        import os

        with open(path) as file:
            text = file.read().replace("1", "7")
        with open(path, "w") as file:
            file.write(text)
        os.utime(path, (2_000_000_000, 2_000_000_000))

    return _changing(rows, change)


def touches_it(rows: DataFrame) -> DataFrame:
    def change(path: str) -> None:
        import os

        os.utime(path, (2_000_000_000, 2_000_000_000))

    return _changing(rows, change)


def adds_a_file(rows: DataFrame) -> DataFrame:
    def change(path: str) -> None:
        import shutil

        shutil.copy(path, f"{path}.more")

    return _changing(rows, change)


def other_rows_each_time(spark: SparkSession) -> DataFrame:
    def other(_: int) -> tuple[float]:
        import random

        return (random.random(),)

    return spark.createDataFrame(spark.sparkContext.parallelize(range(50), 2).map(other), "x DOUBLE")


def files(spark: SparkSession) -> DataFrame:
    folder = spark.conf.get("spark.test.folder")
    assert folder is not None
    return spark.read.text(folder)


HAPPENS: dict[str, Callable[[], object]] = {}
"""What a test asks for: it happens once, when the operator with this name in its function's argument is evaluated."""


def happens(rows: DataFrame) -> DataFrame:
    """Return the rows; before that, what the test asks for happens once, on the driver."""
    if (asked := HAPPENS.pop("now", None)) is not None:
        asked()
    return rows


def with_files(rows: DataFrame) -> DataFrame:
    """Add the files of a folder that only the function knows."""
    return rows.join(_files(rows), "id")


def with_touched_files(rows: DataFrame) -> DataFrame:
    """Add the files of a folder that only the function knows, and that change once while they are read."""
    return rows.join(touches_it(_files(rows)), "id")


def with_table(rows: DataFrame) -> DataFrame:
    """Add a table that only the function knows."""
    return rows.join(rows.sparkSession.table("changing_parts").drop("part"), "id")


def split_by_table(rows: DataFrame) -> tuple[DataFrame, dict[str, DataFrame]]:
    """Split the rows by a table that only the function knows, and reads twice."""
    known = rows.sparkSession.table("changing_parts")
    return rows.join(known, "id", "semi"), {"unknown": rows.join(known, "id", "anti")}


def _files(rows: DataFrame) -> DataFrame:
    folder = rows.sparkSession.conf.get("spark.test.folder")
    assert folder is not None
    return rows.sparkSession.read.parquet(folder)


def through_files(rows: DataFrame) -> DataFrame:
    """Add one to each id, through files that every round of a loop writes again."""
    folder = rows.sparkSession.conf.get("spark.test.folder")
    rows.selectExpr("id + 1 AS id").write.mode("overwrite").parquet(str(folder))
    return _files(rows)
