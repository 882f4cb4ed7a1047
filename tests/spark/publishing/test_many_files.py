"""More than 32 files or partition folders, which Spark lists on executors, and thousands of columns."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.declaration.connectors.connector import ChangeKind
from graph_compiler.spark_runtime.columns import schema_change
from graph_compiler.spark_runtime.columns.schema_change import find_changes
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
MANY = 40


@pytest.mark.parametrize("mode", ["append", "overwrite-partitions", "merge"])
def test_a_target_of_many_partitions_is_written_again(
    mode: str, sinks: Sinks, spark: SparkSession, tmp_path: Path
) -> None:
    target = Parquet(str(tmp_path / "out"))
    keys = ("day",) if mode == "merge" else ()
    for run in range(2):
        rows = spark.range(MANY).selectExpr(f"{run} AS v", "id AS day").repartition(1)
        sinks.write(target, rows, run=f"r{run}", mode=mode, keys=keys, partition_by=("day",))
    assert spark.read.parquet(target.one_path).count() == (2 * MANY if mode == "append" else MANY)


def test_a_staged_result_of_many_files_is_read(run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Range(0, 400), "numbers").rebalance().filter("id >= 0")
    rows.set_parallelism(MANY).stage("it is tested").filter("id % 2 = 0").sink_to(Parquet(str(tmp_path / "out")))
    reports = run_pipeline(env.pipeline())
    assert [report.failure for report in reports] == [None] * len(reports)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 200


def test_renamed_columns_are_found_without_comparing_all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    real = StructField.__eq__

    def count(self: StructField, other: object) -> bool:
        nonlocal compared
        compared += 1
        return bool(real(self, other))

    monkeypatch.setattr(StructField, "__eq__", count)
    kinds = (LongType(), StringType())
    old, new = (StructType([StructField(f"{name}_{n}", kinds[n % 2]) for n in range(1000)]) for name in ("old", "new"))
    changes = find_changes(old, new)
    assert {change.kind for change in changes} == {ChangeKind.RENAMED}
    assert len(changes) == 1000
    assert compared < 10_000, schema_change
