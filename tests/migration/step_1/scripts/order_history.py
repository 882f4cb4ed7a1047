"""Replace the day's part of the history, which is partitioned by day."""

import argparse

from shop_common import ENRICHED, build_session


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--enriched", required=True)
    parser.add_argument("--history", required=True)
    parser.add_argument("--day", required=True)
    args = parser.parse_args()

    spark = build_session("order_history")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.read.schema(ENRICHED).parquet(args.enriched).createOrReplaceTempView("enriched")
    history = spark.sql(f"""
        SELECT country, size, hour, count(*) AS orders, sum(amount) AS revenue, '{args.day}' AS day
        FROM enriched
        GROUP BY country, size, hour
    """)
    history.write.mode("overwrite").partitionBy("day").parquet(args.history)
    spark.stop()


if __name__ == "__main__":
    main()
