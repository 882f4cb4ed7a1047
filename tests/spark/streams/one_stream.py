"""One driver of a stream, which dies or sleeps where it is told: `python -m tests.spark.streams.one_stream '{…}'`."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

from graph_compiler import (
    DataStream,
    Jdbc,
    Json,
    Kafka,
    Parquet,
    Secret,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.connectors import Connector
from graph_compiler.spark_runtime.region import stream_query
from graph_compiler.spark_runtime.region.batch_inputs import BatchInputs
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store.stores import open_on_driver
from graph_compiler.staging.streams.checkpoint import Checkpoint
from tests.harness.driver_processes import arm, say
from tests.harness.position_runs import Runs
from tests.harness.postgres import JAR

COLUMNS = "id INT, word STRING, at TIMESTAMP, n INT"
POINTS: dict[str, Any] = {
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


def declared(kind: str, folder: str, url: str | None, servers: str | None) -> StreamExecutionEnvironment:
    """Return a pipeline that copies all rows, and counts them by word, or by word and ten minutes.

    They are in files, or in the topic `rows` if there are servers of Kafka.
    """
    env = StreamExecutionEnvironment(f"stream_{kind}", config={"execution.runtime-mode": "AUTOMATIC"})
    if servers is None:
        rows = env.from_source(Json(f"{folder}/in", schema=COLUMNS), "rows", unbounded=True).uid("rows")
    else:
        records = env.from_source(Kafka("rows", bootstrap_servers=servers), "rows", unbounded=True).uid("rows")
        parsed = records.select(row=f"from_json(CAST(value AS STRING), '{COLUMNS}', map('mode', 'FAILFAST'))")
        rows = parsed.select(id="row.id", word="row.word", at="row.at", n="row.n")
    _end(rows.select("id", "word", "n"), _target("copy", folder, url), "copy")
    if kind == "windows":
        marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
        windows = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes"))
        counted = windows.aggregate(total="sum(n)").uid("windows")
        counted = counted.select("word", minute="unix_timestamp(window_start) DIV 60", total="total")
        _end(counted, _target("totals", folder, url), "totals")
    else:
        totals = rows.key_by("word").aggregate(total="sum(n)").uid("totals")
        _end(totals, _target("totals", folder, url), "merged", keys="word")
    return env


def _end(rows: DataStream, target: Connector, name: str, **how: Any) -> None:
    rows.sink_to(target, mode="merge" if how else "append", **how).name(name).uid(name)


def _target(name: str, folder: str, url: str | None) -> Connector:
    if url is None:
        return Parquet(f"{folder}/{name}")
    return Jdbc(url, table=name, user="etl", password=Secret("warehouse", "password"), driver="org.postgresql.Driver")


def main() -> None:
    """Run what the case says; then again whenever a line comes."""
    case = json.loads(sys.argv[1])
    with local_session({"spark.ui.showConsoleProgress": "false"}) as spark:
        open_on_driver()
        spark.sql(f"ADD JAR {JAR}")
        runs = Runs(
            declared(case["kind"], case["folder"], case["url"], case["servers"]),
            Path(case["folder"]),
            spark,
            tries=case["try"],
        )
        say("ready", None)
        for run in sys.stdin:
            if point := case.get("point"):
                arm([POINTS[point]], point, case["when"], signal.Signals[case["signal"]], spark)
            say("ended", runs.run(run.strip()))


if __name__ == "__main__":
    main()
