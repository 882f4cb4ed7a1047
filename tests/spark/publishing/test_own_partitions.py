"""The partitions that a run is responsible for: empty without rows, no rows of others, and what is a value's folder."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.errors import PublicationError
from tests.harness.sinks import Sinks, files_of
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

DAYS = "VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02') AS rows(id, day)"
SECOND: dict[str, Any] = {
    "mode": "overwrite-partitions",
    "partition_by": ("day",),
    "partitions": (("day", "2024-01-02"),),
}
EVERY: dict[str, Any] = {"mode": "overwrite-partitions", "partition_by": ("day",)}


@pytest.fixture
def target(tmp_path: Path) -> Parquet:
    return Parquet(f"{tmp_path}/out")


def days(spark: SparkSession, target: Parquet) -> list[tuple[str | None, int]]:
    rows = spark.read.schema("id INT, day STRING").parquet(target.one_path).collect()
    return sorted(((row.day, row.id) for row in rows), key=str)


def test_a_partition_without_rows_is_empty_and_others_stay(
    spark: SparkSession, sinks: Sinks, target: Parquet, capsys: pytest.CaptureFixture[str]
) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r1", **EVERY)
    assert sinks.write(target, f"SELECT * FROM {DAYS} WHERE id > 2", run="r2", **SECOND).rows == 0
    assert days(spark, target) == [("2024-01-01", 1)]
    assert not Path(target.one_path, "day=2024-01-02").exists()
    assert f"{target.path}: day=2024-01-02 has no rows, and is emptied: 1 file" in capsys.readouterr().err


def test_without_a_declared_partition_nothing_is_replaced_and_the_log_says_so(
    spark: SparkSession, sinks: Sinks, target: Parquet, capsys: pytest.CaptureFixture[str]
) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r1", **EVERY)
    sinks.write(target, f"SELECT * FROM {DAYS} WHERE id > 2", run="r2", **EVERY)
    assert days(spark, target) == [("2024-01-01", 1), ("2024-01-02", 2)]
    warned = f"{target.path}: there are no rows, so no partition is replaced. partitions={{'day': …}} empties that of"
    assert warned in capsys.readouterr().err


def test_rows_of_another_partition_fail_before_anything_is_published(sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r1", **EVERY)
    before = files_of(Path(target.one_path))
    with pytest.raises(PublicationError, match="rows of other partitions than day=2024-01-02.*: day=2024-01-01;"):
        sinks.write(target, f"SELECT id + 10 AS id, day FROM {DAYS}", run="r2", **SECOND)
    assert files_of(Path(target.one_path)) == before
    with pytest.raises(PublicationError, match=r"day=__HIVE_DEFAULT_PARTITION__"):
        sinks.write(target, "SELECT 1 AS id, CAST(NULL AS DATE) AS day", run="r2", **SECOND)
    assert files_of(Path(target.one_path)) == before


def test_the_last_partition_leaves_the_columns_to_readers(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS} WHERE id = 2", run="r1", **SECOND)
    sinks.write(target, f"SELECT * FROM {DAYS} WHERE id > 2", run="r2", **SECOND)
    assert spark.read.parquet(target.one_path).columns == ["id", "day"]
    assert days(spark, target) == []
    sinks.write(target, f"SELECT * FROM {DAYS} WHERE id = 2", run="r3", **SECOND)
    assert days(spark, target) == [("2024-01-02", 2)]


CASES = [
    ("DATE", "2024-01-02", "day=2024-01-02"),
    ("DATE", "2024-1-2", "day=2024-01-02"),
    ("INT", "1", "day=1"),
    ("INT", "01", "day=1"),
    ("BIGINT", "-9223372036854775808", "day=-9223372036854775808"),
    ("DECIMAL(9, 2)", "1.5", "day=1.50"),
    ("DECIMAL(38, 0)", "9" * 38, f"day={'9' * 38}"),
    ("BOOLEAN", "TRUE", "day=true"),
    ("DOUBLE", "1e3", "day=1000.0"),
    ("TIMESTAMP", "2024-01-02T03:04:05+00:00", "day=2024-01-02 03%3A04%3A05"),
    ("TIMESTAMP_NTZ", "2024-01-02 03:04:05.5", "day=2024-01-02 03%3A04%3A05.5"),
    ("STRING", "a/b=c%20'\\\"", "day=a%2Fb%3Dc%2520%27%5C%22"),
    ("STRING", " äß ", "day= äß "),
    ("STRING", "01", "day=01"),
    ("STRING", None, "day=__HIVE_DEFAULT_PARTITION__"),
    ("INT", None, "day=__HIVE_DEFAULT_PARTITION__"),
]


@pytest.mark.parametrize(("kind", "value", "folder"), CASES, ids=str)
def test_a_value_is_the_folder_that_spark_writes_for_it(
    spark: SparkSession, sinks: Sinks, target: Parquet, kind: str, value: str | None, folder: str
) -> None:
    own = {**SECOND, "partitions": (("DAY", value),)}
    text = "NULL" if value is None else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    rows = spark.sql(f"SELECT 1 AS id, CAST({text} AS {kind}) AS day")
    sinks.write(target, rows, run="r1", **own)
    assert [path.name for path in Path(target.one_path).iterdir() if path.is_dir()] == [folder]
    sinks.write(target, rows.where("id > 1"), run="r2", **own)
    assert [name.partition("-")[0] for name in files_of(Path(target.one_path))] == ["empty"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("DATE", "2024-01-02 banana"),
        ("DATE", "None"),
        ("DATE", ""),
        ("INT", "1.5"),
        ("INT", "2147483648"),
        ("DECIMAL(9, 2)", "1.005"),
        ("TIMESTAMP", "today"),
        ("BOOLEAN", "t"),
        ("STRING", "__HIVE_DEFAULT_PARTITION__"),
    ],
    ids=str,
)
def test_a_value_that_is_not_of_its_columns_type_is_refused_before_a_row_is_written(
    spark: SparkSession, sinks: Sinks, target: Parquet, kind: str, value: str
) -> None:
    own = {**SECOND, "partitions": (("day", value),)}
    with pytest.raises(PublicationError, match="the partition of column 'day' is "):
        sinks.open(target, **own).check(spark.sql(f"SELECT 1 AS id, CAST(NULL AS {kind}) AS day"))


def test_folders_that_others_have_named_in_another_way_have_the_same_value(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    monthly: dict[str, Any] = {
        "mode": "overwrite-partitions",
        "partition_by": ("month",),
        "partitions": (("month", "1"),),
    }
    for month in ("01", "1", "10"):
        spark.range(1).selectExpr("CAST(id AS INT) AS id").write.parquet(f"{target.path}/month={month}")
    sinks.write(target, "SELECT 7 AS id, 1 AS month", **monthly)
    found = sorted({name.partition("/")[0] for name in files_of(Path(target.one_path))})
    assert found == ["month=1", "month=10"]
    assert [row.id for row in spark.read.parquet(f"{target.path}/month=1").collect()] == [7]


def test_one_of_two_columns_is_all_folders_with_its_value(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    own = {"mode": "overwrite-partitions", "partition_by": ("day", "city"), "partitions": (("day", "2"),)}
    rows = "VALUES (1, 1, 'Wien'), (2, 2, 'Wien'), (3, 2, 'Graz') AS rows(id, day, city)"
    sinks.write(target, f"SELECT * FROM {rows}", run="r1", mode="overwrite", partition_by=("day", "city"))
    sinks.write(target, f"SELECT id + 10 AS id, day, city FROM {rows} WHERE id = 3", run="r2", **own)
    found = spark.read.parquet(target.one_path).select("id", "day", "city").collect()
    assert sorted(map(tuple, found)) == [(1, 1, "Wien"), (13, 2, "Graz")]
    by_city = {**own, "partitions": (("city", "Wien"),)}
    sinks.write(target, f"SELECT * FROM {rows} WHERE id > 3", run="r3", **by_city)
    assert [row.id for row in spark.read.parquet(target.one_path).collect()] == [13]


def test_a_second_attempt_without_rows_takes_back_what_the_first_has_published(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r1", **EVERY)
    sinks.write(target, f"SELECT id + 10 AS id, day FROM {DAYS} WHERE id = 2", run="r2", **SECOND)
    sinks.write(target, f"SELECT * FROM {DAYS} WHERE id > 2", run="r2", **SECOND)
    assert days(spark, target) == [("2024-01-01", 1)]


@pytest.mark.parametrize("later", ["empty", "full"])
def test_of_two_runs_at_once_that_are_responsible_for_a_day_the_last_one_counts(
    spark: SparkSession, sinks: Sinks, target: Parquet, later: str
) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r0", **EVERY)
    empty = sinks.prepare(target, spark.sql(f"SELECT * FROM {DAYS} WHERE id > 2"), run="r1", **SECOND)
    more = f"SELECT id + 10 AS id, day FROM {DAYS} WHERE id = 2"
    full = sinks.prepare(target, spark.sql(more), run="r2", **SECOND)
    for prepared in (full, empty) if later == "empty" else (empty, full):
        prepared.publish()
    assert days(spark, target) == [("2024-01-01", 1)] + [("2024-01-02", 12)] * (later == "full")


def test_runs_of_other_days_at_once_are_all_there(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r0", **EVERY)
    first = {**SECOND, "partitions": (("day", "2024-01-01"),)}
    empty = sinks.prepare(target, spark.sql(f"SELECT * FROM {DAYS} WHERE id > 2"), run="r1", **SECOND)
    full = sinks.prepare(target, spark.sql(f"SELECT id + 10 AS id, day FROM {DAYS} WHERE id = 1"), run="r2", **first)
    full.publish()
    empty.publish()
    assert days(spark, target) == [("2024-01-01", 11)]


def test_a_linked_partition_without_rows_loses_its_link_and_what_is_behind_it_stays(
    spark: SparkSession, sinks: Sinks, target: Parquet, tmp_path: Path
) -> None:
    sinks.write(target, f"SELECT * FROM {DAYS}", run="r1", **EVERY)
    folder = Path(target.one_path, "day=2024-01-02")
    shutil.move(folder, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", folder)
    sinks.write(target, f"SELECT * FROM {DAYS} WHERE id > 2", run="r2", **SECOND)
    assert days(spark, target) == [("2024-01-01", 1)]
    assert not folder.is_symlink()
    assert files_of(tmp_path / "elsewhere") != []


def _csv(path: str) -> Csv:
    return Csv(path, schema="id INT, day DATE")


@pytest.mark.parametrize("kind", [Parquet, _csv], ids=["parquet", "csv"])
def test_a_pipeline_names_the_day_by_a_parameter(
    run_pipeline: RunPipeline, tmp_path: Path, kind: Callable[[str], Parquet | Csv]
) -> None:
    def run(day: str, rows: list[tuple[int, str]]) -> str | None:
        env = StreamExecutionEnvironment("days", params={"day": "2024-01-01"})
        typed = env.from_source(Values(rows, "id INT, text STRING"), "rows").sql(
            "SELECT id, CAST(text AS DATE) AS day FROM {input}"
        )
        typed.name("typed").sink_to(
            kind(f"{tmp_path}/out"),
            mode="overwrite-partitions",
            partition_by="day",
            partitions={"day": "{{ params.day }}"},
        ).name("days")
        (report,) = run_pipeline(env.pipeline(), {"day": day})
        return None if report.failure is None else report.failure.message

    assert run("2024-01-01", [(1, "2024-01-01")]) is None
    assert "rows of other partitions" in (run("2024-01-02", [(2, "2024-01-01")]) or "")
    found = sorted({name.partition("/")[0] for name in files_of(tmp_path / "out")})
    assert found == ["day=2024-01-01"]
