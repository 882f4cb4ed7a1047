"""What a write counts, wherever its rows come from, and what happens where the count is lost."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.publishing import written_files
from graph_compiler.spark_runtime.publishing.written_files import PARQUET, FileFormat, write_files
from graph_compiler.spark_runtime.spark_internals.executed_queries import ExecutedQueries
from graph_compiler.staging.publications.listing import files_with_rows

pytestmark = pytest.mark.spark


def test_rows_of_a_session_that_a_function_made_are_counted(spark: SparkSession, tmp_path: Path) -> None:
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


def hide_one(folder: Path) -> None:
    next(folder.glob("part-00001*")).unlink()


def cut_one(folder: Path) -> None:
    file = next(folder.glob("part-00001*"))
    os.truncate(file, file.stat().st_size - 1)


@pytest.mark.parametrize("lags", [hide_one, cut_one])
@pytest.mark.parametrize("name", ["csv", "json", "text", "xml"])
def test_files_that_the_driver_does_not_see_at_their_size_are_not_published(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, lags: Callable[[Path], None]
) -> None:

    def files_of_a_driver_on_another_host(folder: Path) -> frozenset[str]:
        lags(folder)
        return files_with_rows(folder)

    monkeypatch.setattr(written_files, "files_with_rows", files_of_a_driver_on_another_host)
    rows = spark.range(0, 20, 1, 2).selectExpr("cast(id AS string) AS value")
    options = {"rowTag": "row"} if name == "xml" else {}
    with pytest.raises(PublicationError, match=r"executors wrote 2 files of [\d,]+ bytes in .*"):
        write_files(rows, str(tmp_path / "out"), FileFormat(name=name, options=options))
