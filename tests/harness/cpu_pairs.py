"""The CPU of two ways to do something, which take turns: in one Spark session, or in processes of their own."""

import ctypes
import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import java_class

_TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP = 2
_SET_CHILD_SUBREAPER = 36


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


def adopt_orphans() -> None:
    """Let processes whose parent ends be children of this one: a command need not wait for its JVM. Linux only."""
    assert ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def cpu_of_children() -> float:
    """Wait until all processes of this one have ended, and return the seconds of CPU that they have taken."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compared(cpu: Callable[[], float], plain: Way, ours: Way, pairs: int) -> dict[str, object]:
    """Return the CPU of both ways in pairs, which take turns in who is first, and the ratios."""
    seconds: dict[str, list[float]] = {plain.name: [], ours.name: []}
    for number in range(pairs + WARM_UP):
        for way in (plain, ours) if number % 2 else (ours, plain):
            before = cpu()
            way.does(number)
            seconds[way.name].append(cpu() - before)
    return figures(*(seconds[way.name][WARM_UP:] for way in (plain, ours)))


def figures(plain: Sequence[float], ours: Sequence[float]) -> dict[str, object]:
    """Return the medians of pairs of figures, and their ratios."""
    ratios = [ours / plain for plain, ours in zip(plain, ours, strict=True)]
    return {
        "plain": round(statistics.median(plain), 3),
        "ours": round(statistics.median(ours), 3),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": sorted(round(each, 2) for each in ratios),
    }
