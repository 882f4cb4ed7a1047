"""The reports written by hand: `spark-submit readers_app.py OUT READERS again|persist`."""

from __future__ import annotations

import sys

from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as every PySpark program writes it

from benchmarks.peers import steps
from benchmarks.peers.readers_pipeline import REPORTS


def run(spark: SparkSession, out: str, readers: int, *, persist: bool = False) -> None:
    """Write the reports one after the other; the orders are computed for each, or what is read of them is persisted."""
    orders = steps.clean_orders(steps.read_orders(spark))
    customers = steps.clean_customers(steps.read_customers(spark))
    products = steps.clean_products(steps.read_products(spark))
    enriched = steps.enrich_products(steps.enrich_customers(orders, customers), products)
    reports = list(REPORTS)[:readers]
    if persist:
        read = dict.fromkeys([*(key for name in reports for key in REPORTS[name]), "quantity", "amount_cents"])
        enriched = enriched.select(*read).persist(StorageLevel.DISK_ONLY)
    for name in reports:
        totals = enriched.groupBy(*REPORTS[name]).agg(
            F.count(F.lit(1)).alias("orders"),
            F.sum("quantity").alias("quantity"),
            F.sum("amount_cents").alias("amount_cents"),
        )
        steps.write_sink(totals, f"{out}/{name}")


if __name__ == "__main__":
    session = SparkSession.builder.appName("readers_app").getOrCreate()
    run(session, sys.argv[1], int(sys.argv[2]), persist=sys.argv[3:] == ["persist"])
    session.stop()
