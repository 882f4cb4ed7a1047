"""The pipeline for Spark Declarative Pipelines: `spark-pipelines run` imports a copy of this file."""

from __future__ import annotations

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers import steps


@pipelines.temporary_view
def enriched() -> DataFrame:
    """Join orders with customers and products."""
    spark = SparkSession.active()
    orders = steps.clean_orders(steps.read_orders(spark))
    customers = steps.clean_customers(steps.read_customers(spark))
    products = steps.clean_products(steps.read_products(spark))
    return steps.enrich_products(steps.enrich_customers(orders, customers), products)


@pipelines.materialized_view
def sink_customer_stats() -> DataFrame:
    """Aggregate by customer."""
    return steps.customer_stats(SparkSession.active().table("enriched"))


@pipelines.materialized_view
def sink_product_daily() -> DataFrame:
    """Aggregate by product and day."""
    return steps.product_daily(SparkSession.active().table("enriched"))


@pipelines.materialized_view
def sink_top_products() -> DataFrame:
    """Return the products that sold best, from the table above."""
    return steps.top_products(SparkSession.active().table("sink_product_daily"))
