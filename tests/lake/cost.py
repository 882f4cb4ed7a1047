"""What a publication costs, against a plain append of the same rows: `make test-lake-cost ARGS="--pairs 10"`.

A command, not a test. Both ways take turns in one Spark session, and their CPU is that of the JVM and of this process.
The plain append is `writeTo(table).append()`, Delta's `write.format("delta").mode("append")`: it may be there twice
after a retry. Ours is everything between claiming the target and the record of the end.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Delta, Iceberg, Secret
from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from tests.harness.cpu_pairs import Way, compared, cpu
from tests.harness.postgres import PASSWORD, running_postgres
from tests.harness.sinks import Sinks


@contextmanager
def session() -> Iterator[SparkSession]:
    """Start a Spark that writes both formats."""
    with local_session({**SETTINGS, "spark.databricks.delta.snapshotPartitions": "1"}) as spark:
        spark.sparkContext.setLogLevel("ERROR")
        yield spark


def orders(spark: SparkSession, rows: int, folder: str) -> DataFrame:
    """Return orders in files: eight columns, as the benchmarks have them."""
    spark.range(rows).selectExpr(
        "id",
        "id % 100000 AS customer",
        "concat('item ', id % 1000) AS item",
        "CAST(id % 97 AS INT) AS amount",
        "CAST(id % 1000 AS DECIMAL(12, 2)) AS price",
        "date_add(DATE'2026-01-01', CAST(id % 28 AS INT)) AS day",
        "id % 7 = 0 AS returned",
        "rand(7) AS score",
    ).write.parquet(folder)
    return spark.read.parquet(folder)


def of_iceberg(spark: SparkSession, rows: DataFrame, root: Path, pairs: int) -> dict[str, object]:
    """Compare appends to two tables of one catalog in PostgreSQL."""
    with running_postgres() as server:
        os.environ[PASSWORD.variable] = server.password
        catalog: dict[str, str | Secret] = {
            "type": "jdbc",
            "uri": server.url,
            "jdbc.user": server.user,
            "jdbc.password": PASSWORD,
            "jdbc.schema-version": "V1",
            "warehouse": str(root / "warehouse"),
        }
        ours = Iceberg("lake.db.ours", catalog=catalog)
        connect(ours, spark)
        spark.sql("CREATE NAMESPACE lake.db")
        for name in ("ours", "plain"):
            rows.limit(0).writeTo(f"lake.db.{name}").using("iceberg").create()
        sinks = Sinks(spark, root / "staging")
        return compared(
            partial(cpu, spark),
            Way(name="plain", does=lambda _: rows.writeTo("lake.db.plain").append()),
            Way(name="ours", does=lambda number: sinks.write(ours, rows, mode="append", run=f"r{number}")),
            pairs,
        )


def of_delta(spark: SparkSession, rows: DataFrame, root: Path, pairs: int) -> dict[str, object]:
    """Compare appends to two tables on this disk."""
    for name in ("ours", "plain"):
        rows.limit(0).write.format("delta").save(str(root / name))
    sinks, ours = Sinks(spark, root / "staging"), Delta(str(root / "ours"))
    return compared(
        partial(cpu, spark),
        Way(name="plain", does=lambda _: rows.write.format("delta").mode("append").save(str(root / "plain"))),
        Way(name="ours", does=lambda number: sinks.write(ours, rows, mode="append", run=f"r{number}")),
        pairs,
    )


def main() -> None:
    """Compare both formats, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.lake.cost")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cost-") as folder, session() as spark:
        root = Path(folder)
        rows = orders(spark, asked.rows, str(root / "orders"))
        for name, compare in {"iceberg": of_iceberg, "delta": of_delta}.items():
            (root / name).mkdir()
            print(json.dumps({"format": name, "rows": asked.rows} | compare(spark, rows, root / name, asked.pairs)))


if __name__ == "__main__":
    main()
