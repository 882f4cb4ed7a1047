"""One driver: a process of its own that runs a pipeline into a table once, and dies or sleeps where it is told.

    python -m tests.lake.one_try '{"format": "iceberg", …}'

It prints a line of JSON for each step, and reads a line between them: `ready`, `ended` with the messages of failures,
and `rows` with what readers see, and what another thread has seen meanwhile.
"""

import json
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler import Delta, Iceberg, Merge, Secret, StreamExecutionEnvironment, Values
from graph_compiler.spark_runtime.connectors.lake import delta, iceberg_sink
from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from graph_compiler.spark_runtime.spark_internals.file_listings import few_listing_tasks
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store.stores import open_on_driver, store_of
from tests.harness.driver_processes import arm, say
from tests.harness.position_runs import Runs

COLUMNS = "id INT, day STRING, amount INT"
POINTS: dict[str, tuple[Any, ...]] = {
    "prepare": (SinkCommitter,),
    "decide": (Ledger,),
    "decide_behind_others": (Ledger,),
    "_commit": (iceberg_sink, delta),
    "finish": (Ledger,),
}
"""Functions at which a driver dies or sleeps: before, after, or some milliseconds after it has begun."""


S3_KEY, S3_SECRET = Secret("store", "login"), Secret("store", "password")
BUCKET = "lake"


def in_bucket(endpoint: str, folder: str) -> dict[str, str]:
    """Return the properties of a catalog whose files are below a folder of the bucket, without its keys."""
    return {
        "warehouse": f"s3a://{BUCKET}{folder}",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": endpoint,
        "s3.path-style-access": "true",
        "client.region": "us-east-1",
    }


@dataclass(frozen=True)
class Table:
    """The table of a case, and how a session reads and changes it; `place` has the folder of a Delta table."""

    format: str
    place: str
    catalog: dict[str, str]

    @property
    def connector(self) -> Iceberg | Delta:
        if self.format == "delta":
            return Delta(f"{self.place}/sold")
        known: dict[str, str | Secret] = dict(self.catalog)
        if "uri" in self.catalog and self.catalog["uri"].startswith("jdbc:"):
            known["jdbc.password"] = Secret("warehouse", "password")
        if "s3.endpoint" in self.catalog:
            known |= {"s3.access-key-id": S3_KEY, "s3.secret-access-key": S3_SECRET}
        return Iceberg("lake.db.sold", catalog=known)

    @property
    def sql(self) -> str:
        return f"delta.`{self.place}/sold`" if self.format == "delta" else "lake.db.sold"

    def use(self, spark: SparkSession) -> None:
        if isinstance(self.connector, Iceberg):
            connect(self.connector, spark)

    def do(self, statement: str, spark: SparkSession) -> None:
        if statement == "compact":
            options = "options => map('rewrite-all', 'true')"
            call = f"CALL lake.system.rewrite_data_files(table => 'db.sold', {options})"
            spark.sql("OPTIMIZE sold".replace("sold", self.sql) if self.format == "delta" else call)
        elif statement == "expire" and self.format == "delta":
            with few_listing_tasks(spark):
                spark.sql(f"VACUUM {self.sql} RETAIN 0 HOURS")
        elif statement == "expire":
            spark.sql("CALL lake.system.expire_snapshots(table => 'db.sold', older_than => now(), retain_last => 1)")
        else:
            spark.sql(statement.replace("sold", self.sql))

    def rows(self, spark: SparkSession) -> list[list[Any]]:
        rows = spark.read.format("delta").load(f"{self.place}/sold") if self.format == "delta" else None
        if rows is None:
            spark.catalog.refreshTable(self.sql)
            rows = spark.table(self.sql)
        return sorted([list(row) for row in rows.collect()], key=repr)


@dataclass
class Reader:
    """A thread that reads the table over and over."""

    table: Table
    spark: SparkSession
    seen: list[list[list[Any]]] = field(default_factory=list)
    is_over: bool = False

    def __enter__(self) -> "Reader":
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        self.thread.join()

    def _read(self) -> None:
        session = self.spark.newSession()
        self.table.use(session)
        while not self.is_over:
            rows = self.table.rows(session)
            if rows not in self.seen:
                self.seen.append(rows)
            time.sleep(0.05)


def main() -> None:
    """Run what the case says."""
    case = json.loads(sys.argv[1])
    table = Table(case["format"], case["place"], case["catalog"])
    settings = {
        **SETTINGS,
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with local_session(settings) as spark:
        open_on_driver()
        table.use(spark)
        for statement in case["before"]:
            table.do(statement, spark)
        with Reader(table, spark) as reader:
            ended = [_run(case, table, spark, run) for run in case["runs"]]
        say("ended", ended)
        sys.stdin.readline()
        say("rows", {"rows": table.rows(spark), "seen": reader.seen})


def _run(case: dict[str, Any], table: Table, spark: SparkSession, run: dict[str, Any]) -> list[str]:
    if run.get("is_ended"):
        arm(POINTS[case["point"]], case["point"], case["when"], signal.Signals[case["signal"]], spark)
    env = StreamExecutionEnvironment(run["pipeline"])
    rows = env.from_source(Values([tuple(row) for row in run["rows"]], COLUMNS), "rows").uid("rows")
    how: dict[str, Any] = {"keys": "id"} if run["mode"] == "merge" else {}
    if run["mode"] == "insert-only":
        how = {"keys": "id", "merge": Merge(insert_only=True)}
    mode: Any = "merge" if how else run["mode"]
    rows.sink_to(table.connector, mode=mode, **how).name("sold").uid("sold")
    root = f"{case['place']}/staging"
    runs = Runs(env, Path(case["folder"]), spark, tries=run["try"], store=store_of(root), place=root)
    return runs.run(run["pipeline"])


if __name__ == "__main__":
    main()
