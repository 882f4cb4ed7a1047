"""Columns in the footers of Parquet files: those that say the same are converted once, others are told apart."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.spark_internals.hadoop_files import parquet_columns

pytestmark = pytest.mark.spark


def written(rows: DataFrame, folder: Path) -> str:
    rows.coalesce(1).write.parquet(str(folder))
    (file,) = folder.glob("*.parquet")
    return str(file)


def test_files_with_other_columns_are_told_apart(tmp_path: Path, spark: SparkSession) -> None:
    kinds = ("STRING", "STRING COLLATE UTF8_LCASE", "INT", "BIGINT", "ARRAY<INT>", "STRUCT<a: INT>", "TIMESTAMP_NTZ")
    rows = [spark.sql(f"SELECT CAST(NULL AS {kind}) AS a") for kind in kinds]
    rows += [spark.sql("SELECT 1 AS a"), spark.sql("SELECT CAST(NULL AS INT) AS `A`")]
    files = [written(each, tmp_path / str(number)) for number, each in enumerate(rows)]
    columns = parquet_columns(spark)
    alone = [parquet_columns(spark)(file).jsonValue() for file in files]
    assert [columns(file).jsonValue() for file in (*files, *files)] == alone * 2
    assert len({str(each) for each in alone}) == len(files)


def test_files_that_say_the_same_are_converted_once(tmp_path: Path, spark: SparkSession) -> None:
    files = [written(spark.range(number), tmp_path / str(number)) for number in (1, 5)]
    columns = parquet_columns(spark)
    assert columns(files[0]) is columns(files[1])
