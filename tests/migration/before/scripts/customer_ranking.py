"""Find the best customers of each country."""

import argparse

from pyspark.sql import Window
from pyspark.sql import functions as F
from shop_common import ENRICHED, build_session


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--enriched", required=True)
    parser.add_argument("--ranking", required=True)
    parser.add_argument("--top", type=int, default=3)
    args = parser.parse_args()

    spark = build_session("customer_ranking")
    by_country = Window.partitionBy("country").orderBy(F.desc("revenue"), "customer_id")
    ranking = (
        spark.read.schema(ENRICHED)
        .parquet(args.enriched)
        .groupBy("country", "customer_id")
        .agg(F.sum("amount").alias("revenue"))
        .withColumn("rank", F.row_number().over(by_country))
        .filter(F.col("rank") <= args.top)
        .withColumn("so_far", F.sum("revenue").over(by_country))
    )
    ranking.coalesce(1).write.mode("overwrite").parquet(args.ranking)
    spark.stop()


if __name__ == "__main__":
    main()
