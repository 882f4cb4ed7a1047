"""Add up the revenue of a day by country and category."""

import argparse

from pyspark.sql import functions as F
from shop_common import ENRICHED, build_session


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--enriched", required=True)
    parser.add_argument("--revenue", required=True)
    args = parser.parse_args()

    spark = build_session("daily_revenue")
    spark.conf.set("spark.sql.shuffle.partitions", 4)
    enriched = spark.read.schema(ENRICHED).parquet(args.enriched)
    revenue = (
        enriched.groupBy("country", "category")
        .agg(
            F.sum("amount").alias("revenue"),
            F.count("*").alias("orders"),
            F.countDistinct("customer_id").alias("customers"),
            F.sum(F.when(F.col("quantity") < 0, -F.col("quantity")).otherwise(0)).alias("returned"),
            F.sum(F.when(F.col("quantity") > 0, F.col("quantity")).otherwise(0)).alias("sold"),
        )
        .withColumn("return_rate", F.col("returned") / F.col("sold"))  # NULL if none was sold
    )
    revenue.coalesce(1).write.mode("overwrite").parquet(args.revenue)
    spark.stop()


if __name__ == "__main__":
    main()
