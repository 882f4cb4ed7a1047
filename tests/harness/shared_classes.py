"""An archive of the classes Spark loads, which every later JVM maps instead of parsing: seconds of each spark-submit.

`python -m tests.harness.shared_classes` is the application whose classes are archived.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_OPTIONS = "SPARK_SUBMIT_OPTS"


def using_archive(environment: Mapping[str, str], archive: Path) -> dict[str, str]:
    """Return the environment in which spark-submit uses an archive; a JVM that does not match it runs without."""
    options = environment[_OPTIONS]
    return {**environment, _OPTIONS: f"{options} -XX:SharedArchiveFile={archive} -Xlog:cds=off"}


def with_shared_classes(environment: Mapping[str, str], archive: Path) -> dict[str, str]:
    """Return the environment in which spark-submit uses the archive, which is created if it does not exist."""
    if not archive.exists():
        unfinished = archive.with_suffix(".unfinished")
        options = f"{environment[_OPTIONS]} -XX:ArchiveClassesAtExit={unfinished}"
        done = subprocess.run(
            [
                str(Path(sys.executable).with_name("spark-submit")),
                "--master",
                "local[2]",
                "--conf",
                "spark.ui.enabled=false",
                __file__,
            ],
            env={**environment, _OPTIONS: options},
            capture_output=True,
            text=True,
            check=False,  # a JVM that has written an archive exits with 1
        )
        assert unfinished.exists(), done.stderr[-2000:]
        unfinished.rename(archive)
    return using_archive(environment, archive)


def _load_classes() -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        rows = spark.range(100).selectExpr("id", "id % 7 AS k", "id * 2.5 AS x")
        rows.repartition(2).write.option("header", True).csv(path)
        read = spark.read.csv(path, header=True, inferSchema=True).filter("id > 3")
        totals = read.groupBy("k").agg({"x": "avg", "*": "count"})
        totals.join(read, "k", "left").orderBy("x").write.parquet(f"{path}-joined")
        spark.read.parquet(f"{path}-joined").hint("broadcast").join(totals, "k").write.parquet(
            f"{path}-again"
        )
    spark.stop()


if __name__ == "__main__":
    _load_classes()
