"""What the checksum of a staged result adds to staging it.

Each result is staged with and without it in every round, in one Spark session, in alternating order:

    copied     the benchmark's orders unchanged: only reading and writing
    enriched   the orders cleaned and joined with customers and products, as its pipeline stages them
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.alternating import Seconds, compare, session
from benchmarks.peers.gen_data import generate
from benchmarks.peers.measured_app import Clock, read_clock
from benchmarks.peers.steps import clean_customers, clean_orders, clean_products, enrich_customers, enrich_products
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore

Rows = Callable[[], DataFrame]


@dataclass(frozen=True, slots=True)
class StagingChecksum:
    """Stage each result with and without its checksum in every round."""

    rounds: int

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Return the costs with the checksum and without, of each result by round."""
        data = folder / f"checksum-{orders}"
        generate(orders, data)
        spark = session()
        rounds = min(self.rounds, most or self.rounds)
        try:
            return {
                "costs": {
                    name: compare(("with", "without"), partial(_stage, rows, _area(spark, folder / "staging")), rounds)
                    for name, rows in _results(spark, data).items()
                }
            }
        finally:
            spark.stop()


def _stage(rows: Rows, area: StagingArea, way: str) -> Seconds:
    """Stage once; only a result that may be compared with another copy has a checksum."""
    is_compared = way == "with"
    result = ResultDescriptor(
        id=IntermediateDataSetId("d-0"),
        node_id=1,
        output_tag=None,
        fingerprint="f",
        partitions=None,
        consumers=(),
        is_compared=is_compared,
        deterministic=False,
    )
    begun = read_clock(area.spark)
    manifest = area.beginning(result.id).stage(result, rows())
    ended = read_clock(area.spark)
    assert (manifest.checksum is not None) is is_compared
    shutil.rmtree(manifest.location)
    return {"cpu": _cpu(ended) - _cpu(begun), "wall": ended.wall - begun.wall}


def _results(spark: SparkSession, data: Path) -> Mapping[str, Rows]:
    def read(name: str) -> DataFrame:
        return spark.read.parquet(f"{data}/{name}")

    def enriched() -> DataFrame:
        orders = enrich_customers(clean_orders(read("orders")), clean_customers(read("customers")))
        return enrich_products(orders, clean_products(read("products")))

    return {"copied": lambda: read("orders"), "enriched": enriched}


def _area(spark: SparkSession, root: Path) -> StagingArea:
    layout = StagingLayout(root=str(root), identity=RunIdentity.own("benchmark", "run"))
    return StagingArea(
        spark=spark,
        log=ManifestLog(store=LocalStore(), layout=layout),
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        plan_id="plan",
        contracts=tuple,
    )


def _cpu(clock: Clock) -> float:
    return clock.python + clock.jvm
