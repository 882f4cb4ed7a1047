"""The CPU of two ways to do something in one Spark session, which take turns."""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import java_class

_TICKS = os.sysconf("SC_CLK_TCK")
_WARM_UP = 2


@dataclass(frozen=True, kw_only=True)
class Way:
    """One of the two ways. Each call has another number."""

    name: str
    does: Callable[[int], object]


def cpu(spark: SparkSession) -> float:
    """Return the seconds of CPU that Spark's JVM and this process have taken."""
    pid = int(java_class(spark, "java.lang.ProcessHandle").current().pid())
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS + time.process_time()


def compared(spark: SparkSession, plain: Way, ours: Way, pairs: int) -> dict[str, object]:
    """Return the CPU of both ways in pairs, which take turns in who is first, and the ratios."""
    seconds: dict[str, list[float]] = {plain.name: [], ours.name: []}
    for number in range(pairs + _WARM_UP):
        for way in (plain, ours) if number % 2 else (ours, plain):
            before = cpu(spark)
            way.does(number)
            seconds[way.name].append(cpu(spark) - before)
    of_plain, of_ours = (seconds[way.name][_WARM_UP:] for way in (plain, ours))
    ratios = [ours / plain for plain, ours in zip(of_plain, of_ours, strict=True)]
    return {
        "plain": round(statistics.median(of_plain), 2),
        "ours": round(statistics.median(of_ours), 2),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": sorted(round(each, 2) for each in ratios),
    }
