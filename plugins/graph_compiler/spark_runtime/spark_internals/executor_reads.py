"""Let executors read a file, without Python. `JavaSparkContext.textFile`: Spark 4.x."""

from __future__ import annotations

from pyspark.sql import SparkSession


def read_in_parts(spark: SparkSession, path: str, tasks: int) -> None:
    """Read a local file in so many tasks, each a part of it; raises Py4JError if an executor cannot."""
    spark.sparkContext._jsc.textFile(f"file://{path}", tasks).count()
