"""Functions that harm their driver; pipelines of tests name them."""

import atexit
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, udf


class Unlike(BaseException):
    """Nothing that `except Exception` catches."""


def exits(_rows: DataFrame) -> DataFrame:
    sys.exit(0)


def exits_with_words(_rows: DataFrame) -> DataFrame:
    sys.exit("there is nothing to do today")


def exits_as_a_source(_spark: SparkSession) -> DataFrame:
    raise SystemExit


def exits_in_a_worker(rows: DataFrame) -> DataFrame:
    @udf("int", useArrow=False)
    def exiting(_x: int) -> int:
        sys.exit(0)

    return rows.withColumn("y", exiting("x"))


def exits_in_a_batch(rows: DataFrame) -> DataFrame:
    def exiting(batches: Iterator[Any]) -> Iterator[Any]:
        sys.exit(0)
        yield from batches

    return rows.mapInPandas(exiting, "x int")


def copies_batches(rows: DataFrame) -> DataFrame:
    return rows.mapInPandas(lambda batches: batches, "x int")


def is_interrupted(_rows: DataFrame) -> DataFrame:
    raise KeyboardInterrupt


def raises_unlike(_rows: DataFrame) -> DataFrame:
    raise Unlike("no Exception")


def recurses(rows: DataFrame) -> DataFrame:
    return recurses(rows)


def nests_an_expression(rows: DataFrame) -> DataFrame:
    deep = col("x")
    for _ in range(6_000):
        deep = deep + 1
    return rows.select(deep.alias("x"))


def says_much(_rows: DataFrame) -> DataFrame:
    raise ValueError("x" * 5_000_000)


def forks(rows: DataFrame) -> DataFrame:
    """Fork a child that returns as if it were the driver, and one that fails."""
    if os.fork() == 0:
        return rows
    if os.fork() == 0:
        raise SystemExit(1)
    time.sleep(0.5)
    return rows


def ends_the_process(_rows: DataFrame) -> DataFrame:
    os._exit(0)


def prints_and_stays(rows: DataFrame) -> DataFrame:
    """Print 100 MB, and leave a thread and a process that never end, and a hook that changes the exit code."""
    import multiprocessing

    for _ in range(100):
        print("x" * 1024 * 1024)
    threading.Thread(target=time.sleep, args=(600,), name="endless").start()
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(20,)).start()
    atexit.register(os._exit, 7)
    return rows


def hoards(rows: DataFrame) -> DataFrame:
    """Allocate memory in the worker that runs a batch, up to its limit or 16 GB."""

    def hoarded(batches: Iterator[Any]) -> Iterator[Any]:
        held = [bytearray(1 << 26) for _ in range(1 << 8)]
        assert held
        yield from batches

    return rows.mapInPandas(hoarded, "x int")


def hoards_as_numpy(rows: DataFrame) -> DataFrame:
    """Ask NumPy for more memory than any machine has: its MemoryError has another name."""

    def hoarded(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy  # in the worker

        numpy.ones(1 << 50)
        yield from batches

    return rows.mapInPandas(hoarded, "x int")


def is_killed_for_its_memory(rows: DataFrame) -> DataFrame:
    """End as the kernel ends a worker without a memory limit."""

    def killed(batches: Iterator[Any]) -> Iterator[Any]:
        import os  # where the function runs
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    return rows.mapInPandas(killed, "x int")
