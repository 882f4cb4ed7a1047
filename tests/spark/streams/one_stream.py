"""One driver of a stream, which dies or sleeps where it is told: `python -m tests.spark.streams.one_stream '{…}'`."""

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler import (
    DataStream,
    Delta,
    Iceberg,
    Jdbc,
    Json,
    Kafka,
    Parquet,
    Secret,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.connectors import Connector
from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from graph_compiler.spark_runtime.streams import state_backend, stream_query
from graph_compiler.spark_runtime.streams.batch_inputs import BatchInputs
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store.stores import open_on_driver
from graph_compiler.staging.streams.checkpoint import Checkpoint
from tests.harness.driver_processes import arm, say
from tests.harness.position_runs import Runs
from tests.harness.postgres import JAR

COLUMNS = "id INT, word STRING, at TIMESTAMP, n INT"
LAKE_KINDS = ("iceberg", "delta")
LAKE_COLUMNS = {"copy": "id INT, word STRING, n INT", "totals": "word STRING, total BIGINT"}
POINTS: dict[str, Any] = {
    "rescale": state_backend.StateBackend,
    "open": Checkpoint,
    "check": BatchInputs,
    "prepare": SinkCommitter,
    "check_unchanged": BatchInputs,
    "decide": Ledger,
    "decide_behind_others": Ledger,
    "finish": Ledger,
    "run_region": stream_query,
}
"""Functions at which a driver dies or sleeps, in the order of a batch; behind the last one, Spark commits it."""
AT_ANY_TIME = tuple(point for point in POINTS if point != "rescale")
"""Those of a stream that does not begin with a savepoint."""


def declared(case: Mapping[str, Any]) -> StreamExecutionEnvironment:
    """Return a pipeline that copies all rows, and counts them by word, or by word and ten minutes.

    They are in files, or in the topic `rows` if there are servers of Kafka.
    """
    kind = case["kind"]
    config = {"execution.runtime-mode": "AUTOMATIC"}
    if (saved := case.get("saved")) is not None:
        config |= {"execution.savepoint.path": saved}
    if case.get("partitions"):
        config |= {"state.backend.type": "rocksdb"}
    if case.get("continuous"):
        config |= {"execution.continuous": "true", "execution.checkpointing.interval": "200"}
    env = StreamExecutionEnvironment(f"stream_{kind}", config=config)
    if case["servers"] is None:
        rows = env.from_source(Json(f"{case['folder']}/in", schema=COLUMNS), "rows", unbounded=True).uid("rows")
    else:
        records = env.from_source(Kafka("rows", bootstrap_servers=case["servers"]), "rows", unbounded=True).uid("rows")
        parsed = records.select(row=f"from_json(CAST(value AS STRING), '{COLUMNS}', map('mode', 'FAILFAST'))")
        rows = parsed.select(id="row.id", word="row.word", at="row.at", n="row.n")
    _end(rows.select("id", "word", "n"), _target("copy", case), "copy")
    if kind == "windows":
        marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
        windows = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes"))
        counted = windows.aggregate(total="sum(n)").uid("windows")
        counted = counted.select("word", minute="unix_timestamp(window_start) DIV 60", total="total")
        _end(counted, _target("totals", case), "totals")
    else:
        totals = rows.key_by("word").aggregate(total="sum(n)").uid("totals")
        _end(totals, _target("totals", case), "merged", keys="word")
    return env


def _end(rows: DataStream, target: Connector, name: str, **how: Any) -> None:
    rows.sink_to(target, mode="merge" if how else "append", **how).name(name).uid(name)


def _target(name: str, case: Mapping[str, Any]) -> Connector:
    if case["kind"] in ("windows", "totals"):
        return Parquet(f"{case['folder']}/{name}")
    if case["kind"] == "delta":
        return Delta(f"{case['folder']}/{name}")
    password = Secret("warehouse", "password")
    if case["kind"] == "iceberg":
        properties = {"type": "jdbc", "uri": case["url"], "jdbc.user": "etl", "jdbc.schema-version": "V1"}
        catalog: dict[str, str | Secret] = {**properties, "jdbc.password": password}
        return Iceberg(f"lake.db.{name}", catalog=catalog | {"warehouse": f"{case['folder']}/warehouse"})
    return Jdbc(case["url"], table=name, user="etl", password=password, driver="org.postgresql.Driver")


def _table(name: str, case: Mapping[str, Any]) -> str:
    return f"lake.db.{name}" if case["kind"] == "iceberg" else f"delta.`{case['folder']}/{name}`"


def _prepared(case: Mapping[str, Any], spark: SparkSession) -> None:
    """Create the tables of a lake."""
    for name, columns in LAKE_COLUMNS.items():
        if isinstance(target := _target(name, case), Iceberg):
            connect(target, spark)
            spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
        spark.sql(f"CREATE TABLE IF NOT EXISTS {_table(name, case)} ({columns}) USING {case['kind']}")


def _published(case: Mapping[str, Any], spark: SparkSession) -> dict[str, list[list[Any]]]:
    """Return the rows of the tables."""
    found = {}
    for name in LAKE_COLUMNS:
        table = _table(name, case)
        if case["kind"] == "iceberg":  # Delta looks for the last version by itself
            spark.catalog.refreshTable(table)
        found[name] = [list(row) for row in spark.table(table).collect()]
    return found


def main() -> None:
    """Run what the case says; then again whenever a line comes, or say what is published."""
    case = json.loads(sys.argv[1])
    is_lake = case["kind"] in LAKE_KINDS
    settings = {"spark.databricks.delta.snapshotPartitions": "1", **SETTINGS} if is_lake else {}
    if (partitions := case.get("partitions")) is not None:
        settings = {**settings, "spark.sql.shuffle.partitions": str(partitions)}
    with local_session({"spark.ui.showConsoleProgress": "false", **settings}) as spark:
        open_on_driver()
        if is_lake:
            _prepared(case, spark)
        else:
            spark.sql(f"ADD JAR {JAR}")
        runs = Runs(declared(case), Path(case["folder"]), spark, tries=case["try"])
        say("ready", None)
        for line in map(str.strip, sys.stdin):
            if line == "published":
                say(line, _published(case, spark))
                continue
            if point := case.get("point"):
                arm([POINTS[point]], point, case["when"], signal.Signals[case["signal"]], spark)
            say("ended", runs.run(line))


if __name__ == "__main__":
    main()
