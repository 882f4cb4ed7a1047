"""The pipeline as one hand-written application, the lower limit: `spark-submit single_app.py OUT [persist]`."""

from __future__ import annotations

import sys

from pyspark import StorageLevel
from pyspark.sql import SparkSession

from benchmarks.peers import steps


def run(spark: SparkSession, out: str, *, persist: bool = False) -> None:
    """Compose the steps and write the three sinks, one after the other."""
    orders = steps.clean_orders(steps.read_orders(spark))
    customers = steps.clean_customers(steps.read_customers(spark))
    products = steps.clean_products(steps.read_products(spark))
    enriched = steps.enrich_products(steps.enrich_customers(orders, customers), products)
    if persist:
        enriched = enriched.persist(StorageLevel.MEMORY_AND_DISK)
    stats = steps.customer_stats(enriched)
    daily = steps.product_daily(enriched)
    if persist:
        daily = daily.persist(StorageLevel.MEMORY_AND_DISK)
    top = steps.top_products(daily)
    steps.write_sink(stats, f"{out}/sink_customer_stats")
    steps.write_sink(daily, f"{out}/sink_product_daily")
    steps.write_sink(top, f"{out}/sink_top_products")


if __name__ == "__main__":
    session = SparkSession.builder.appName("single_app").getOrCreate()
    run(session, sys.argv[1], persist=sys.argv[2:] == ["persist"])
    session.stop()
