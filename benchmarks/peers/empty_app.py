"""Start Spark and stop it: what every application pays before it does anything."""

from __future__ import annotations

from pyspark.sql import SparkSession

if __name__ == "__main__":
    SparkSession.builder.appName("empty_app").getOrCreate().stop()
