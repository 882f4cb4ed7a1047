"""What a write counts, wherever its rows come from, and what happens where the count is lost."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.publishing.written_files import PARQUET, write_files
from graph_compiler.spark_runtime.spark_internals.executed_queries import ExecutedQueries

pytestmark = pytest.mark.spark


def test_rows_of_a_session_that_a_function_made_are_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.newSession().range(7)
    assert write_files(rows, str(tmp_path / "out"), PARQUET)[1] == 7


def test_folders_with_unusual_letters_are_recognized(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20c#d?e=ü"
    assert write_files(spark.range(3), str(folder), PARQUET)[1] == 3


def test_a_write_without_a_row_count_is_a_failure(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExecutedQueries, "onSuccess", lambda *_: None)
    with pytest.raises(PublicationError, match="does not say how many rows it has written"):
        write_files(spark.range(3), str(tmp_path / "out"), PARQUET)
