"""Start Spark as a task's driver does, with all its imports, and stop it: `spark-submit empty_task.py`."""

from __future__ import annotations

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import ease_java_calls

if __name__ == "__main__":
    ease_java_calls()
    SparkSession.builder.appName("empty_task").getOrCreate().stop()
