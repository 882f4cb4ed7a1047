"""What the checks that guard rows cost in a run of the 14 steps: their CPU time, and its part of the run's.

    python -m benchmarks.guards --rounds 10 --orders 2000000

Each round runs the declared pipeline in one Spark session. A guard's CPU is that of the calling threads of Python and
of the JVM while its functions run; the run's CPU is that of both processes.

    decided once    whether conditions on equal keys could be moved, and the plans that prevent it (decision 56)
    parsed alone    each expression of a declaration is parsed before it is put into a query
    pinned JVMs     zone, locale and charset of the driver; of executors, which are asked in one job of a cluster
    own reads       the leaves of each operator's plan that its inputs do not have (decision 57)
    same code       the code of each region, at the start of its application and at its end (decision 58)
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from benchmarks.alternating import session
from benchmarks.peers.declared_pipeline import Cuts, declare
from benchmarks.peers.deployed import Deployed
from benchmarks.peers.gen_data import ORDERS, generate
from benchmarks.peers.measured_app import read_clock
from graph_compiler.driver_jvm.pinned_process import pin_process
from graph_compiler.spark_runtime import main as application
from graph_compiler.spark_runtime import pinned_jvm
from graph_compiler.spark_runtime.operators import function_operators, row_operators, scope
from graph_compiler.spark_runtime.region import region_evaluation, running_code
from graph_compiler.spark_runtime.repeatability import source_files
from graph_compiler.spark_runtime.spark_internals import parsed_queries

GUARDS: Mapping[str, Sequence[tuple[ModuleType, str]]] = {
    "decided once": (
        (region_evaluation, "compares_equal_keys"),
        (region_evaluation, "fix_columns"),
        (row_operators, "must_decide_once"),
        (row_operators, "fix_decision"),
        (function_operators, "must_decide_once"),
        (function_operators, "fix_columns"),
    ),
    "parsed alone": tuple(
        (module, name)
        for module in (scope, row_operators, scope)
        for name in ("require_expression", "require_type")
        if getattr(module, name, None) is getattr(parsed_queries, name)
    ),
    "pinned JVMs": ((pinned_jvm, "check_jvm"), (pinned_jvm, "check_executor_jvms")),
    "own reads": ((source_files, "own_leaves"),),
    "same code": ((running_code, "computed_by"),),
}
"""The functions of each guard, in the modules that call them."""


@dataclass
class Meter:
    """CPU seconds of guards in one round."""

    spark: SparkSession
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(GUARDS, 0.0))
    calls: dict[str, int] = field(default_factory=lambda: dict.fromkeys(GUARDS, 0))
    _is_inside: bool = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Measure all calls of guards."""
        with ExitStack() as stack:
            for guard, functions in GUARDS.items():
                for module, name in functions:
                    stack.enter_context(patch.object(module, name, self._measured(guard, getattr(module, name))))
            yield

    def _measured(self, guard: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*arguments: Any) -> Any:
            if self._is_inside:
                return function(*arguments)
            self._is_inside, begun = True, self._threads()
            try:
                return function(*arguments)
            finally:
                self.seconds[guard] += self._threads() - begun
                self.calls[guard] += 1
                self._is_inside = False

        return measured

    def _threads(self) -> float:
        """Return the CPU seconds of this thread, and of the JVM's thread that serves it."""
        jvm = self.spark._jvm
        assert jvm is not None
        bean = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
        return time.thread_time() + int(bean.getCurrentThreadCpuTime()) / 1e9


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.guards", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--orders", type=int, default=ORDERS, help="a multiple of 8")
    options = parser.parse_args(words)
    pin_process()
    with tempfile.TemporaryDirectory(prefix="guards-") as folder:
        generate(options.orders, Path(folder, "data"))
        spark = session()
        try:
            rounds = [
                _round(spark, Path(folder, "data"), Path(folder, f"round-{number}"))
                for number in range(options.rounds + 1)
            ][1:]  # classes are loaded and code is compiled in the first
        finally:
            spark.stop()
    print(f"{'guard':14}{'calls':>7}{'CPU ms':>9}{'of the run':>12}{'highest':>10}")
    for guard in GUARDS:
        shares = [meter.seconds[guard] / cpu for meter, cpu in rounds]
        middle = 1000 * statistics.median(meter.seconds[guard] for meter, _ in rounds)
        calls = rounds[0][0].calls[guard]
        print(f"{guard:14}{calls:7}{middle:9.1f}{statistics.median(shares):12.2%}{max(shares):10.2%}")
    cpu = statistics.median(cpu for _, cpu in rounds)
    print(f"a run has {cpu:.1f} s of CPU, {options.orders:,} orders, {options.rounds} rounds")


def _round(spark: SparkSession, data: Path, work: Path) -> tuple[Meter, float]:
    """Run the pipeline once; return the meter and the CPU seconds of the run."""
    work.mkdir()
    deployed = Deployed.of(declare(Cuts()), data, work, {})
    meter = Meter(spark)
    begun = read_clock(spark)
    with meter.installed():
        pinned_jvm.check_jvm(dict(spark.sparkContext.getConf().getAll()))
        pinned_jvm.check_executor_jvms(spark, 2)
        for regions in deployed.tasks:
            code = running_code.RunningCode.of((task.region for task in regions), spark)
            for task in regions:
                report = application.execute(task, spark, code=code)
                assert report.failure is None, report.failure.message
    ended = read_clock(spark)
    return meter, ended.python - begun.python + ended.jvm - begun.jvm


if __name__ == "__main__":
    main()
