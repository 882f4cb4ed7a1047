"""Run an application unchanged, and record its cost: `spark-submit measured_app.py MARKS APPLICATION [ARGUMENT …]`.

    import pyspark │ imports, descriptor │ getOrCreate │ plans, jobs, commits │ stop
                   └────── counted ──────┘             └─────── counted ──────┘

CPU is that of the driver's two processes, Python and JVM; an application with Python workers has more.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Seconds so far: wall, CPU of this Python, and CPU of its JVM where there is one."""

    wall: float
    python: float
    jvm: float


def read_clock(spark: SparkSession | None) -> Clock:
    """Read all clocks."""
    return Clock(
        wall=time.perf_counter(),
        python=time.process_time(),
        jvm=0.0 if spark is None else _jvm_cpu(spark),
    )


def _jvm_cpu(spark: SparkSession) -> float:
    """Return the JVM's CPU seconds, through the interface, since its class is not exported."""
    jvm = spark._jvm
    gateway = spark.sparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    bean = jvm.java.lang.management.ManagementFactory.getOperatingSystemMXBean()
    interface = jvm.java.lang.Class.forName("com.sun.management.OperatingSystemMXBean")
    method = interface.getMethod("getProcessCpuTime", gateway.new_array(jvm.java.lang.Class, 0))
    return int(method.invoke(bean, gateway.new_array(jvm.java.lang.Object, 0))) / 1e9


def main(marks: str, application: str, *arguments: str) -> None:
    """Run the application's file as a program, with the session's start and stop marked."""
    clocks = {"begin": read_clock(None)}
    start, stop = SparkSession.Builder.getOrCreate, SparkSession.stop

    def marked_start(builder: SparkSession.Builder) -> SparkSession:
        clocks["asked"] = read_clock(None)
        spark = start(builder)
        clocks["ready"] = read_clock(spark)
        return spark

    def marked_stop(spark: SparkSession) -> None:
        clocks["end"] = read_clock(spark)
        stop(spark)
        Path(marks).write_text(json.dumps(_work(clocks)))

    SparkSession.Builder.getOrCreate = marked_start  # type: ignore[assignment, method-assign]
    SparkSession.stop = marked_stop  # type: ignore[assignment, method-assign]
    sys.argv = [application, *arguments]
    sys.path[0] = str(Path(application).parent)
    runpy.run_path(application, run_name="__main__")


def _work(clocks: dict[str, Clock]) -> dict[str, float]:
    before, after = (
        (clocks["begin"], clocks["asked"]),
        (clocks["ready"], clocks["end"]),
    )
    python = sum(later.python - earlier.python for earlier, later in (before, after))
    return {
        "wall": sum(later.wall - earlier.wall for earlier, later in (before, after)),
        "python": python,
        "cpu": python + after[1].jvm - after[0].jvm,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
