"""Read the orders of a day, and put those aside that are not complete."""

import argparse

from pyspark.sql import functions as F
from shop_common import build_session

SCHEMA = "order_id INT, customer_id INT, product_id STRING, quantity STRING, price DECIMAL(10,2), ordered_at TIMESTAMP"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", required=True)
    parser.add_argument("--clean", required=True)
    parser.add_argument("--rejected", required=True)
    args = parser.parse_args()

    spark = build_session("clean_orders")
    orders = (
        spark.read.option("header", True)
        .schema(SCHEMA)
        .csv(args.orders)
        .dropDuplicates(["order_id"])  # the shop sends some twice
        .withColumn("quantity", F.col("quantity").cast("int"))  # NULL if it is "n/a"
        .withColumn("amount", F.col("quantity") * F.col("price"))
        .withColumn("hour", F.hour("ordered_at"))
        .cache()
    )
    complete = F.col("quantity").isNotNull() & F.col("customer_id").isNotNull()
    rejected = orders.filter(~complete).select("order_id", "customer_id", "product_id", "price")
    rejected.coalesce(1).write.mode("overwrite").option("header", True).csv(args.rejected)
    orders.filter(complete).write.mode("overwrite").parquet(args.clean)
    spark.stop()


if __name__ == "__main__":
    main()
