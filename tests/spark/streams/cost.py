"""What batches of a stream cost, against plain Structured Streaming: `python -m tests.spark.streams.cost --pairs 10`.

A command, not a test. Both ways take turns in one Spark session, and their CPU is that of the JVM and of this process.
Each turn is a short run and a long one, which publish batches of 100,000 rows, one file each, that have arrived since
the last. What a batch costs is the difference of both by their difference in batches; the rest is what each run costs.
The plain query writes by `foreachBatch`: a batch is there twice if its driver dies. With `--starts`: what a run costs
in which Spark is started and nothing is new, against a run that copies one row.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from graph_compiler.spark_runtime.spark_internals.java import ease_java_calls
from tests.end_to_end.conftest import Home
from tests.harness.cpu_pairs import WARM_UP, Way, adopt_orphans, compared, cpu, cpu_of_children, figures
from tests.harness.position_runs import Runs

COLUMNS = (
    "id BIGINT, customer BIGINT, item STRING, amount INT, price DECIMAL(12, 2), at TIMESTAMP, day DATE, "
    "returned BOOLEAN"
)
_FIRST = 1_767_225_600
"""When the first file has arrived."""
_ONE_FILE = {"maxFilesPerTrigger": "1"}
_SHORT = 5
"""Batches of a short run."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query over orders, for plain Spark and as a declaration. `moves_on`: each file has another hour's orders."""

    name: str
    format: str
    plain: Callable[[DataFrame], DataFrame]
    ours: Callable[[DataStream], DataStream]
    moves_on: bool = False


def _plain_windows(orders: DataFrame) -> DataFrame:
    windows = orders.withWatermark("at", "1 minute").groupBy(functions.window("at", "10 minutes"), "item")
    return windows.agg(functions.expr("count(*) AS orders"), functions.expr("sum(amount) AS amount"))


def _our_windows(orders: DataStream) -> DataStream:
    marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 minute")
    windows = marked.key_by("item").window(TumblingEventTimeWindows("at", "10 minutes"))
    return windows.aggregate(orders="count(*)", amount="sum(amount)").uid("windows")


def _plain_copies(orders: DataFrame) -> DataFrame:
    return orders.selectExpr("*", "amount * price AS total").where("amount > 3")


def _our_copies(orders: DataStream) -> DataStream:
    return orders.with_columns(total="amount * price").filter("amount > 3")


QUERIES = (
    Query(name="copies of Parquet", format="parquet", plain=_plain_copies, ours=_our_copies),
    Query(name="copies of CSV", format="csv", plain=_plain_copies, ours=_our_copies),
    Query(name="windows of Parquet", format="parquet", plain=_plain_windows, ours=_our_windows, moves_on=True),
)


def orders(spark: SparkSession, rows: int, format: str, folder: Path, hour: int) -> Path:
    """Write one file with the orders of an hour, and return it."""
    found = spark.range(rows).selectExpr(
        "id",
        "id % 100000 AS customer",
        "concat('item ', id % 1000) AS item",
        "CAST(id % 97 AS INT) AS amount",
        "CAST(id % 1000 AS DECIMAL(12, 2)) AS price",
        f"TIMESTAMP'2026-01-01' + make_dt_interval(0, {hour}, 0, id % 3600) AS at",
        "date_add(DATE'2026-01-01', CAST(id % 28 AS INT)) AS day",
        "id % 7 = 0 AS returned",
    )
    found.coalesce(1).write.format(format).option("header", "true").save(str(folder))
    (file,) = folder.glob(f"*.{format}")
    return file


def compare(spark: SparkSession, query: Query, rows: int, batches: int, pairs: int, root: Path) -> dict[str, object]:
    """Compare both ways for a query; a long run has this number of batches."""
    format = query.format
    hours = range((_SHORT + batches) * (pairs + WARM_UP) if query.moves_on else 1)
    files = [orders(spark, rows, format, root / "orders" / str(hour), hour) for hour in hours]
    for way in ("plain", "ours"):
        (root / way / "in").mkdir(parents=True)
    places = {way: itertools.count() for way in ("plain", "ours")}

    def arrive(way: str, size: int) -> None:
        for _ in range(size):
            place = next(places[way])
            file = files[place % len(files)]
            arrived = root / way / "in" / f"{place:05}{file.suffix}"
            shutil.copy(file, arrived)
            os.utime(arrived, (_FIRST + place, _FIRST + place))  # Spark reads files by their times

    def plain(size: int) -> None:
        arrive("plain", size)
        reader = spark.readStream.format(format).schema(COLUMNS).options(header="true", **_ONE_FILE)
        found = query.plain(reader.load(f"{root}/plain/in"))

        def write(batch: DataFrame, _: int) -> None:
            batch.write.mode("append").parquet(f"{root}/plain/out")

        writer = found.writeStream.foreachBatch(write).option("checkpointLocation", f"{root}/plain/checkpoint")
        writer.trigger(availableNow=True).start().awaitTermination()

    env = StreamExecutionEnvironment("ours", config={"execution.runtime-mode": "AUTOMATIC"})
    place, options = f"{root}/ours/in", _ONE_FILE
    source: FileConnector = Parquet(place, schema=COLUMNS, options=options)
    if format == "csv":
        source = Csv(place, schema=COLUMNS, options=options)
    found = query.ours(env.from_source(source, "orders", unbounded=True).uid("orders"))
    found.sink_to(Parquet(f"{root}/ours/out"), mode="append").uid("out")
    runs = Runs(env, root / "ours", spark)
    numbers = itertools.count()

    def ours(size: int) -> None:
        arrive("ours", size)
        assert runs.run(f"run {next(numbers)}") == []
        assert len(runs.report().batches) >= size  # a last one may only complete windows

    costs = _in_turns(spark, {"plain": plain, "ours": ours}, batches, pairs)
    same = [spark.read.parquet(f"{root}/{way}/out").count() for way in ("plain", "ours")]
    assert same[0] == same[1] > 0, same
    return {"query": query.name, "rows": rows, "batches": batches} | costs


def _in_turns(
    spark: SparkSession, does: Mapping[str, Callable[[int], None]], batches: int, pairs: int
) -> dict[str, object]:
    """Return the CPU of a batch, both ways, and what a run costs besides."""
    of_batch: dict[str, list[float]] = {way: [] for way in does}
    of_run: dict[str, list[float]] = {way: [] for way in does}
    for pair in range(pairs + WARM_UP):
        for way in does if pair % 2 else reversed(list(does)):
            before = cpu(spark)
            does[way](_SHORT)
            between = cpu(spark)
            does[way](batches)
            short, long = between - before, cpu(spark) - between
            if pair >= WARM_UP:
                batch = (long - short) / (batches - _SHORT)
                of_batch[way].append(batch)
                of_run[way].append(short - _SHORT * batch)
    besides = {way: round(statistics.median(seconds), 2) for way, seconds in of_run.items()}
    return {"a batch": figures(of_batch["plain"], of_batch["ours"]), "a run besides": besides}


_COPIES = """
from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("copies")
env.from_source(Csv("FOLDER/one", schema="value STRING"), "one").sink_to(Parquet("FOLDER/copied"), mode="overwrite")
"""
_ARRIVES = """
from graph_compiler import FunctionSource, Parquet, StreamExecutionEnvironment


def arriving(spark):
    return spark.readStream.format("text").load("FOLDER/one")


env = StreamExecutionEnvironment("arrives", config={"execution.runtime-mode": "STREAMING"})
rows = env.from_source(FunctionSource(arriving), "rows", unbounded=True).uid("rows")
rows.sink_to(Parquet("FOLDER/arrived"), mode="append")
"""
"""Only Spark can tell whether something has arrived."""


def starts(pairs: int, root: Path) -> dict[str, object]:
    """Compare runs that start Spark: one copies a row, the other finds nothing new."""
    (root / "pipelines").mkdir()
    (root / "one").mkdir()
    (root / "one" / "one.csv").write_text("value\na\n")
    for name, text in (("copies", _COPIES), ("arrives", _ARRIVES)):
        (root / "pipelines" / f"{name}.py").write_text(text.replace("FOLDER", str(root)))
    environment = Home(root / "airflow").environment()

    def run(name: str) -> None:
        command = [sys.executable, "-m", "graph_compiler", "run", name, "--in-process"]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    adopt_orphans()
    run("arrives")
    plain = Way(name="copies", does=lambda _: run("copies"))
    ours = Way(name="arrives", does=lambda _: run("arrives"))
    return {"starts": "nothing is new"} | compared(cpu_of_children, plain, ours, pairs)


def main() -> None:
    """Compare for all queries, or runs in which nothing is new, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.streams.cost")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=40, help="of a long run")
    parser.add_argument("--only", default="", help="a part of the name of a query")
    parser.add_argument("--starts", action="store_true")
    asked = parser.parse_args()
    if asked.starts:
        with tempfile.TemporaryDirectory(prefix="cost-") as folder:
            print(json.dumps(starts(asked.pairs, Path(folder))), flush=True)
        return
    with (
        tempfile.TemporaryDirectory(prefix="cost-") as folder,
        local_session({"spark.ui.showConsoleProgress": "false"}) as spark,
    ):
        spark.sparkContext.setLogLevel("ERROR")
        ease_java_calls()  # as each driver does
        for query in (query for query in QUERIES if asked.only in query.name):
            root = Path(folder, query.name)
            print(json.dumps(compare(spark, query, asked.rows, asked.batches, asked.pairs, root)), flush=True)


if __name__ == "__main__":
    main()
