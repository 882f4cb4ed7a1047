"""Run an application unchanged, and record its cost: `spark-submit measured_app.py MARKS APPLICATION [ARGUMENT …]`.

    import pyspark │ imports, descriptor │ getOrCreate │ plans, jobs, commits │ stop
                   └────── counted ──────┘             └─────── counted ──────┘

CPU is that of the driver's two processes, Python and JVM; an application with Python workers has more.
"""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # how pyspark is imported is the application's affair
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Seconds so far: wall, CPU of this Python, and CPU of its JVM where there is one."""

    wall: float
    python: float
    jvm: float


def read_clock(spark: SparkSession | None) -> Clock:
    """Read all clocks."""
    return Clock(wall=time.perf_counter(), python=time.process_time(), jvm=0.0 if spark is None else _jvm_cpu(spark))


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
    sys.meta_path.insert(0, _MarkedSession(clocks, Path(marks)))
    sys.argv = [application, *arguments]
    sys.path[0] = str(Path(application).parent)
    runpy.run_path(application, run_name="__main__")


class _MarkedSession(MetaPathFinder):
    """Finds the module of SparkSession, and changes the class when the application has imported it."""

    module = "pyspark.sql.session"

    def __init__(self, clocks: dict[str, Clock], marks: Path) -> None:
        self.clocks, self.marks = clocks, marks

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find only that module, as the other finders do."""
        del path, target
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        self._mark(spec.loader)
        return spec

    def _mark(self, loader: Loader) -> None:
        executes = loader.exec_module

        def executed(module: ModuleType) -> None:
            executes(module)
            if module.__name__ == self.module:  # an archive has one loader for all its modules
                _mark(module.SparkSession, self.clocks, self.marks)

        loader.exec_module = executed  # type: ignore[method-assign]


def _mark(session: type[SparkSession], clocks: dict[str, Clock], marks: Path) -> None:
    start, stop = session.Builder.getOrCreate, session.stop

    def marked_start(builder: SparkSession.Builder) -> SparkSession:
        clocks["asked"] = read_clock(None)
        spark = start(builder)
        clocks["ready"] = read_clock(spark)
        return spark

    def marked_stop(spark: SparkSession) -> None:
        clocks["end"] = read_clock(spark)
        stop(spark)
        marks.write_text(json.dumps(_work(clocks)))

    session.Builder.getOrCreate = marked_start  # type: ignore[assignment, method-assign]
    session.stop = marked_stop  # type: ignore[assignment, method-assign]


def _work(clocks: dict[str, Clock]) -> dict[str, float]:
    before, after = ((clocks["begin"], clocks["asked"]), (clocks["ready"], clocks["end"]))
    python = sum(later.python - earlier.python for earlier, later in (before, after))
    return {
        "wall": sum(later.wall - earlier.wall for earlier, later in (before, after)),
        "python": python,
        "cpu": python + after[1].jvm - after[0].jvm,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
