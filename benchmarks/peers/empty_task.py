"""Start Spark as a task's driver does, with all its imports, and stop it: `spark-submit empty_task.py`."""

from __future__ import annotations

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import look_for_numpy_only_if_loaded

if __name__ == "__main__":
    look_for_numpy_only_if_loaded()
    SparkSession.builder.appName("empty_task").getOrCreate().stop()
