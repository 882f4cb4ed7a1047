"""Join the day's orders with customers and products."""

import argparse

from pyspark.sql import functions as F
from shop_common import build_session, size_of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clean", required=True)
    parser.add_argument("--customers", required=True)
    parser.add_argument("--products", required=True)
    parser.add_argument("--enriched", required=True)
    args = parser.parse_args()

    spark = build_session("enrich_orders")
    orders = spark.read.parquet(args.clean)
    customers = spark.read.csv(args.customers, header=True, schema="customer_id INT, country STRING")
    products = spark.read.json(args.products, schema="product_id STRING, category STRING")
    enriched = (
        orders.join(customers, "customer_id", "left")
        .join(F.broadcast(products), "product_id")
        .withColumn("country", F.coalesce("country", F.lit("unknown")))
        .withColumn("size", size_of("quantity"))
        .select("order_id", "customer_id", "product_id", "category", "quantity", "amount", "hour", "size", "country")
    )
    enriched.repartition("country").write.mode("overwrite").partitionBy("country").parquet(args.enriched)
    spark.stop()


if __name__ == "__main__":
    main()
