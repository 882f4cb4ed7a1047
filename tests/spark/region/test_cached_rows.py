"""What an operator has cached ends with its region: Spark would give it to whatever has the same plan."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table
from pyspark.sql import SparkSession

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


def test_a_run_reads_the_files_that_are_there_and_not_what_an_earlier_one_has_cached(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    def ids() -> list[tuple[object, ...]]:
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(Parquet(f"{tmp_path}/in"), "in").cache()
        rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
        rows.filter("id > 100").sink_to(Parquet(f"{tmp_path}/none")).name("none")
        assert run_pipeline(env.pipeline())[-1].failure is None
        return sorted(published(tmp_path / "out")[1])

    (tmp_path / "in").mkdir()
    write_table(pa.table({"id": [0]}), tmp_path / "in/a.parquet")  # Spark forgets what it has overwritten itself
    assert ids() == [(0,)]
    (tmp_path / "in/a.parquet").unlink()
    write_table(pa.table({"id": [1, 2]}), tmp_path / "in/b.parquet")
    assert ids() == [(1,), (2,)]


def test_nothing_stays_cached_if_a_region_fails(run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(0, 1, 1, 1).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Parquet(f"{tmp_path}/in"), "in").cache().filter("raise_error('no') IS NULL")
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is not None
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()
