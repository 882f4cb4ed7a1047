"""One step as one application, Parquet between steps, as most teams do: `spark-submit step_app.py STEP STAGING OUT`."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from benchmarks.peers import steps


def main(name: str, staging: str, out: str) -> None:
    """Read the step's inputs, run it, write its result."""
    spark = SparkSession.builder.appName(name).getOrCreate()
    step = steps.STEPS[name]
    inputs = [spark.read.parquet(f"{staging}/{input}") for input in step.inputs]
    if step.function is None:
        steps.write_sink(inputs[0], f"{out}/{name}")
    else:
        rows = step.function(spark) if step.kind == "source" else step.function(*inputs)
        rows.write.mode("overwrite").parquet(f"{staging}/{name}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:4])
