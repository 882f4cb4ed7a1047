"""The 14 steps of the benchmark pipeline as plain PySpark functions: DataFrames in, DataFrame out.

`STEPS` is the graph: name → kind, function, names of its inputs. Nothing here depends on graph_compiler.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as every PySpark program writes it

DATA = os.environ.get("PEERS_DATA", "data")
N_TOP = 100


# Sources


def read_orders(spark: SparkSession) -> DataFrame:
    return spark.read.parquet(f"{DATA}/orders")


def read_customers(spark: SparkSession) -> DataFrame:
    return spark.read.parquet(f"{DATA}/customers")


def read_products(spark: SparkSession) -> DataFrame:
    return spark.read.parquet(f"{DATA}/products")


# Cleaning (narrow)


def clean_orders(orders: DataFrame) -> DataFrame:
    return (
        orders.filter("status in ('paid','shipped') and quantity > 0")
        .withColumn("day", F.to_date("ts"))
        .withColumn("note", F.upper(F.trim("note")))
        # not .drop("ts"): Spark Declarative Pipelines 4.3 cannot analyse drop() on a pipeline dataset
        .select("order_id", "customer_id", "product_id", "quantity", "discount_pct", "status", "note", "day")
    )


def clean_customers(customers: DataFrame) -> DataFrame:
    return (
        customers.filter("active and country <> ''")
        .withColumn("email", F.lower(F.trim("email")))
        .withColumn("country", F.upper("country"))
        .withColumn("email_domain", F.element_at(F.split("email", "@"), -1))
    )


def clean_products(products: DataFrame) -> DataFrame:
    return products.filter("list_price_cents > 0").withColumn("name", F.initcap("name"))


# Joins (wide)


def enrich_customers(orders_clean: DataFrame, customers_clean: DataFrame) -> DataFrame:
    return orders_clean.join(customers_clean.select("customer_id", "country", "segment", "email_domain"), "customer_id")


def enrich_products(orders_cust: DataFrame, products_clean: DataFrame) -> DataFrame:
    return orders_cust.join(products_clean, "product_id").withColumn(
        "amount_cents",
        (F.col("quantity") * F.col("list_price_cents") * (F.lit(100) - F.col("discount_pct")) / F.lit(100)).cast(
            "long"
        ),
    )


# Aggregates (wide)


def customer_stats(enriched: DataFrame) -> DataFrame:
    return enriched.groupBy("customer_id", "country", "segment").agg(
        F.count(F.lit(1)).alias("orders"),
        F.sum("amount_cents").alias("amount_cents"),
        F.max("day").alias("last_day"),
        F.countDistinct("category").alias("categories"),
    )


def product_daily(enriched: DataFrame) -> DataFrame:
    return enriched.groupBy("product_id", "name", "category", "day").agg(
        F.sum("quantity").alias("quantity"), F.sum("amount_cents").alias("amount_cents")
    )


def top_products(daily: DataFrame) -> DataFrame:
    return (
        daily.groupBy("product_id", "name", "category")
        .agg(F.sum("amount_cents").alias("amount_cents"))
        .orderBy(F.desc("amount_cents"), "product_id")
        .limit(N_TOP)
    )


# Sinks


def write_sink(df: DataFrame, path: str) -> None:
    df.write.mode("overwrite").parquet(path)


class Step(NamedTuple):
    """One step; a sink has no function."""

    kind: str
    function: Callable[..., DataFrame] | None
    inputs: tuple[str, ...]


STEPS = {
    "read_orders": Step("source", read_orders, ()),
    "read_customers": Step("source", read_customers, ()),
    "read_products": Step("source", read_products, ()),
    "clean_orders": Step("map", clean_orders, ("read_orders",)),
    "clean_customers": Step("map", clean_customers, ("read_customers",)),
    "clean_products": Step("map", clean_products, ("read_products",)),
    "enrich_customers": Step("join", enrich_customers, ("clean_orders", "clean_customers")),
    "enrich_products": Step("join", enrich_products, ("enrich_customers", "clean_products")),
    "customer_stats": Step("agg", customer_stats, ("enrich_products",)),
    "product_daily": Step("agg", product_daily, ("enrich_products",)),
    "top_products": Step("agg", top_products, ("product_daily",)),
    "sink_customer_stats": Step("sink", None, ("customer_stats",)),
    "sink_product_daily": Step("sink", None, ("product_daily",)),
    "sink_top_products": Step("sink", None, ("top_products",)),
}
