"""What it costs to read records strictly: the same files with `sources.strict`, and as version 0.1 read them.

Each kind of column is read with and without it in every round, in one Spark session, in alternating order. All columns
are in the files each time, and those of other kinds are read as STRING:

    texts, integers, decimal, moments   CSV: two texts; two integers; a DECIMAL; a DATE and a TIMESTAMP
    all                                 CSV: all of these
    wide                                CSV: all of these three times, of a quarter of the orders
    parquet                             Parquet: all of these
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.alternating import Seconds, compare, session
from benchmarks.peers.measured_app import read_clock
from graph_compiler import Csv, Parquet
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.deployment.documents.jvm_settings import STRICT_SOURCES
from graph_compiler.spark_runtime.connectors import read_source

_COLUMNS = {
    "id": ("BIGINT", "id"),
    "customer": ("INT", "CAST(id * 7919 % 100000 AS INT)"),
    "amount": ("DECIMAL(9, 2)", "CAST((id * 31 % 1000000) / 100 AS DECIMAL(9, 2))"),
    "day": ("DATE", "date_add(DATE '2020-01-01', CAST(id % 1500 AS INT))"),
    "at": ("TIMESTAMP", "timestamp_seconds(1577836800 + id * 37)"),
    "status": ("STRING", "concat('status-', id % 5)"),
    "note": ("STRING", "concat('some note about order ', id)"),
}
"""Types and values."""
_TYPED: Mapping[str, tuple[str, ...]] = {
    "texts": (),
    "integers": ("id", "customer"),
    "decimal": ("amount",),
    "moments": ("day", "at"),
    "all": tuple(_COLUMNS),
}


@dataclass(frozen=True, slots=True)
class StrictSources:
    """Read files of orders strictly and leniently in every round."""

    rounds: int

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Return CPU and wall seconds, strict and lenient, of each kind of column by round."""
        spark = session()
        rounds = min(self.rounds, most or self.rounds)
        try:
            return {
                "costs": {
                    name: compare(("strict", "lenient"), partial(_read, source, spark), rounds)
                    for name, source in _sources(spark, orders, folder / "strict").items()
                }
            }
        finally:
            spark.stop()


def _sources(spark: SparkSession, orders: int, folder: Path) -> Mapping[str, FileConnector]:
    values = [f"{value} AS {name}" for name, (_, value) in _COLUMNS.items()]
    rows = spark.range(0, orders, numPartitions=4).selectExpr(*values)
    csv, parquet = f"{folder}/csv", f"{folder}/parquet"
    rows.write.csv(csv, header=True)
    rows.write.parquet(parquet)

    def schema(typed: tuple[str, ...]) -> str:
        return ", ".join(f"{name} {kind if name in typed else 'STRING'}" for name, (kind, _) in _COLUMNS.items())

    found: dict[str, FileConnector] = {name: Csv(csv, schema=schema(typed)) for name, typed in _TYPED.items()}
    found["wide"] = _wide(spark, orders // 4, f"{folder}/wide")
    return found | {"parquet": Parquet(parquet, schema=schema(tuple(_COLUMNS)))}


def _wide(spark: SparkSession, orders: int, folder: str) -> FileConnector:
    """Return a source of so many columns that a method of Spark's generated code has more than 8,000 bytes."""
    columns = {f"{name}_{n}": column for n in range(3) for name, column in _COLUMNS.items()}
    values = [f"{value} AS {name}" for name, (_, value) in columns.items()]
    spark.range(0, orders, numPartitions=4).selectExpr(*values).write.csv(folder, header=True)
    return Csv(folder, schema=", ".join(f"{name} {kind}" for name, (kind, _) in columns.items()))


def _read(source: FileConnector, spark: SparkSession, way: str) -> Seconds:
    spark.conf.set(STRICT_SOURCES, str(way == "strict").lower())
    begun = read_clock(spark)
    read_source(source, spark).write.format("noop").mode("overwrite").save()
    ended = read_clock(spark)
    return {"cpu": ended.jvm - begun.jvm, "wall": ended.wall - begun.wall}
