"""Folders in which a log says which files count: those of tables, and what a stream of Spark writes."""

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.connectors import Connector
from tests.harness.position_runs import Runs, write

pytestmark = pytest.mark.spark
COLUMNS = "id INT"


def copies(folder: Path, spark: SparkSession, source: Connector, **how: Any) -> Runs:
    config = {"execution.runtime-mode": "AUTOMATIC"} if how.get("unbounded") else {}
    env = StreamExecutionEnvironment("copies", config=config)
    rows = env.from_source(source, "rows", **how).uid("rows")
    rows.sink_to(Json(f"{folder}/out"), mode="append").name("copied").uid("copied")
    return Runs(env, folder, spark)


def stream_of_spark(spark: SparkSession, folder: Path, *ids: int, by: str | None = None) -> None:
    """Let a stream of Spark write rows to the folder `in`, in folders by a column if one is given."""
    for id in ids:
        write(folder / "arrived" / f"{id}.json", {"id": id})
    rows = spark.readStream.schema(COLUMNS).json(str(folder / "arrived")).selectExpr("id", "id % 2 AS part")
    written = (rows if by else rows.drop("part")).writeStream.format("json").partitionBy(*([by] if by else []))
    written = written.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    written.start(str(folder / "in")).awaitTermination()


def ids(spark: SparkSession, folder: Path) -> list[int]:
    return sorted(id for (id,) in spark.read.schema(COLUMNS).json(str(folder)).collect())


@pytest.mark.parametrize("how", [{}, {"only_new": True}, {"unbounded": True}], ids=str)
def test_what_a_stream_of_spark_writes_is_read_as_its_log_says(
    tmp_path: Path, spark: SparkSession, how: dict[str, bool]
) -> None:
    stream_of_spark(spark, tmp_path, 1)
    write(tmp_path / "in" / "part-00000-0b1d-c000.json", {"id": 100})  # of a batch that failed
    runs = copies(tmp_path, spark, Json(f"{tmp_path}/in", schema=COLUMNS), **how)
    assert runs.run("one") == []
    assert ids(spark, tmp_path / "out") == [1]
    stream_of_spark(spark, tmp_path, 2, 3)
    assert runs.run("two") == []
    assert ids(spark, tmp_path / "out") == ([1, 2, 3] if how else [1, 1, 2, 3])
    write(tmp_path / "in" / "ours.json", {"id": 4})
    (failure,) = runs.run("three")
    assert "in/ours.json would not be read: a stream of Spark writes to" in failure
    assert ids(spark, tmp_path / "out") == ([1, 2, 3] if how else [1, 1, 2, 3])


@pytest.mark.parametrize("how", [{"only_new": True}, {"unbounded": True}], ids=str)
def test_so_are_its_folders_of_partitions(tmp_path: Path, spark: SparkSession, how: dict[str, bool]) -> None:
    stream_of_spark(spark, tmp_path, 1, 2, by="part")
    runs = copies(tmp_path, spark, Json(f"{tmp_path}/in", schema=f"{COLUMNS}, part INT"), **how)
    assert runs.run("one") == []
    stream_of_spark(spark, tmp_path, 3, by="part")
    assert runs.run("two") == []
    assert ids(spark, tmp_path / "out") == [1, 2, 3]


def test_a_copy_of_such_a_folder_is_read_although_its_files_have_other_times(
    tmp_path: Path, spark: SparkSession
) -> None:
    stream_of_spark(spark, tmp_path, 1, 2)
    for file in (tmp_path / "in").glob("part-*"):
        os.utime(file, (0, 0))
    assert copies(tmp_path, spark, Json(f"{tmp_path}/in", schema=COLUMNS)).run("one") == []
    assert ids(spark, tmp_path / "out") == [1, 2]


def test_a_part_of_what_a_stream_of_spark_writes_is_not_read(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in" / "_spark_metadata").mkdir(parents=True)
    write(tmp_path / "in" / "day=1" / "a.json", {"id": 1})
    write(tmp_path / "in" / "b.json", {"id": 1})
    for path in ("in/day=1", "in/*.json", "i?"):
        (failure,) = copies(tmp_path, spark, Json(f"{tmp_path}/{path}", schema=COLUMNS)).run(path)
        assert f"hint: read file:{tmp_path}/in without a pattern, and filter" in failure


@pytest.mark.parametrize(
    ("log", "part", "words"),
    [
        ("_delta_log/0.json", "a.parquet", "table of Delta Lake, whose log says which of its files count"),
        ("_delta_log/0.json", "day=1/hour=2/a.parquet", "table of Delta Lake"),
        (".hoodie/hoodie.properties", "a.parquet", "hint: read it with Table(…)"),
        ("metadata/v1.metadata.json", "data/a.parquet", "hint: read it with Iceberg(…)"),
        ("metadata/00001-0b1d-4f-4a-9c-e1.metadata.json", "data/day=1/a.parquet", "table of Iceberg"),
    ],
)
@pytest.mark.parametrize("reads_file", [False, True], ids=["folder", "file"])
def test_files_of_a_table_are_not_read_without_its_log(
    tmp_path: Path, spark: SparkSession, log: str, part: str, words: str, reads_file: bool
) -> None:
    table = tmp_path / "table"
    (table / log).parent.mkdir(parents=True)
    (table / log).touch()
    file = table / part
    spark.range(3).coalesce(1).write.parquet(str(file.parent), mode="append")
    path = f"{file.parent}/*.parquet" if reads_file else str(file.parent)
    (failure,) = copies(tmp_path, spark, Parquet(path)).run("one")
    assert words in failure


def test_other_folders_called_data_are_read(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "orders.metadata.json").touch()
    spark.range(3).write.parquet(f"{tmp_path}/data")
    assert copies(tmp_path, spark, Parquet(f"{tmp_path}/data")).run("one") == []
    assert ids(spark, tmp_path / "out") == [0, 1, 2]


def test_nor_by_sql_text(tmp_path: Path, spark: SparkSession) -> None:
    spark.range(3).write.parquet(f"{tmp_path}/table")
    (tmp_path / "table" / "_delta_log").mkdir()
    env = StreamExecutionEnvironment("by_text")
    write(tmp_path / "in" / "a.json", {"id": 1})
    rows = env.from_source(Json(f"{tmp_path}/in", schema=COLUMNS), "rows").uid("rows")
    joined = rows.sql(f"SELECT * FROM {{input}} JOIN parquet.`{tmp_path}/table` USING (id)").uid("joined")
    joined.sink_to(Json(f"{tmp_path}/out"), mode="append").name("copied").uid("copied")
    (failure,) = Runs(env, tmp_path, spark).run("one")
    assert "table is a table of Delta Lake" in failure


@pytest.mark.parametrize("log", ["_delta_log", "_spark_metadata", ".hoodie"])
def test_files_are_not_written_where_no_reader_would_see_them(tmp_path: Path, spark: SparkSession, log: str) -> None:
    (tmp_path / "out" / log).mkdir(parents=True)
    write(tmp_path / "in" / "a.json", {"id": 1})
    (failure,) = copies(tmp_path, spark, Json(f"{tmp_path}/in", schema=COLUMNS)).run("one")
    assert "see only the files that its log lists: none would see what is published there" in failure
    assert not list((tmp_path / "out").glob("*.json"))
